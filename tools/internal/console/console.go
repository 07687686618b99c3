// SPDX-License-Identifier: MIT

// Package console prints what the tools do while they do it: a line when a step
// begins, one when nothing was said for 20 seconds, one when it ends, and
// at the end what failed. Nothing is ever overwritten, so that a log reads well.
package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// stillEvery is the time after which a running step that is silent says that it still
// runs.
const stillEvery = 20 * time.Second

// Console writes the steps of one run. Steps run one after another; a step may
// write from several goroutines.
type Console struct {
	mu     sync.Mutex
	w      io.Writer
	start  time.Time
	steps  int
	failed []string // names of failed steps
}

// Step is the running step that its function writes to.
type Step struct {
	c    *Console
	mu   sync.Mutex
	last string // what it does at the moment
	said time.Time
}

// New returns a console that writes to w.
func New(w io.Writer) *Console {
	return &Console{w: w, start: time.Now()}
}

// Step runs f as the step called name; what says what it is good for. It returns
// the error of f after printing it.
func (c *Console) Step(name, what string, f func(*Step) error) error {
	c.Printf("== %s: %s", name, what)
	begin := time.Now()
	s := &Step{c: c, said: begin}
	stop := make(chan struct{})
	var still sync.WaitGroup
	still.Go(func() { s.sayStill(name, begin, stop) })
	err := f(s)
	close(stop)
	still.Wait()
	c.mu.Lock()
	c.steps++
	if err != nil {
		c.failed = append(c.failed, name)
	}
	c.mu.Unlock()
	if err != nil {
		c.Printf("%s", indent(err.Error()))
		c.Printf("   FAILED %s after %s", name, since(begin))
		return err
	}
	c.Printf("   ok %s, %s", name, since(begin))
	return nil
}

// Close prints the end of the run and reports whether every step was good.
func (c *Console) Close(verb string) bool {
	c.mu.Lock()
	failed := c.failed
	steps := c.steps
	c.mu.Unlock()
	if len(failed) > 0 {
		c.Printf("%s: FAILED in %s: %d of %d steps: %s",
			verb, since(c.start), len(failed), steps, strings.Join(failed, ", "))
		return false
	}
	c.Printf("%s: ok in %s, %d steps", verb, since(c.start), steps)
	return true
}

// Printf writes one line, or several when the text holds line ends.
func (c *Console) Printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.w, format+"\n", args...)
}

// Printf writes an indented line of the step.
func (s *Step) Printf(format string, args ...any) {
	s.c.Printf("%s", indent(fmt.Sprintf(format, args...)))
	s.mu.Lock()
	s.said = time.Now()
	s.mu.Unlock()
}

// Doing notes what the step does now; it is printed when that takes long.
func (s *Step) Doing(what string) {
	s.mu.Lock()
	s.last = what
	s.mu.Unlock()
}

func (s *Step) sayStill(name string, begin time.Time, stop <-chan struct{}) {
	tick := time.NewTimer(stillEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.mu.Lock()
			last, silent := s.last, time.Since(s.said)
			if silent >= stillEvery {
				s.said, silent = time.Now(), 0
				s.c.Printf("   ... %s still runs after %s %s", name, since(begin), last)
			}
			s.mu.Unlock()
			tick.Reset(stillEvery - silent)
		}
	}
}

func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "   " + strings.Join(lines, "\n   ")
}

func since(t time.Time) string {
	d := time.Since(t)
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
