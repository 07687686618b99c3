// SPDX-License-Identifier: MIT

package compress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"m0serve.dev/http/middleware"
)

// errOver refuses what is written behind the handler.
var errOver = errors.New("compress: the handler has returned")

// A state is what was decided of an answer.
type state uint8

const (
	open  state = iota // nothing: the header has not been sent
	plain              // as it is
	coded
	taken // the connection is the handler's
)

// An answer is the http.ResponseWriter of one handler. It belongs to its goroutine.
type answer struct {
	*Compressor
	under  http.ResponseWriter
	coding string // what the client prefers, "": plain bytes
	forced bool   // it takes no plain bytes
	head   bool   // the request is HEAD: there is no body

	state    state
	status   int    // 0: none said
	kept     []byte // of the body, while the state is open
	declared int64  // Content-Length as the handler said, -1: none
	written  int64  // by the handler
	coder    *pooled
}

// Unwrap lets http.ResponseController and held responses through.
func (a *answer) Unwrap() http.ResponseWriter { return a.under }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.under.Header() }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		a.under.WriteHeader(status) // an interim answer
		return
	}
	if a.status != 0 {
		if a.state != open {
			a.under.WriteHeader(status) // superfluous: the server says so
		}
		return
	}
	a.status = status
	h := a.Header()
	if length := h["Content-Length"]; len(length) > 0 {
		if n, err := strconv.ParseInt(length[0], 10, 64); err == nil && n >= 0 {
			a.declared = n
		}
	}
	if !a.isCodable() || a.declared >= 0 && len(h["Content-Type"]) > 0 ||
		isStream(h) {
		a.decide(a.declared)
	}
}

func isStream(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), eventStream) }

// isCodable reports whether the answer may be coded, whatever its type and length.
func (a *answer) isCodable() bool {
	h := a.Header()
	switch {
	case a.status < 200, a.status == http.StatusNoContent, a.status == http.StatusNotModified,
		a.status == http.StatusPartialContent, len(h["Content-Encoding"]) > 0,
		len(h["Content-Range"]) > 0, strings.Contains(h.Get("Cache-Control"), "no-transform"):
		return false
	}
	return true
}

// decide sends the header. size is that of the body, or as much as is known of it;
// -1: nothing is, and nobody shall wait.
func (a *answer) decide(size int64) {
	h := a.Header()
	a.state = plain
	worth := a.sniff() || a.forced
	if worth && (a.isCodable() || a.status == http.StatusPartialContent) ||
		a.status == http.StatusNotModified && len(h["Content-Encoding"]) == 0 {
		a.addVary(h)
	}
	switch {
	case a.coding == "":
	case a.status == http.StatusNotModified && len(h["Content-Encoding"]) == 0:
		weaken(h) // the tag that the coded answer had
	case !worth, !a.isCodable(), size >= 0 && size < int64(a.cfg.MinBytes) && !a.forced, size == 0:
	case a.head || a.take():
		a.state = coded
		h["Content-Encoding"] = a.pools[a.coding].name
		for _, name := range [...]string{"Content-Length", "Accept-Ranges", "Content-Md5", "Digest",
			"Content-Digest", "Repr-Digest"} {
			delete(h, name)
		}
		weaken(h)
	}
	a.under.WriteHeader(a.status)
}

// addVary says that the answer depends on Accept-Encoding.
func (a *answer) addVary(h http.Header) {
	if len(h["Vary"]) == 0 {
		h["Vary"] = a.vary
		return
	}
	middleware.AddVary(h, "Accept-Encoding")
}

// sniff gives the answer its content type, as a server would who could read the
// body, and reports whether the type is worth it.
func (a *answer) sniff() bool {
	h := a.Header()
	if _, said := h["Content-Type"]; !said && len(a.kept) > 0 && len(h["Content-Encoding"]) == 0 {
		h.Set("Content-Type", http.DetectContentType(a.kept))
	}
	return a.cfg.isWorthIt(h.Get("Content-Type"))
}

// weaken makes a strong entity tag a weak one: the coded bytes are others, and the
// same only in meaning (RFC 9110 section 8.8.3.3).
func weaken(h http.Header) {
	if tag := h.Get("Etag"); strings.HasPrefix(tag, `"`) {
		h.Set("Etag", "W/"+tag)
	}
}

// take gets a coder, if one is to be had.
func (a *answer) take() bool {
	if a.busy.Add(1) > int64(a.cfg.Coders) {
		a.busy.Add(-1)
		a.full.Add(1)
		return false
	}
	a.coder = a.pools[a.coding].get(a.under)
	a.coded.Add(1)
	return true
}

// release gives the coder back.
func (a *answer) release() {
	if a.coder != nil {
		a.pools[a.coding].put(a.coder)
		a.coder = nil
		a.busy.Add(-1)
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.declared >= 0 && a.written+int64(len(b)) > a.declared {
		return 0, http.ErrContentLength
	}
	a.written += int64(len(b))
	if a.state == open {
		if len(a.kept)+len(b) < a.cfg.MinBytes {
			a.kept = append(a.kept, b...)
			return len(b), nil
		}
		if len(a.kept) == 0 { // it need not be joined with anything
			a.kept = b[:a.cfg.MinBytes]
			a.decide(a.written)
			a.kept = nil
			return a.send(b)
		}
		room := a.cfg.MinBytes - len(a.kept) // as much as a type is told by
		a.kept = append(a.kept, b[:room]...)
		if err := a.begin(a.written); err != nil {
			return 0, err
		}
		n, err := a.send(b[room:])
		return room + n, err
	}
	return a.send(b)
}

// ReadFrom lets a server copy a file by itself where it is sent as it is.
func (a *answer) ReadFrom(r io.Reader) (int64, error) {
	under, ok := a.under.(io.ReaderFrom)
	if !ok || a.state != plain || a.declared < 0 {
		return io.Copy(struct{ io.Writer }{a}, r)
	}
	n, err := under.ReadFrom(io.LimitReader(r, a.declared-a.written))
	a.written += n
	return n, err
}

// begin decides, and sends what was kept back.
func (a *answer) begin(size int64) error {
	a.decide(size)
	kept := a.kept
	a.kept = nil
	_, err := a.send(kept)
	return err
}

func (a *answer) send(b []byte) (int, error) {
	switch {
	case len(b) == 0:
		return 0, nil
	case a.state == coded && a.head:
		return len(b), nil
	case a.state == coded && a.coder == nil:
		return 0, errOver
	case a.state == coded:
		return a.coder.Write(b)
	}
	return a.under.Write(b)
}

// Flush is here for handlers that ask for an http.Flusher by assertion.
func (a *answer) Flush() { _ = a.FlushError() }

// FlushError is what http.ResponseController looks for: everything that was written
// is on its way when it returns.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.state == open {
		if err := a.begin(-1); err != nil {
			return err
		}
	}
	if a.coder != nil {
		if err := a.coder.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.under).Flush()
}

// Hijack is here for handlers that ask for an http.Hijacker by assertion.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(a.under).Hijack()
	if err == nil {
		a.release()
		a.state = taken
	}
	return conn, rw, err
}

// finish ends the answer behind its handler. One that is shorter than it was said to
// be is broken off, as a server does that can count its bytes.
func (a *answer) finish() {
	if a.state == taken || a.status == 0 { // nothing was said, or the response is held
		return
	}
	if a.state == open {
		_ = a.begin(a.written) // the peer may be gone
	}
	if a.state != coded || a.head {
		return
	}
	if a.declared >= 0 && a.written < a.declared {
		panic(http.ErrAbortHandler)
	}
	_ = a.coder.Close() // the peer may be gone
}
