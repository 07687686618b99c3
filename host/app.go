// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
)

// An App is an application as the host sees it. Only Handler is required.
type App struct {
	// Name shows in messages; "" is "app".
	Name string
	// About says in one line what the application is, for --help.
	About string
	// Handler builds the application's handler, once in every worker. An error
	// ends the service with status 78: it says what is wrong with the
	// configuration or the surroundings, and no banner was printed.
	Handler func(*Context) (http.Handler, error)
	// Producer builds what publishes by itself, in worker 0. nil: nothing. In a
	// rolling restart the new worker builds its own before the old one's has
	// ended, and steps it afterwards: what a step needs to know is read there.
	Producer func(*Context) (Producer, error)
	// PageSlots is the number of words of memory that all workers share as
	// Context.Page. nil: none.
	PageSlots func(workers int) int
	// MaxWorkers is the most processes this application can be served from; a
	// larger M0_WORKERS is refused. 0: no bound.
	MaxWorkers int
	// Config adjusts the server, in every worker, after Handler was built. The
	// host sets HTTP, Accepted and Closed; Tick runs in worker 0 alone. nil:
	// nothing.
	Config func(*Context, *server.Config)
	// Settings are the application's own, with a flag, a variable or both, beside
	// those that all applications have. They are read before anything is built.
	Settings []config.Setting
	// Doctor adds to what --doctor prints what the application depends on, such as
	// its database; nothing that it opens may stay open. nil: nothing.
	Doctor func(*config.App, *diagnosis.Report)
	// Args is the command line without the name of the program; nil: that of the
	// process. The flags of a program that reads them itself are not for the host.
	Args []string
	// Log is where the host reports; nil: lines on standard error.
	Log *slog.Logger
}

// A Context is what the host gives to an application while it is built. Its
// fields do not change, so it may be kept.
type Context struct {
	Config    config.App
	Index     int             // of this worker: 0 … Workers-1
	Workers   int             // processes that serve
	Publisher *Publisher      // to every stream of every worker
	Hub       *sse.Hub        // this worker's streams, and the way to open one
	Sockets   *ws.Hub         // the same of its WebSockets
	Page      []atomic.Uint64 // shared by the workers, zeroed at the start; nil without PageSlots
	Log       *slog.Logger

	page   *bus.Page
	server *atomic.Pointer[server.Server] // nothing before it is built
}

// WorkerStats is one worker's line on the page that all share.
type WorkerStats struct {
	Index       int
	PID         int
	State       string // vacant, starting, ready or draining
	Connections int
	Handoffs    uint64 // connections it passed to a sibling
	Taken       uint64 // connections it got from one
	Drops       uint64 // events that publishers dropped for it
}

// Stats shows every worker of the service by index, read at this moment. While
// one is replaced, both it and its successor are there.
func (c *Context) Stats() []WorkerStats {
	var stats []WorkerStats
	for i := range c.page.Workers() {
		line := c.page.Worker(i)
		if line.State() == bus.Vacant {
			continue
		}
		stats = append(stats, WorkerStats{
			Index: line.Index(), PID: line.PID(), State: line.State().String(),
			Connections: line.Connections(), Handoffs: line.Handoffs(),
			Taken: line.Taken(), Drops: line.Drops(),
		})
	}
	slices.SortStableFunc(stats, func(x, y WorkerStats) int { return cmp.Compare(x.Index, y.Index) })
	return stats
}

// Server shows what this worker's server has done: requests, handlers that block
// or wait for a place, what was dropped and why. It is zero before it is built.
func (c *Context) Server() server.Stats {
	if c.server == nil || c.server.Load() == nil {
		return server.Stats{}
	}
	return c.server.Load().Stats()
}

// A Producer publishes by itself, at a rate of its own. It runs in worker 0, on
// one goroutine.
//
// A producer that also has a method Wanted() bool is asked once, after it was
// built; false means that it has nothing to do, and no goroutine is started.
type Producer interface {
	// Step does one step and returns the time from this step's scheduled start
	// to the next. The rate is fixed and never catches up: after a step that
	// took longer than that, the next one starts at once, and the schedule goes
	// on from there. An error, like a panic, ends the producer; the server goes
	// on. Step should return soon after out.Stopping() is closed.
	Step(out *Publisher) (next time.Duration, err error)
}

func (a *App) name() string {
	if a.Name == "" {
		return "app"
	}
	return a.Name
}
