// SPDX-License-Identifier: MIT

// Command crowd holds event streams of a server, publishes to it, and says when the
// last of them had the event. One thread reads all streams, so that the load costs
// as little as it can. It is for Linux only.
//
// It reads commands, one on a line, and answers each with a line of JSON; what went
// wrong is its "error". At the end of its input it ends.
//
//	open N INFLIGHT           opens N streams, at most INFLIGHT at once
//	publish TIMES BYTES GAP   publishes, waits for all, then GAP ms and up to as many more
//	stall N                   opens N streams that are never read
//	flood TIMES BYTES         publishes as fast as it is answered; one stream counts
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// An answer is what a command gave; what it did not measure is zero.
type answer struct {
	Error string `json:"error,omitempty"`

	Held   int     `json:"held,omitempty"` // open
	OpenMs float64 `json:"open_ms,omitempty"`
	Again  int     `json:"again,omitempty"` // were turned away, and opened later

	LastMs []float64 `json:"last_ms,omitempty"` // publish: until the last stream had it
	AckMs  []float64 `json:"ack_ms,omitempty"`  // until the server said that it has it
	Lost   int       `json:"lost,omitempty"`    // events that did not come in time

	Published int    `json:"published,omitempty"` // flood: answered publishes
	Timeouts  int    `json:"timeouts,omitempty"`  // publishes that were not answered in time
	Got       int    `json:"got,omitempty"`       // events of the stream that is read
	InOrder   bool   `json:"in_order,omitempty"`
	Ended     string `json:"ended,omitempty"` // the server ended the stream
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the server, as HOST:PORT")
	path := flag.String("path", "/events", "the stream")
	form := flag.String("form", "raw", "of a publish: raw, grip or m0pub")
	door := flag.String("door", "", "where to publish: HOST:PORT/PATH, a socket for m0pub")
	key := flag.String("key", "", "bearer of publishes")
	flag.Parse()
	// A thread for the streams, and others for publishing.
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	runtime.LockOSThread()
	c, err := newCrowd(*addr, *path, publisher{form: *form, door: *door, key: *key})
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if out.Encode(c.do(in.Text())) != nil {
			os.Exit(1)
		}
	}
}

// do runs a command.
func (c *crowd) do(line string) answer {
	var name string
	var n [3]int
	if got, _ := fmt.Sscan(line, &name, &n[0], &n[1], &n[2]); got < 2 {
		return answer{Error: fmt.Sprintf("not a command: %q", line)}
	}
	var a answer
	var err error
	switch name {
	case "open":
		a, err = c.open(n[0], n[1])
	case "publish":
		a, err = c.publish(n[0], n[1], time.Duration(n[2])*time.Millisecond)
	case "stall":
		err = c.stall(n[0])
	case "flood":
		a, err = c.flood(n[0], n[1])
	default:
		err = fmt.Errorf("there is no command %q", name)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
