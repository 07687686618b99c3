// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// startTime bounds the start of a server; tailBytes is how much is kept of what it
// prints, and tailLines how much of that is told when it does not start.
const (
	startTime = 20 * time.Second
	tailBytes = 4 << 10
	tailLines = 4
)

// Program is a server to start.
type Program struct {
	Args []string
	Dir  string
	Env  []string // added to the environment of the tools
	Addr string   // where it will listen; "": it prints "listening on http://ADDR"
	Free bool     // on any core, not on core 0
}

// Server is a running server of a bench, on a core of its own where possible.
type Server struct {
	Addr string
	cmd  *exec.Cmd
	out  *tail
	done chan struct{} // closed when the process has ended
}

// Start starts a program that prints "listening on http://ADDR" and waits for that
// line.
func Start(ctx context.Context, args ...string) (*Server, error) {
	return StartProgram(ctx, Program{Args: args})
}

// StartProgram is Start with all that can be said about a program.
func StartProgram(ctx context.Context, p Program) (*Server, error) {
	s, err := Launch(ctx, p)
	if err != nil {
		return nil, err
	}
	err = s.Wait(ctx, func() (bool, error) {
		addr, ok := s.out.listening()
		if !ok {
			return false, errors.New("it does not listen")
		}
		s.Addr = addr
		return true, nil
	})
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Launch starts a program and does not wait. It ends with the tools, however
// these end.
func Launch(ctx context.Context, p Program) (*Server, error) {
	args := p.Args
	if !p.Free {
		args = Pin(0, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	s := &Server{Addr: p.Addr, cmd: cmd, out: &tail{}, done: make(chan struct{})}
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.WaitDelay = time.Second // descendants may hold the pipe
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start %s: %w", args[0], err)
	}
	go func() {
		_ = cmd.Wait()
		close(s.done)
	}()
	return s, nil
}

// Wait calls ready until it is done; its error is why it is not, or why it failed.
// The error of a server that ended says what it printed.
func (s *Server) Wait(ctx context.Context, ready func() (done bool, err error)) error {
	end := time.After(startTime)
	for {
		done, err := ready()
		if done {
			return err
		}
		select {
		case <-s.done:
			if done, err := ready(); done {
				return err // it printed the line, and ended
			}
			return fmt.Errorf("bench: %s ended%s", s.name(), s.Said())
		case <-end:
			return fmt.Errorf("bench: %s: %w%s", s.name(), err, s.Said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Said is what the server printed last, behind an error.
func (s *Server) Said() string {
	if last := s.out.last(); last != "" {
		return ", and printed:\n" + last
	}
	return ", and printed nothing"
}

// name is the program without the word that puts it on a core.
func (s *Server) name() string {
	args := s.cmd.Args
	if args[0] == "taskset" {
		args = args[3:]
	}
	return args[0]
}

// Stop ends the server with all its descendants and waits for it.
func (s *Server) Stop() {
	for _, pid := range family(s.cmd.Process.Pid) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	endGroup(s.cmd.Process.Pid) // what was started in between
	<-s.done
}

// CPU returns the user and system time that the server and its descendants have
// taken.
func (s *Server) CPU() (time.Duration, error) {
	var sum time.Duration
	for i, pid := range family(s.cmd.Process.Pid) {
		cpu, err := parseCPU(readText(fmt.Sprintf("/proc/%d/stat", pid)))
		if err != nil && i == 0 {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// Memory returns what the server and its descendants hold, and the largest of
// these processes.
func (s *Server) Memory() (all, largest Memory) {
	for _, pid := range family(s.cmd.Process.Pid) {
		m := parseMemory(readText(fmt.Sprintf("/proc/%d/smaps_rollup", pid)))
		all.Pss += m.Pss
		all.RSS += m.RSS
		if m.Pss > largest.Pss {
			largest = m
		}
	}
	return all, largest
}

// Family returns the server's process and all its descendants.
func (s *Server) Family() []int { return family(s.cmd.Process.Pid) }

// Switches returns how often the server's threads and those of its descendants have left
// a core. It stays while none of them runs.
func (s *Server) Switches() (sum int) {
	for _, pid := range family(s.cmd.Process.Pid) {
		sum += switches(pid)
	}
	return sum
}

// Files returns how many descriptors the server and its descendants hold.
func (s *Server) Files() int {
	n := 0
	for _, pid := range family(s.cmd.Process.Pid) {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // one that ended has none
		n += len(list)
	}
	return n
}

// tail keeps the end of what a server prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - tailBytes; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

// listening returns the address of the line that says it.
func (t *tail) listening() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, addr, ok := bytes.Cut(t.text, []byte("listening on http://"))
	end := bytes.IndexAny(addr, " \n")
	if !ok || end < 0 {
		return "", false
	}
	return string(addr[:end]), true
}

// last is the end of what was printed, a few lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
