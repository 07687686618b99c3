// SPDX-License-Identifier: MIT

// Package capture keeps an answer back while it is small and may still be
// changed or replaced, and lets through whatever is not: long answers, streams,
// and connections that are taken over. Packages etag and cache decide by it.
package capture

import (
	"bufio"
	"net"
	"net/http"
)

// A Verdict says what becomes of an answer.
type Verdict uint8

const (
	Pass Verdict = iota // through to the client
	Keep                // kept back until the handler returns, or it grows too long
	Drop                // the owner has answered; what the handler says is lost
)

// An Owner decides on the answer of a Writer.
type Owner interface {
	// Begun is called once, when status and header are said, before any of it
	// is sent. For Drop the owner has answered by the writer underneath.
	Begun(status int) Verdict
	// Passing is called once, before the first byte goes through.
	Passing()
}

// A Writer is the http.ResponseWriter of a handler whose answer may be kept
// back. It belongs to the goroutine of the handler.
type Writer struct {
	under   http.ResponseWriter
	owner   Owner
	limit   int // of the body, in bytes
	status  int // 0: none said
	verdict Verdict
	body    []byte
}

// Reset makes c the writer over w. The room of an earlier body is used again.
func (c *Writer) Reset(w http.ResponseWriter, owner Owner, limit int) {
	*c = Writer{under: w, owner: owner, limit: limit, body: c.body[:0]}
}

// Kept is the answer that was kept back whole; ok is false when it went through,
// was dropped, or nothing was said. The body is valid until Reset.
func (c *Writer) Kept() (status int, body []byte, ok bool) {
	return c.status, c.body, c.status != 0 && c.verdict == Keep
}

// Limit is the longest body that is kept back.
func (c *Writer) Limit() int { return c.limit }

// Unwrap lets http.ResponseController and held responses through.
func (c *Writer) Unwrap() http.ResponseWriter { return c.under }

// Header implements http.ResponseWriter.
func (c *Writer) Header() http.Header { return c.under.Header() }

// WriteHeader implements http.ResponseWriter.
func (c *Writer) WriteHeader(status int) {
	switch {
	case status < 200 && status != http.StatusSwitchingProtocols:
		c.under.WriteHeader(status) // an interim answer
	case c.status == 0:
		c.status = status
		if c.verdict = c.owner.Begun(status); c.verdict == Pass {
			c.through()
		}
	case c.verdict == Pass:
		c.under.WriteHeader(status) // superfluous: the server says so
	}
}

// Write implements http.ResponseWriter.
func (c *Writer) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	switch c.verdict {
	case Drop:
		return len(b), nil
	case Keep:
		if len(c.body)+len(b) <= c.limit {
			c.body = append(c.body, b...)
			return len(b), nil
		}
		if err := c.pass(); err != nil {
			return 0, err
		}
	}
	return c.under.Write(b)
}

// through sends the header.
func (c *Writer) through() {
	c.owner.Passing()
	c.under.WriteHeader(c.status)
}

// pass lets what was kept back through, and all that follows.
func (c *Writer) pass() error {
	c.verdict = Pass
	c.through()
	kept := c.body
	c.body = nil
	if len(kept) == 0 {
		return nil
	}
	_, err := c.under.Write(kept)
	return err
}

// Flush is here for handlers that ask for an http.Flusher by assertion.
func (c *Writer) Flush() { _ = c.FlushError() }

// FlushError is what http.ResponseController looks for: who flushes is streaming.
func (c *Writer) FlushError() error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.verdict == Keep {
		if err := c.pass(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.under).Flush()
}

// Hijack is here for handlers that ask for an http.Hijacker by assertion.
func (c *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.under).Hijack()
	if err == nil && c.verdict != Drop {
		if c.status == 0 || c.verdict == Keep {
			c.owner.Passing()
		}
		c.status, c.verdict = http.StatusSwitchingProtocols, Pass
	}
	return conn, rw, err
}
