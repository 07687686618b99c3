// SPDX-License-Identifier: MIT

package accesslog

import (
	"bytes"
	"io"
	"time"
)

const (
	// gatherTime is how long a line waits for others.
	gatherTime = 100 * time.Millisecond
	// pipeBuf is what POSIX lets a pipe take in one piece (PIPE_BUF of Linux).
	pipeBuf = 4096
	// sayEvery bounds how often losses are said.
	sayEvery = time.Minute
	// spareMax is the largest buffer that is kept when a quarter of it would do.
	spareMax = 64 << 10
)

type orderKind uint8

const (
	orderFlush orderKind = iota
	orderReopen
	orderClose
)

// An order is carried out behind the lines that came before it.
type order struct {
	kind  orderKind
	reply chan<- error // room for one
}

// A writer is the one goroutine that touches the file.
type writer struct {
	log    *Log
	out    io.WriteCloser
	isPipe bool
	spare  []byte // the buffer that is not active
	torn   bool   // the file ends inside a line
	said   time.Time
	lost   uint64 // lines lost when that was said
	last   error  // why the latest were
}

func (w *writer) run() {
	defer close(w.log.stopped)
	gather := time.NewTimer(time.Hour)
	defer gather.Stop()
	for {
		var o order
		select {
		case <-w.log.first:
			gather.Reset(gatherTime)
			select {
			case <-gather.C:
			case <-w.log.full:
			case o = <-w.log.orders:
			}
		case o = <-w.log.orders:
		}
		err := w.flush()
		w.say()
		if o.reply == nil {
			continue
		}
		switch o.kind {
		case orderReopen:
			err = w.reopen()
		case orderClose:
			if closing := w.out.Close(); err == nil {
				err = closing
			}
		}
		o.reply <- err
		if o.kind == orderClose {
			return
		}
	}
}

// flush writes what waits.
func (w *writer) flush() error {
	l := w.log
	l.mu.Lock()
	data := l.active
	l.active = w.spare[:0]
	l.mu.Unlock()
	err := w.write(data)
	if w.spare = data; cap(data) > max(spareMax, 4*len(data)) {
		w.spare = nil
	}
	return err
}

// write writes whole lines. What a failed write has left of a line is ended
// before the next one.
func (w *writer) write(data []byte) error {
	if len(data) > 0 && w.torn {
		if _, err := w.out.Write([]byte{'\n'}); err != nil {
			return w.fail(data, 0, err)
		}
		w.torn = false
	}
	for len(data) > 0 {
		piece := data
		if w.isPipe {
			piece = data[:wholeLines(data, pipeBuf)]
		}
		n, err := w.out.Write(piece)
		if err != nil {
			return w.fail(data, n, err)
		}
		data = data[len(piece):]
	}
	return nil
}

// wholeLines is the length of as many lines as fit into size, at least one.
func wholeLines(data []byte, size int) int {
	if len(data) <= size {
		return len(data)
	}
	if n := bytes.LastIndexByte(data[:size], '\n'); n >= 0 {
		return n + 1
	}
	return bytes.IndexByte(data, '\n') + 1
}

// fail gives up on data, of which n bytes were written.
func (w *writer) fail(data []byte, n int, err error) error {
	lines := bytes.Count(data[n:], []byte{'\n'})
	w.torn = w.torn || n > 0 && data[n-1] != '\n'
	w.last = err
	w.log.mu.Lock()
	w.log.stats.Failed += uint64(lines)
	w.log.mu.Unlock()
	return err
}

// say tells the server's log of lines that were lost, now and then.
func (w *writer) say() {
	s := w.log.Stats()
	now := w.log.now()
	if s.Dropped+s.Failed == w.lost || !w.said.IsZero() && now.Sub(w.said) < sayEvery {
		return
	}
	w.said, w.lost = now, s.Dropped+s.Failed
	w.log.cfg.Log.Warn("lines of the access log are lost", "file", w.log.name(),
		"dropped", s.Dropped, "failed", s.Failed, "error", w.last)
}

// reopen exchanges the file, or keeps the one it has.
func (w *writer) reopen() error {
	out, isPipe, err := w.log.open()
	if err != nil {
		return err
	}
	old := w.out
	w.out, w.isPipe, w.torn = out, isPipe, false
	return old.Close()
}
