// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// startTime bounds the start of a server; ticksPerSecond is Linux's unit of a
// process's time, the same on every architecture Go runs on.
const (
	startTime      = 10 * time.Second
	ticksPerSecond = 100
)

// Server is a running server of a bench, on a core of its own where possible.
type Server struct {
	Addr string
	cmd  *exec.Cmd
}

// Start starts a program that prints "listening on http://ADDR" and waits for that
// line.
func Start(ctx context.Context, args ...string) (*Server, error) {
	args = pin(0, args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start %s: %w", args[0], err)
	}
	s := &Server{cmd: cmd}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for in := bufio.NewScanner(out); in.Scan(); {
			if _, addr, ok := strings.Cut(in.Text(), "listening on http://"); ok {
				found <- firstWord(addr)
				return
			}
		}
	}()
	select {
	case addr, ok := <-found:
		if !ok {
			s.Stop()
			return nil, fmt.Errorf("bench: %s ended before it listened", strings.Join(args, " "))
		}
		s.Addr = addr
		return s, nil
	case <-time.After(startTime):
		s.Stop()
		return nil, fmt.Errorf("bench: %s does not listen", strings.Join(args, " "))
	}
}

// Stop ends the server and waits for it.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// CPU returns the user and system time the server has taken.
func (s *Server) CPU() (time.Duration, error) {
	return parseCPU(readText(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid)))
}

// parseCPU reads the text of /proc/PID/stat. The name of the program, in brackets,
// may hold anything.
func parseCPU(stat string) (time.Duration, error) {
	i := strings.LastIndexByte(stat, ')')
	word := strings.Fields(stat[i+1:])
	if i < 0 || len(word) < 13 {
		return 0, errors.New("bench: no times of the server's process")
	}
	user, err1 := strconv.ParseInt(word[11], 10, 64)
	system, err2 := strconv.ParseInt(word[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("bench: times of the server's process: %w", err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}
