// SPDX-License-Identifier: MIT

package worker

import (
	"log/slog"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/worker/systemd"
)

// Spares is how many places a service needs beyond one per worker: in a rolling
// restart old and new overlap, one at a time. A place is a line of the shared
// page with the bus and accept channels of the same number.
const Spares = 1

const (
	drainDefault = 5 * time.Second
	// bootDefault is long: an application may load gigabytes before it serves.
	bootDefault = 2 * time.Minute
)

// Config says what Supervise starts and how it ends it.
type Config struct {
	Workers    int // processes at the start; their indexes are 0 … Workers-1
	WorkersMax int // most that SIGTTIN makes of them; 0: Workers
	// Handed is what the workers inherit, with WorkersMax+Spares places. With
	// fewer, what needs a place that is not there is refused with a log line.
	Handed  Handed
	Page    *bus.Page     // Handed.Page, mapped; nil: nobody keeps the lines of the places
	Command Command       // what a worker executes; zero: this program again
	Drain   time.Duration // bound on a worker's drain; 0: 5 s, negative: none at all
	Boot    time.Duration // bound on the start of a worker that replaces one; 0: 2 min

	// StaleAfter is how long a worker's heartbeat may be silent: one that is stuck
	// gets SIGABRT, which prints its stacks, then SIGKILL, and a successor. A Share
	// beats; see Share.Start. 0: nobody looks.
	StaleAfter time.Duration
	// Reload asks for a rolling restart like SIGHUP, saying what changed. With it
	// a worker that does not start ends nothing, and waits for the next change.
	// nil: only SIGHUP does.
	Reload <-chan string
	Notify *systemd.Notifier // the manager that wants to hear of it; nil: none

	Ready func() // called once, when every worker is ready; nil: nothing
	// Stopping is called once, when the workers are told to stop: what this
	// process holds for successors, such as the listener, can be closed, so that
	// nobody waits at a door behind which nobody is. nil: nothing.
	Stopping func()
	Log      *slog.Logger // nil: slog.Default
}

// A Command is what a worker executes. The zero value is this executable with
// this process's arguments and environment.
type Command struct {
	Path string
	Args []string // Args[0] included
	Env  []string
}

func (c *Config) workersMax() int { return max(c.WorkersMax, c.Workers) }

// places is how many there are.
func (c *Config) places() int {
	if c.Handed.Bus == nil {
		return c.workersMax() + Spares
	}
	return len(c.Handed.Bus.Read)
}

func (c *Config) drain() time.Duration {
	switch {
	case c.Drain == 0:
		return drainDefault
	case c.Drain < 0:
		return 0
	}
	return c.Drain
}

func (c *Config) boot() time.Duration {
	if c.Boot <= 0 {
		return bootDefault
	}
	return c.Boot
}

func (c *Config) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}
