// SPDX-License-Identifier: MIT

package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

const (
	connsDefault   = 256
	timeoutDefault = 10 * time.Second

	// smallMax is the size up to which a request takes no seat.
	smallMax = 64 << 10
	// largeSeats requests above smallMax are in memory at once.
	largeSeats = 16
	// acceptPause follows an accept that failed: descriptors or memory are short.
	acceptPause = 50 * time.Millisecond
)

// Config says how a Door works. Only Bus is required.
type Config struct {
	Bus     *bus.Bus
	Conns   int           // publishers served at once; 0: 256
	Timeout time.Duration // for a request to arrive and its answer to be taken; 0: 10 s
	Log     *slog.Logger  // nil: slog.Default
}

func (c *Config) conns() int {
	if c.Conns <= 0 {
		return connsDefault
	}
	return c.Conns
}

func (c *Config) timeout() time.Duration {
	if c.Timeout <= 0 {
		return timeoutDefault
	}
	return c.Timeout
}

func (c *Config) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// A Door publishes what comes through the publish socket, in one worker. Each
// connection has a goroutine, and none waits for another. Its methods may be
// called from any goroutine.
type Door struct {
	cfg   Config
	uid   int           // the service's own user
	seats chan struct{} // taken by large requests
	complaints

	mu      sync.Mutex
	conns   map[*conn]struct{}
	ln      net.Listener // nil until Serve
	leaving bool
	served  sync.WaitGroup

	stats struct {
		accepted, published, refused, dropped atomic.Uint64
		foreign, garbage, stalled             atomic.Uint64
		evicted, turnedAway                   atomic.Uint64
	}
}

// NewDoor makes a door. Serve opens it.
func NewDoor(c Config) *Door {
	return &Door{
		cfg: c, uid: os.Geteuid(), conns: make(map[*conn]struct{}),
		seats: make(chan struct{}, largeSeats), complaints: complaints{log: c.log()},
	}
}

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = errors.New("publish: the door is closed")

// Serve accepts publishers until Shutdown and then returns ErrClosed. The
// listener is the door's from here on.
func (d *Door) Serve(ln net.Listener) error {
	d.mu.Lock()
	d.ln = ln
	leaving := d.leaving
	d.mu.Unlock()
	if leaving {
		_ = ln.Close()
	}
	for {
		c, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return ErrClosed
		case err != nil:
			d.complain("accept", err)
			time.Sleep(acceptPause)
			continue
		}
		d.stats.accepted.Add(1)
		d.receive(c)
	}
}

// receive begins to serve a connection, or refuses it.
func (d *Door) receive(nc net.Conn) {
	c := &conn{door: d, Conn: nc}
	if err := d.admit(c); err != nil {
		c.refuse(err)
		return
	}
	go func() {
		defer d.served.Done()
		c.serve()
		d.mu.Lock()
		delete(d.conns, c)
		d.mu.Unlock()
	}()
}

// admit checks who is there and makes room.
func (d *Door) admit(c *conn) error {
	uid, pid, err := peerOf(c.Conn)
	if err == nil && !mayPublish(uid, d.uid) {
		err = fmt.Errorf("publish: user %d may not publish to a service of user %d", uid, d.uid)
	}
	if err != nil {
		d.stats.foreign.Add(1)
		d.complain("a publisher was refused", err, "pid", pid)
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leaving:
		return ErrClosed
	case len(d.conns) >= d.cfg.conns() && !d.evictLocked():
		d.stats.turnedAway.Add(1)
		return fmt.Errorf("publish: all %d publishers of this worker are busy", d.cfg.conns())
	}
	d.conns[c] = struct{}{}
	d.served.Add(1)
	return nil
}

// mayPublish reports whether a user may publish to a service of owner.
func mayPublish(uid, owner int) bool { return uid == owner || uid == 0 }

// evictLocked sends away the connection that is idle longest, if there is one.
// What it sends at this very moment is still answered; m0pub connects again.
// Those on their way out are as many as may be served, at most.
func (d *Door) evictLocked() bool {
	var idlest *conn
	leaving := 0
	for c := range d.conns {
		switch since := c.idleSince.Load(); {
		case c.dismissed:
			leaving++
		case since != 0 && (idlest == nil || since < idlest.idleSince.Load()):
			idlest = c
		}
	}
	if idlest == nil || leaving >= d.cfg.conns() {
		return false
	}
	d.stats.evicted.Add(1)
	idlest.dismissLocked()
	return true
}

// Shutdown stops accepting, answers what has arrived, and returns when every
// connection has ended. When ctx ends first, those that are left are cut.
func (d *Door) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	d.leaving = true
	if d.ln != nil {
		_ = d.ln.Close()
	}
	for c := range d.conns {
		c.dismissLocked()
	}
	d.mu.Unlock()
	done := make(chan struct{})
	go func() { d.served.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	<-done
	return fmt.Errorf("publish: publishers were cut: %w", ctx.Err())
}

// Stats are the counters of a door.
type Stats struct {
	Conns      int    // publishers connected now
	Accepted   uint64 // connections, refused ones included
	Published  uint64 // messages that got an id
	Refused    uint64 // messages that reached nobody: reserved or bad names, too large
	Dropped    uint64 // of those published, that some worker's channel did not take
	Foreign    uint64 // connections of other users
	Garbage    uint64 // connections ended since they sent no request, or too large a one
	Stalled    uint64 // connections ended since a request, or its answer, took too long
	Evicted    uint64 // idle connections that made room
	TurnedAway uint64 // connections for which there was none
}

// Stats returns the counters.
func (d *Door) Stats() Stats {
	d.mu.Lock()
	conns := len(d.conns)
	d.mu.Unlock()
	s := &d.stats
	return Stats{
		Conns: conns, Accepted: s.accepted.Load(), Published: s.published.Load(),
		Refused: s.refused.Load(), Dropped: s.dropped.Load(), Foreign: s.foreign.Load(),
		Garbage: s.garbage.Load(), Stalled: s.stalled.Load(), Evicted: s.evicted.Load(),
		TurnedAway: s.turnedAway.Load(),
	}
}

// peerOf says who is at the other end of a unix socket, as the kernel knows it.
func peerOf(c net.Conn) (uid, pid int, err error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return -1, 0, fmt.Errorf("publish: a %T cannot tell who connects", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return -1, 0, fmt.Errorf("publish: %w", err)
	}
	var errPeer error
	err = raw.Control(func(fd uintptr) { uid, pid, errPeer = sys.PublishPeer(int(fd)) })
	if err = errors.Join(err, errPeer); err != nil {
		return -1, 0, fmt.Errorf("publish: who connects: %w", err)
	}
	return uid, pid, nil
}
