// SPDX-License-Identifier: MIT

package server

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/loop"
)

// An engine is the backend made of loops.
type engine struct {
	group *loop.Group
	std   http.Server // what http.ServerContextKey gives
	local atomic.Pointer[net.Addr]
}

func newEngine(s *Server) (*engine, error) {
	c := &s.cfg
	e := &engine{}
	handler := c.Handler
	if c.HTTP != nil {
		e.std.Handler = c.HTTP
		handler = &stdHandler{handler: c.HTTP, log: c.log()}
	}
	var err error
	e.group, err = loop.New(loop.Config{
		Handler: handler, Log: c.log(), Loops: c.Loops, Limits: c.Limits,
		MaxBody: c.MaxBody, MaxConns: c.MaxConns, RequestsPerConn: c.RequestsPerConn,
		BlockingMax: c.BlockingMax, BlockingQueue: c.BlockingQueue, Poll: c.Takeover,
		NeverPool: c.NeverPool, Seated: c.Seated, SeatedMax: c.SeatedMax,
		KeptMax:       c.KeptMax,
		ReadAheadLong: c.ReadAheadLong,
		HeadTimeout:   c.HeadTimeout, BodyTimeout: c.BodyTimeout,
		IdleTimeout: c.IdleTimeout, WriteTimeout: c.WriteTimeout,
		Accepted: c.Accepted, Closed: c.Closed, Answered: c.Answered,
		ContextValue: e.contextValue, Tick: c.Tick, TickEvery: c.TickEvery,
	})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return e, nil
}

// contextValue answers the two keys that net/http documents.
func (e *engine) contextValue(key any) any {
	switch key {
	case http.ServerContextKey:
		return &e.std
	case http.LocalAddrContextKey:
		if addr := e.local.Load(); addr != nil {
			return *addr
		}
	}
	return nil
}

func (e *engine) serve(ln net.Listener) error {
	addr := ln.Addr()
	e.local.Store(&addr)
	fd, err := sys.TakeListener(ln)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return e.group.Listen(fd)
}

func (e *engine) adopt(fd int) error {
	if err := sys.PrepareConn(fd); err != nil {
		return fmt.Errorf("server: adopt: %w", err)
	}
	return e.group.Adopt(fd, sys.PeerOf(fd))
}

func (e *engine) drain() { e.group.Drain() }

func (e *engine) cutHeld() { e.group.CutHeld() }

func (e *engine) empty() bool { return e.group.Empty() }

func (e *engine) news() <-chan struct{} { return e.group.Quiet() }

func (e *engine) close() { e.group.Close() }

func (e *engine) stats() Stats { return e.group.Stats() }
