// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A conn is one connection. Whoever took it from the pool owns it, all but the
// fields below mu, which the end of a context reads as well.
type conn struct {
	host *host
	nc   net.Conn // what is read and written
	raw  net.Conn // below TLS, else nc; closed to end everything at once

	below *below // nil without TLS

	used      bool // it has carried a request before
	alone     bool // when it was taken, no other was in use
	idleSince time.Time
	reads     deadline
	writes    deadline
	peek      peeker

	mu    sync.Mutex
	owner *receiver // nil: not in use
	ended bool      // closed by its context or its owner's Close
	watch watch
}

// A watch is the registration with a context. Setting one up allocates, so it
// outlives a request where the next one has the same context: what ends then
// is the request in use, not the connection.
type watch struct {
	done <-chan struct{} // of the context; nil: none, or one that never ends
	stop func() bool     // nil: not registered
	keep bool            // the same context came twice
}

// A deadline is when a call has to end. Setting the timer of a connection costs
// more than the rest of a small request's bookkeeping, so one that fires early
// is left as it is, and set again when it fires.
type deadline struct{ by, timer time.Time }

// sooner reports whether the timer has to be set for d to be kept.
func (d *deadline) sooner() bool {
	return !d.by.IsZero() && (d.timer.IsZero() || d.by.Before(d.timer))
}

// dial opens a connection for a place at h.
func (c *Client) dial(ctx context.Context, h *host) (*conn, error) {
	c.pool.count(&c.pool.stats.Dials)
	addr, name := h.key.address()
	within := ctx
	if c.cfg.DialTimeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.cfg.DialTimeout)
		defer cancel()
	}
	raw, err := c.cfg.Dial(within, "tcp", addr)
	if err != nil {
		return nil, dialError(ctx, within, h, err)
	}
	cn := &conn{host: h, nc: raw, raw: raw}
	if h.key.tls {
		cfg := c.cfg.TLS
		if cfg.ServerName == "" {
			cfg = cfg.Clone()
			cfg.ServerName = name
		}
		cn.below = &below{Conn: raw}
		secure := tls.Client(cn.below, cfg)
		if err := secure.HandshakeContext(within); err != nil {
			_ = raw.Close()
			return nil, dialError(ctx, within, h, err)
		}
		cn.nc = secure
	}
	cn.peek.of(raw)
	return cn, nil
}

func dialError(ctx, within context.Context, h *host, err error) *Error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx, h.key.host)
	case within.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Timeout, h.key.host, err}
	}
	return &Error{Dial, h.key.host, err}
}

// below is what TLS reads from. crypto/tls takes the end of the connection for
// the end of the stream; when TLS ends without it, the peer has said farewell.
type below struct {
	net.Conn
	ended bool
}

func (b *below) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// wasCut reports whether TLS ended without a farewell: anybody could have cut it
// (RFC 9112 section 9.8).
func (c *conn) wasCut() bool { return c.below != nil && c.below.ended }

// own gives the connection to r until it is disowned or ctx ends.
func (c *conn) own(ctx context.Context, r *receiver) {
	done := ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = r
	w := &c.watch
	if done == w.done {
		w.keep = true
		if done == nil || w.stop != nil {
			return
		}
	} else {
		c.unwatchLocked()
		w.done, w.keep = done, false
	}
	if done != nil {
		w.stop = context.AfterFunc(ctx, c.contextEnded)
	}
}

// disown reports whether the connection is whole.
func (c *conn) disown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = nil
	if !c.watch.keep {
		c.unwatchLocked()
	}
	return !c.ended
}

func (c *conn) unwatchLocked() {
	if c.watch.stop != nil {
		c.watch.stop()
		c.watch.stop = nil
	}
}

// contextEnded may come late, when the connection has another context: what
// counts is the one that is watched now.
func (c *conn) contextEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.watch.done:
	default:
		return
	}
	c.watch.stop = nil
	if c.owner != nil {
		c.ended = true
		_ = c.raw.Close()
	}
}

// abort ends whatever r does with the connection, if it still owns it.
func (c *conn) abort(r *receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == r {
		c.ended = true
		_ = c.raw.Close()
	}
}

// drop closes the connection for good.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = nil
	c.unwatchLocked()
	_ = c.raw.Close()
}

// read reads what comes until the deadline in reads.by.
func (c *conn) read(b []byte) (int, error) {
	d := &c.reads
	for {
		if d.sooner() {
			if err := c.nc.SetReadDeadline(d.by); err != nil {
				return 0, err
			}
			d.timer = d.by
		}
		n, err := c.nc.Read(b)
		if n > 0 || err == nil {
			return n, nil // an error beside data comes again
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || d.timer.IsZero() {
			return 0, err
		}
		if err := c.early(d, c.nc.SetReadDeadline); err != nil {
			return 0, err
		}
	}
}

// write writes all of b; limit bounds the time without progress.
func (c *conn) write(b []byte, limit time.Duration, now time.Time) error {
	d := &c.writes
	d.by = after(now, limit)
	_, exact := c.nc.(*tls.Conn) // whose timeouts cannot be taken back
	for {
		if d.sooner() || exact && d.by != d.timer {
			if err := c.nc.SetWriteDeadline(d.by); err != nil {
				return err
			}
			d.timer = d.by
		}
		n, err := c.nc.Write(b)
		if err == nil {
			return nil
		}
		if b = b[n:]; exact || !errors.Is(err, os.ErrDeadlineExceeded) || d.timer.IsZero() {
			return err
		}
		if n > 0 {
			d.by = after(time.Now(), limit)
		}
		if err := c.early(d, c.nc.SetWriteDeadline); err != nil {
			return err
		}
	}
}

// early sets the timer again when it fired before the deadline.
func (c *conn) early(d *deadline, set func(time.Time) error) error {
	if !d.by.IsZero() && !time.Now().Before(d.by) {
		return os.ErrDeadlineExceeded
	}
	d.timer = d.by
	return set(d.by)
}

// after is the end of a time; zero for none.
func after(now time.Time, limit time.Duration) time.Time {
	if limit <= 0 {
		return time.Time{}
	}
	return now.Add(limit)
}
