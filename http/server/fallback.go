// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// A fallback is the backend made of net/http, which is also the one that has TLS
// and HTTP/2. Every handler runs on a goroutine of its own and nothing bounds
// them; what else Config names and it cannot do is refused by New.
type fallback struct {
	std     http.Server
	h2      *http.Server // of HTTP/2 connections that std accepts; nil without TLS
	tls     bool         // std.TLSConfig says nothing: net/http sets it for itself
	guarded bool         // connections pass a guard
	// firstRequest is how long a drain waits for that of a connection.
	firstRequest time.Duration
	guard        guard
	adopted      *adoptions
	stop         context.CancelFunc
	ended        context.Context // done from close on
	running      sync.WaitGroup  // the tick, and who serves what was adopted
	conns        atomic.Int64
	// accepting is the number of listeners that may still bring a connection.
	accepting atomic.Int64

	mu        sync.Mutex
	listeners []net.Listener // guarded by mu, as draining
	draining  bool
	reqs      atomic.Uint64
}

var (
	errNotHere = errors.New("server: this needs a loop, and there is none here")
	errNoLoops = errors.New("server: Loops and BlockingMax need loops, and TLS is served without")
)

func newFallback(s *Server) (*fallback, error) {
	c := &s.cfg
	switch {
	case c.Seated != nil:
		return nil, errNotHere
	case c.TLS != nil && (c.Loops > 1 || c.BlockingMax > 0):
		return nil, errNoLoops
	}
	f := &fallback{
		tls:          c.TLS != nil,
		firstRequest: c.firstRequest(),
		guarded:      c.TLS != nil || c.Accepted != nil || c.Closed != nil,
		guard:        guard{accepted: c.Accepted, closed: c.Closed, max: connsMax(c.MaxConns)},
		adopted:      &adoptions{conns: make(chan net.Conn), done: make(chan struct{})},
	}
	f.ended, f.stop = context.WithCancel(context.Background())
	handler := boundedHandler(c)
	f.std = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.reqs.Add(1)
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: timeoutOr(c.HeadTimeout, 10*time.Second),
		IdleTimeout:       timeoutOr(c.IdleTimeout, 75*time.Second),
		MaxHeaderBytes:    c.Limits.WithDefaults().HeadBytes,
		BaseContext:       func(net.Listener) context.Context { return f.ended },
		ConnState:         f.connState,
		ErrorLog:          errorLog(c.log()),
	}
	if c.TLS != nil {
		f.std.TLSConfig = c.TLS.Clone()
		f.std.TLSConfig.MinVersion = max(f.std.TLSConfig.MinVersion, tls.VersionTLS12)
		f.splitHTTP2()
	}
	if c.Tick != nil && c.TickEvery > 0 {
		f.running.Go(func() { f.tick(c.Tick, c.TickEvery) })
	}
	return f, nil
}

// pingAfter is how long an HTTP/2 peer may be silent before it is asked whether it
// is still there; its streams may be held for hours.
const pingAfter = 30 * time.Second

// boundedHandler is the handler of c within the bound on a body.
func boundedHandler(c *Config) http.Handler {
	if c.HTTP == nil {
		return loop.OverHTTP(c.Handler, c.MaxBody)
	}
	limit := bodyLimit(c.MaxBody)
	if limit < 0 {
		return c.HTTP
	}
	bounded := http.MaxBytesHandler(c.HTTP, limit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			http.Error(w, wire.ErrBodyTooLarge.Text(), http.StatusRequestEntityTooLarge)
			return
		}
		bounded.ServeHTTP(w, r)
	})
}

// bodyLimit is the default of the engine.
func bodyLimit(n int64) int64 {
	if n == 0 {
		return 32 << 20
	}
	return n
}

// connsMax is the default of the engine.
func connsMax(n int) int64 {
	if n == 0 {
		return 65536
	}
	return int64(n)
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

// tick calls Config.Tick until close; a ticker makes up for nothing.
func (f *fallback) tick(tick func(), every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			tick()
		case <-f.ended.Done():
			return
		}
	}
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
	if f.guarded {
		f.adopted.begin.Do(func() {
			f.running.Go(func() { _ = f.serveOn(f.adopted) }) // it ends with the server
		})
		ln = &guarded{Listener: ln, guard: &f.guard}
	}
	return f.serveOn(ln)
}

// serveOn serves what ln brings until it is closed.
func (f *fallback) serveOn(ln net.Listener) error {
	f.accepting.Add(1)
	defer f.accepting.Add(-1)
	if !f.listen(ln) {
		return ln.Close()
	}
	err := f.accept(ln)
	if errors.Is(err, http.ErrServerClosed) || !f.listen(nil) {
		return nil // it was closed by drain or close
	}
	return err
}

// listen adds a listener to those that drain closes; false: it has begun.
func (f *fallback) listen(ln net.Listener) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ln != nil {
		f.listeners = append(f.listeners, ln)
	}
	return !f.draining && f.ended.Err() == nil
}

func (f *fallback) accept(ln net.Listener) error {
	if f.tls {
		return f.std.ServeTLS(ln, "", "")
	}
	return f.std.Serve(ln)
}

func (f *fallback) adopt(fd int) error {
	if !f.guarded {
		return errNotHere
	}
	return f.adopted.adopt(fd, &f.guard)
}

// firstRequest is how long a connection that was accepted last may take for its
// first request when a drain begins: a fifth of its time.
func (c *Config) firstRequest() time.Duration { return max(c.drainTimeout(), time.Second) / 5 }

// drain closes the listeners and idle connections, and lets every request end its
// connection; empty tells when it is done. http.Server.Shutdown comes later: it
// drops requests that are on their way, and is wanted only for connections that say
// nothing. Those of HTTP/2 are told at once.
func (f *fallback) drain() {
	f.mu.Lock()
	f.draining = true
	for _, ln := range f.listeners {
		_ = ln.Close() // its accept says why it ended
	}
	f.mu.Unlock()
	f.std.SetKeepAlivesEnabled(false)
	f.goAway()
	go func() { // ended by close at the latest
		select {
		case <-time.After(f.firstRequest):
			f.goAway() // whose handshake had not ended
			_ = f.std.Shutdown(f.ended)
		case <-f.ended.Done():
		}
	}()
}

// cutHeld does nothing: net/http cannot tell a stream from a request in flight.
// The OnDrain hooks of whoever holds streams end them.
func (f *fallback) cutHeld() {}

// empty waits for the listeners first: what was accepted last is counted before the
// next accept fails, and not before that.
func (f *fallback) empty() bool { return f.accepting.Load() == 0 && f.conns.Load() == 0 }

func (f *fallback) news() <-chan struct{} { return nil }

func (f *fallback) close() {
	f.stop()
	_ = f.std.Close()
	_ = f.adopted.Close() // if nobody ever served
	f.running.Wait()
}

func (f *fallback) stats() Stats {
	return Stats{
		Conns: f.conns.Load(), Requests: f.reqs.Load(), DroppedConns: f.guard.dropped.Load(),
	}
}
