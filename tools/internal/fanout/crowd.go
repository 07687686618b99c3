// SPDX-License-Identifier: MIT

package fanout

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"m0serve.dev/tools/internal/bench"
)

// lineMax bounds an answer of the crowd: it names every publish of a flood.
const lineMax = 1 << 20

// A crowd is the running program of tools/rivals/crowd. It ends with its input.
type crowd struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// answer is what a command gave; see the program.
type answer struct {
	Error     string    `json:"error"`
	Held      int       `json:"held"`
	OpenMs    float64   `json:"open_ms"`
	Again     int       `json:"again"`
	LastMs    []float64 `json:"last_ms"`
	AckMs     []float64 `json:"ack_ms"`
	Lost      int       `json:"lost"`
	Published int       `json:"published"`
	Timeouts  int       `json:"timeouts"`
	Got       int       `json:"got"`
	InOrder   bool      `json:"in_order"`
	Ended     string    `json:"ended"`
}

// Hold opens streams of a server, at /events, and keeps them until release. The crowd is
// on the core of the load, and does nothing meanwhile.
func Hold(ctx context.Context, program string, s *bench.Server, n int) (release func(), err error) {
	c, err := startCrowd(ctx, program, &served{Server: s}, false)
	if err != nil {
		return nil, err
	}
	if _, err := c.do("open %d %d", n, inflightUsual); err != nil {
		c.close()
		return nil, err
	}
	return c.close, nil
}

func startCrowd(ctx context.Context, program string, s *served, free bool) (*crowd, error) {
	args := []string{program, "-addr", s.Addr, "-form", s.form, "-door", s.door, "-key", s.key}
	if !free {
		args = bench.Pin(1, args...)
	}
	c := &crowd{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	c.cmd.Stderr, c.cmd.WaitDelay = os.Stderr, time.Second
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("fanout: start the crowd: %w", err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, lineMax)
	return c, nil
}

// do runs one command.
func (c *crowd) do(format string, args ...any) (answer, error) {
	command := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(c.in, command); err != nil {
		return answer{}, fmt.Errorf("fanout: %s: %w", command, err)
	}
	if !c.out.Scan() {
		err := c.out.Err()
		if err == nil {
			err = errors.New("the crowd ended")
		}
		return answer{}, fmt.Errorf("fanout: %s: %w", command, err)
	}
	return parseAnswer(command, c.out.Bytes())
}

func parseAnswer(command string, line []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("fanout: %s: the crowd said %.100q: %w", command, line, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("fanout: %s: %s", command, a.Error)
	}
	return a, nil
}

// close ends the crowd with all its streams.
func (c *crowd) close() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
