// SPDX-License-Identifier: MIT

package ws

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/loop"
)

// lingerFor is how long a peer may still send behind our end, so that it reads it.
const lingerFor = 2 * time.Second

// A here does over net/http what the loop does: the goroutine of the handler reads,
// and another writes while something waits.
type here struct {
	c     *Conn
	conn  net.Conn
	in    *bufio.Reader
	timer *time.Timer

	news   chan struct{} // one place: the reader's pause may be over
	ending atomic.Int32  // 0: none asked for, else the Ending plus one
	woken  atomic.Bool   // a writer is on its way
	broken atomic.Bool   // a write went wrong

	mu       sync.Mutex // held by the one who writes
	finished bool       // nothing is written any more; guarded by mu
}

// serveHere takes the connection from net/http and serves it to its end.
func serveHere(w http.ResponseWriter, r *http.Request, c *Conn) error {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this server cannot give a connection away", http.StatusNotImplemented)
		return fmt.Errorf("ws: accept: %w", err)
	}
	h := &here{c: c, conn: conn, in: rw.Reader, news: make(chan struct{}, 1)}
	h.timer = time.AfterFunc(time.Hour, c.Late)
	h.timer.Stop()
	c.blocks = true
	why, reading := loop.ClosedByPeer, false
	defer func() {
		h.timer.Stop()
		if reading { // a panic: what it made us say comes first
			h.write()
		}
		_ = conn.Close() // ends a write that waits
		h.mu.Lock()      // and so its writer
		h.finished = true
		h.mu.Unlock()
		c.Closed(why)
	}()
	if err := h.begin(w.Header()); err != nil {
		return fmt.Errorf("ws: accept: %w", err)
	}
	// The context of a hijacked request ends with its server, or with this call.
	stop := context.AfterFunc(r.Context(), c.Drain)
	defer stop()
	reading = true
	why = h.read()
	reading = false
	return nil
}

// begin starts the connection and answers, in the order of the loop: what Open
// sends waits for the answer.
func (h *here) begin(fields http.Header) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.c.begin(h, nil) // there is no error to pass on
	return h.answer(fields)
}

// answer sends the 101 with the fields that the handler has set.
func (h *here) answer(fields http.Header) error {
	h.extend()
	w := bufio.NewWriterSize(h.conn, 1024)
	_, _ = w.WriteString("HTTP/1.1 101 Switching Protocols\r\n") // told by Flush
	_ = fields.Write(w)
	_, _ = w.WriteString("\r\n")
	if err := w.Flush(); err != nil {
		return err
	}
	return h.conn.SetReadDeadline(time.Time{})
}

// read serves the peer's bytes until there are no more.
func (h *here) read() loop.Reason {
	lingered := 0
	for {
		for h.c.Paused() && !h.broken.Load() {
			<-h.news
		}
		if len(h.c.kept) > 0 {
			h.c.Received(nil)
			continue
		}
		if _, err := h.in.Peek(1); err != nil {
			switch {
			case h.ending.Load() != 0:
				return loop.ClosedByServer
			case errors.Is(err, os.ErrDeadlineExceeded):
				return loop.ClosedByTimeout
			}
			return loop.ClosedByPeer
		}
		n := h.in.Buffered()
		b, _ := h.in.Peek(n)
		if h.ending.Load() != 0 {
			if lingered += n; lingered > lingerBytesMax {
				return loop.ClosedByServer
			}
		}
		h.c.Received(b)
		_, _ = h.in.Discard(n)
	}
}

// lingerBytesMax is what a peer may send in lingerFor.
const lingerBytesMax = 16 << 20

// Wake implements loop.Held.
func (h *here) Wake() {
	h.tell()
	if h.woken.CompareAndSwap(false, true) {
		go h.write()
	}
}

func (h *here) tell() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// Alarm implements loop.Alarm.
func (h *here) Alarm(d time.Duration) { h.timer.Reset(d) }

// Close implements loop.Held.
func (h *here) Close(how loop.Ending) {
	if how == loop.EndCut {
		h.ending.Store(int32(how) + 1)
		_ = h.conn.SetWriteDeadline(time.Now().Add(lingerFor))
	} else {
		h.ending.CompareAndSwap(0, int32(how)+1)
	}
	h.Wake()
}

// write writes what waits, and our end behind it.
func (h *here) write() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.woken.Store(false) // before Next, so that no wake is lost
	if h.finished {
		return
	}
	ending := h.ending.Load() // before Next: what waits then comes before the end
	for b := h.c.Next(); b != nil; b = h.c.Next() {
		if ending != int32(loop.EndCut)+1 {
			h.extend()
		}
		if _, err := h.conn.Write(b); err != nil {
			_ = h.conn.Close() // the reader notices
			h.finished = true
			h.broken.Store(true)
			break
		}
	}
	h.tell() // the queue is empty: a pause may be over
	if h.finished {
		return
	}
	if ending != 0 {
		h.finished = true
		h.finish()
	}
}

// finish ends our side and leaves the peer a moment to do the same.
func (h *here) finish() {
	if half, ok := h.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = h.conn.SetReadDeadline(time.Now().Add(lingerFor))
		return
	}
	_ = h.conn.Close()
}

func (h *here) extend() {
	_ = h.conn.SetWriteDeadline(time.Now().Add(h.c.o.writeTimeout()))
}
