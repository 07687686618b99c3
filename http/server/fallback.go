// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"m0serve.dev/http/loop"
)

// A fallback is the backend made of net/http. It has no tick on a loop, no
// adopted connections and no bound on handlers; what Config names and it cannot
// do is refused by New.
type fallback struct {
	std   http.Server
	stop  context.CancelFunc
	conns atomic.Int64
	reqs  atomic.Uint64
}

var errNotHere = errors.New("server: this needs a loop, and there is none here")

func newFallback(s *Server) (*fallback, error) {
	c := &s.cfg
	if c.Accepted != nil || c.Tick != nil {
		return nil, errNotHere
	}
	handler := c.HTTP
	if handler == nil {
		handler = loop.OverHTTP(c.Handler, c.MaxBody)
	} else if limit := bodyLimit(c.MaxBody); limit > 0 {
		handler = http.MaxBytesHandler(handler, limit)
	}
	f := &fallback{}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.std = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.reqs.Add(1)
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: timeoutOr(c.HeadTimeout, 10*time.Second),
		IdleTimeout:       timeoutOr(c.IdleTimeout, 75*time.Second),
		MaxHeaderBytes:    c.Limits.WithDefaults().HeadBytes,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         f.connState,
	}
	return f, nil
}

// bodyLimit is the default of the engine.
func bodyLimit(n int64) int64 {
	if n == 0 {
		return 32 << 20
	}
	return n
}

func timeoutOr(d, normal time.Duration) time.Duration {
	switch {
	case d == 0:
		return normal
	case d < 0:
		return 0
	}
	return d
}

func (f *fallback) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		f.conns.Add(-1)
	}
}

func (f *fallback) serve(ln net.Listener) error {
	err := f.std.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (f *fallback) adopt(int) error { return errNotHere }

// drain closes the listeners and idle connections in the background; empty
// tells when it is done.
func (f *fallback) drain() {
	go func() { _ = f.std.Shutdown(context.Background()) }() // ended by close at the latest
}

// cutHeld does nothing: net/http cannot tell a stream from a request in flight.
// The OnDrain hooks of whoever holds streams end them.
func (f *fallback) cutHeld() {}

func (f *fallback) empty() bool { return f.conns.Load() == 0 }

func (f *fallback) news() <-chan struct{} { return nil }

func (f *fallback) close() {
	f.stop()
	_ = f.std.Close()
}

func (f *fallback) stats() Stats {
	return Stats{Conns: f.conns.Load(), Requests: f.reqs.Load()}
}
