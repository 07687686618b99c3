// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/loop"
)

// A Server serves one Config. Its methods may be called from any goroutine.
type Server struct {
	cfg  Config
	impl backend

	mu       sync.Mutex
	onDrain  []func()
	draining bool
	done     chan struct{} // closed when everything has ended
	doneOnce sync.Once
}

// A backend is what moves the bytes: the loops, or net/http.
type backend interface {
	serve(ln net.Listener) error // returns when accepting has begun, or ended with an error
	adopt(fd int) error
	drain()                // accept no more, finish what was begun
	cutHeld()              // end streams
	empty() bool           // no connection is left
	news() <-chan struct{} // empty may have changed; nil: ask again
	close()
	stats() Stats
}

// New checks cfg and starts the loops; nothing is served before Serve. It
// raises GOMAXPROCS to max(4, cores+2) when it is lower: a loop that comes back
// from the kernel needs a free processor even while handlers compute.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Handler == nil && cfg.HTTP == nil:
		return nil, errors.New("server: Config has neither Handler nor HTTP")
	case cfg.Handler != nil && cfg.HTTP != nil:
		return nil, errors.New("server: Config has both Handler and HTTP")
	}
	s := &Server{cfg: cfg, done: make(chan struct{})}
	var err error
	if sys.HasKernel && !cfg.NetHTTP && cfg.TLS == nil {
		raiseProcs()
		s.impl, err = newEngine(s)
	} else {
		s.impl, err = newFallback(s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func raiseProcs() {
	if want := max(4, runtime.NumCPU()+2); runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

// Serve accepts from ln, which becomes the Server's, until Shutdown or Close
// has ended everything; then it returns ErrClosed. It may be called for several
// listeners.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return errors.Join(ErrClosed, ln.Close())
	}
	if err := s.impl.serve(ln); errors.Is(err, loop.ErrClosed) {
		return ErrClosed // it ended in between
	} else if err != nil {
		return err
	}
	<-s.done
	return ErrClosed
}

// Adopt takes over a connected descriptor that another process has accepted.
func (s *Server) Adopt(fd int) error { return s.impl.adopt(fd) }

// Sit makes the caller, a thread that has seat's lock, serve the requests of
// Config.Seated until the server has ended.
func (s *Server) Sit(seat Seat) error {
	e, ok := s.impl.(*engine)
	if !ok || s.cfg.Seated == nil {
		return errors.New("server: Sit needs loops and Config.Seated")
	}
	e.group.Sit(seat)
	return nil
}

// Ask gives the Handler a request from inside the process; see loop.Group.Ask. It
// needs the engine of this module.
func (s *Server) Ask(a Asking) error {
	e, ok := s.impl.(*engine)
	if !ok {
		return errors.New("server: Ask needs loops")
	}
	return e.group.Ask(a)
}

// Invite makes guest the one that answers the requests of Config.Seated, in
// place of seats. It is called once. The guest's thread watches the descriptor that
// comes back, and calls Turn when it is readable; -1: the loop has ended already.
func (s *Server) Invite(guest Guest) (poller int, err error) {
	e, ok := s.impl.(*engine)
	if !ok || s.cfg.Seated == nil {
		return -1, errors.New("server: Invite needs loops and Config.Seated")
	}
	return e.group.Invite(guest), nil
}

// Turn does what is to be done on the first loop; see loop.Group.Turn. It is
// called on the guest's thread.
func (s *Server) Turn(more func() bool) (next time.Duration, ended bool) {
	return s.impl.(*engine).group.Turn(more)
}

// OnDrain adds a hook that Shutdown runs once the listener is closed and before
// held streams are cut. Hooks run in order, and overlap the end of requests.
func (s *Server) OnDrain(hook func()) {
	s.mu.Lock()
	s.onDrain = append(s.onDrain, hook)
	s.mu.Unlock()
}

// Shutdown ends the server in an orderly way, within Config.DrainTimeout and
// ctx, whichever is earlier. nil: no request was cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.draining
	s.draining = true
	hooks := s.onDrain
	s.mu.Unlock()
	if !first {
		select {
		case <-s.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if limit := s.cfg.drainTimeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	s.impl.drain()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, hook := range hooks {
			hook()
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // a hook that hangs does not keep the rest alive
	}
	s.impl.cutHeld()
	err := s.awaitEmpty(ctx)
	s.end()
	return err
}

// awaitEmpty waits for the last connection. Streams that were opened by a
// request in flight are cut as well, so the cut is repeated.
func (s *Server) awaitEmpty(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !s.impl.empty() {
		select {
		case <-s.impl.news():
		case <-again.C:
			s.impl.cutHeld()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends everything at once.
func (s *Server) Close() error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.end()
	return nil
}

func (s *Server) end() {
	s.doneOnce.Do(func() {
		s.impl.close()
		close(s.done)
	})
}

// Draining reports whether Shutdown or Close was called.
func (s *Server) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Stats returns the counters.
func (s *Server) Stats() Stats { return s.impl.stats() }
