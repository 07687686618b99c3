// SPDX-License-Identifier: MIT

package host

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/server"
	"m0serve.dev/http/worker"
	"m0serve.dev/http/worker/systemd"
)

// A service is one process's way through its life: the supervisor of several
// workers, one of them, or all there is. Its steps run one after the other on
// the goroutine of Run.
type service struct {
	stderr io.Writer
	log    *slog.Logger

	options
	inherited *worker.Inherited // nil: started by hand, not by a supervisor
	listener  net.Listener
	handed    worker.Handed // of a supervisor
	page      *bus.Page
	words     []atomic.Uint64
	socket    *publish.Socket // of the process that made it; nil: none
	door      *publish.Door   // nil: none
	bus       *bus.Bus
	share     *worker.Share
	stops     *worker.Stops
	hangups   chan os.Signal // nil: not this process's
	context   *Context
	handler   http.Handler
	server    *server.Server
	producer  *runner           // nil: none in this process
	duties    duties            // worker 0's
	manager   *systemd.Notifier // nil: nobody asked, or a supervisor reports
	deaf      atomic.Bool       // the manager could not be told the last time
	activated net.Listener      // nil: M0_HOST and M0_PORT are listened on
	deadline  <-chan time.Time  // the end of the drain
	unclean   error             // why the drain was cut short
}

// run is the life of the process, in order, and returns its exit status. What a
// supervisor makes, its workers find in the same step, inherited.
func (s *service) run() int {
	err := inOrder(
		s.refuse,          // stray names, before anything is bound
		s.adoptManager,    // a service manager's sockets, and where it listens
		s.listen,          // once, in the process that will start the workers
		s.openPage,        // the event id and a line for each worker
		s.openAppPage,     // the application's own words, when it asks for some
		s.openChannels,    // of the bus, before any worker starts
		s.openAcceptShare, // above one worker
		s.openSocket,      // for publishers of other processes
	)
	if err != nil {
		return explain(s.stderr, err)
	}
	if s.inherited == nil { // its workers have the same environment
		s.warn()
	}
	if s.supervises() {
		defer s.closeSocket()
		return s.spawn() // copies of this program, which come by here again
	}
	defer s.close()
	return explain(s.stderr, inOrder(
		s.adopt,           // the place at the bus, the life line
		s.bindAcceptShare, // take connections from siblings, pass on some
		s.armSignals,      // of this process
		s.buildHandler,    // the application's
		s.buildServer,     // around it
		s.startHub,        // deliver what the bus brings
		s.openDoor,        // take what other processes publish
		s.startProducer,   // worker 0 alone builds and starts it
		s.serve,           // until told to stop, then drain
		s.stopProducer,    // within the same bound, beside the drain
		s.leave,
	))
}

// warn says what is passed over.
func (s *service) warn() {
	for _, e := range s.misspelt() {
		s.log.Warn("host: " + e.Subject() + ": " + e.Cure)
	}
}

// inOrder takes the steps one by one until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// supervises reports whether this process starts workers instead of serving.
func (s *service) supervises() bool { return s.inherited == nil && s.cfg.Workers > 1 }
