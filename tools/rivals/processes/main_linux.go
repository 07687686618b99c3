// SPDX-License-Identifier: MIT

// Command processes measures what goes between the processes of one service: events
// on the bus and connections that are handed over, beside the system calls that carry
// them. It starts itself again for every further process. It is for Linux only.
//
//	processes -do bus -side ours|floor        frames a second, and one-way times at rest
//	processes -do handover -side ours|floor   connections handed to a sibling
//	processes -do order -window 20ms|-1ns     increments of two publishers that survive
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	frameBytes = 300
	restTime   = time.Millisecond // for a reader to fall asleep
)

// said is what a run gives; what it did not measure is zero.
type said struct {
	Rate     float64 `json:"rate,omitempty"`       // frames a second
	OneWayUs float64 `json:"one_way_us,omitempty"` // p50, to a reader that sleeps
	EachUs   float64 `json:"each_us,omitempty"`    // p50 of a hand-over
	Kept     int     `json:"kept,omitempty"`       // increments
	Of       int     `json:"of,omitempty"`
}

var (
	do     = flag.String("do", "bus", "bus, handover or order")
	side   = flag.String("side", "ours", "ours or floor")
	window = flag.Duration("window", 20*time.Millisecond, "of order; negative: none")
	frames = flag.Int("frames", 100_000, "to send, or to publish by each of two")
	role   = flag.String("role", "", "of a process that another one started")
)

func main() {
	flag.Parse()
	runs := map[string]func() (said, error){
		"bus ours": busOurs, "bus floor": busFloor, "order ours": order,
		"handover ours": handOverOurs, "handover floor": handOverFloor,
	}
	roles := map[string]func() error{
		"bus": readBus, "dgram": readDgram, "sibling": adoptShared, "taker": adoptBare,
		"count": countIncrements, "publish": publishIncrements,
	}
	err := fmt.Errorf("there is no %q of %q", *do, *side)
	if child := roles[*role]; child != nil {
		err = child()
	} else if run := runs[*do+" "+*side]; run != nil {
		var s said
		if s, err = run(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(1)
	}
}

// A child is another process of this program. Its descriptors begin at 3.
type child struct {
	*exec.Cmd
	in  *json.Encoder
	out *json.Decoder
}

// start starts one with copies of descriptors.
func start(role string, fds ...int) (*child, error) {
	c := &child{Cmd: exec.Command(os.Args[0], append(slices.Clone(os.Args[1:]), "-role", role)...)}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for _, fd := range fds {
		own, err := syscall.Dup(fd) // the file closes what it has
		if err != nil {
			return nil, err
		}
		file := os.NewFile(uintptr(own), role)
		defer file.Close()
		c.ExtraFiles = append(c.ExtraFiles, file)
	}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = json.NewEncoder(in), json.NewDecoder(out)
	if err := c.Start(); err != nil {
		return nil, err
	}
	var ready int64
	return c, c.out.Decode(&ready)
}

// stop ends it, whatever it does.
func (c *child) stop() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// tell is what a child says to who started it, a number at a time.
func tell(n int64) error { return json.NewEncoder(os.Stdout).Encode(n) }

// median is in microseconds, of nanoseconds.
func median(took []int64) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2]) / 1000
}
