// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"bytes"
	"io"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	engine "m0serve.dev/wsgi/internal/python"
	"m0serve.dev/wsgi/internal/realtime"
	times "m0serve.dev/wsgi/internal/realtime/clock"
	"m0serve.dev/wsgi/internal/realtime/socket"
	"m0serve.dev/wsgi/internal/rootpath"
)

// A wsgiHandler answers requests by a WSGI application, on the seat that its
// handler runs on.
type wsgiHandler struct {
	root  string            // SCRIPT_NAME
	clock *clock            // nil: nobody asks how long a call takes
	live  *realtime.Service // nil: no answer is held
	// sockets accepts WebSockets; nil: nobody does.
	sockets *socket.Sockets
	// signer makes Grip-Sig; nil: the application cannot publish by GRIP, and is not
	// told that it could.
	signer *realtime.Signer
}

// serve calls the application.
func (h *wsgiHandler) serve(x *loop.Exchange, c *caller) {
	seat, ok := x.Seat().(*engine.Seat)
	if !ok { // below a route of files, which did not want it
		x.Fail(404, "no such file")
		return
	}
	if h.sockets != nil && socket.IsOpening(x.Request()) {
		h.open(x, c, seat)
		return
	}
	r := seatRequest(seat)
	r.gathers = false
	h.call(r, x, c, seat)
	h.conclude(r, x)
	r.end()
}

// call asks the application.
func (h *wsgiHandler) call(r *request, x *loop.Exchange, c *caller, seat *engine.Seat) {
	r.x, r.live, r.held = x, h.live, nil
	if isInside(x) {
		r.live = nil // who has asked reads the answer as it is
	}
	body, whole := x.Body()
	h.ask(r, x.Request(), body, whole, c, seat)
}

// ask calls the application with a request, which need not be the one that came.
func (h *wsgiHandler) ask(r *request, req *wire.Request, body []byte, whole bool, c *caller,
	seat *engine.Seat) {
	r.pack = h.appendPack(r.pack[:0], req, c)
	h.clock.begin(seat, r.x)
	r.outcome = seat.WSGI(r.pack, body, whole, r)
	h.clock.end(seat)
}

// isInside reports whether no client, but this process, made the request.
func isInside(x *loop.Exchange) bool {
	_, inside := x.Asked()
	return inside
}

// conclude ends the answer to x.
func (h *wsgiHandler) conclude(r *request, x *loop.Exchange) {
	switch {
	case r.held != nil && r.outcome == engine.Written && socket.Accepts(r.held):
		socket.Require(x)
	case r.held != nil && (r.outcome == engine.Written || r.held.Problem() != nil):
		h.live.Hold(x, r.held)
	case r.outcome == engine.Written:
	case r.outcome == engine.Failed, r.held != nil, isInside(x): // nothing was sent of it
		x.Fail(500, "the application failed")
	default:
		_ = x.Flush() // what was made of the answer; the peer may be gone
		x.Abort()
	}
}

// A request is the one that a seat has in hand. It belongs to the seat.
type request struct {
	x     *loop.Exchange
	pack  []byte
	began *times.Stamp      // the clock's
	live  *realtime.Service // nil: no answer is held
	held  *realtime.Answer  // the one in the making; nil: an ordinary answer

	gathers bool           // every answer is held, also one that does not ask for it
	outcome engine.Outcome // of the call

	last lastHead
}

// end lets go of what the request had.
func (r *request) end() { r.x, r.held = nil, nil }

// seatRequest is the request of a seat, made at its first use.
func seatRequest(s *engine.Seat) *request {
	if r, ok := s.Own.(*request); ok {
		return r
	}
	r := &request{}
	s.Own = r
	return r
}

// appendPack appends what the application is told of a request.
func (h *wsgiHandler) appendPack(dst []byte, r *wire.Request, c *caller) []byte {
	dst = engine.Pack(dst, r.Method)
	dst = appendPath(dst, r.Path, h.root)
	dst = engine.Pack(dst, r.RawQuery)
	dst = engine.Pack(dst, r.Target)
	protocol := "HTTP/1.1"
	if r.Minor == 0 {
		protocol = "HTTP/1.0"
	}
	dst = engine.Pack(dst, protocol)
	dst = appendAddr(dst, c.addr)
	dst = appendPort(dst, c.port)
	dst = engine.Pack(dst, c.scheme)
	for i := range r.Fields {
		f := &r.Fields[i]
		dst = engine.Pack(dst, f.Name)
		if c.name != nil && wire.EqualFold(f.Name, "host") {
			dst = engine.Pack(dst, c.name)
			continue
		}
		dst = engine.Pack(dst, f.Value)
	}
	if h.signer != nil {
		dst = engine.Pack(engine.Pack(dst, "Grip-Sig"), h.signer.Signature(time.Now()))
		dst = engine.Pack(engine.Pack(dst, "Grip-Feature"), grip.Features)
	}
	return dst
}

// appendPath appends PATH_INFO: the path in its decoded bytes, behind the root.
func appendPath(dst, path []byte, root string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendUnescaped(dst, rootpath.Below(path, root))
	engine.SetPackLen(dst[at:])
	return dst
}

// appendAddr appends the text of an address; of an invalid one an empty text.
func appendAddr(dst []byte, addr netip.Addr) []byte {
	var text [64]byte
	return engine.Pack(dst, addr.AppendTo(text[:0]))
}

func appendPort(dst []byte, port uint16) []byte {
	if port == 0 {
		return engine.Pack(dst, "")
	}
	var text [8]byte
	return engine.Pack(dst, strconv.AppendUint(text[:0], uint64(port), 10))
}

// Begin sets the head of the answer.
func (r *request) Begin(h engine.Head) {
	switch {
	case r.gathers:
		r.held = realtime.Gather(h.Status(), h.Reason(), h.Fields())
		return
	case r.last.is(h):
		r.x.UseHead(&r.last.head)
		return
	case r.live != nil:
		if r.held = realtime.Begin(h.Status(), h.Reason(), h.Fields()); r.held != nil {
			return
		}
	}
	r.x.SetStatusReason(h.Status(), h.Reason())
	for name, value := range h.Fields() {
		_ = r.x.Field(name, value) // the shim has checked both
	}
	if !isInside(r.x) { // there it was not looked whether it speaks to the server
		r.last.keep(h, r.x)
	}
}

// Whole is a body in one piece.
func (r *request) Whole(p []byte, mayBlock bool) error {
	switch {
	case r.held != nil:
		return r.held.Write(p)
	case r.x.WriteWhole(p), r.mayLeave() && r.copyWhole(p):
		return nil
	case !mayBlock:
		return engine.ErrWouldBlock
	}
	return r.write(p)
}

func (r *request) isHead() bool { return string(r.x.Request().Method) == "HEAD" }

// mayLeave reports whether the rest of the answer may be sent when the application has
// returned. Who asked from inside hears of what goes wrong with it.
func (r *request) mayLeave() bool { return !r.isHead() && !isInside(r.x) }

// copyWhole copies a body, to be sent when the application has returned. false: there
// is no room for it (loop.Config.KeptMax), so its thread waits for its client.
func (r *request) copyWhole(p []byte) bool {
	if !r.x.Keep(len(p)) {
		return false
	}
	own := bytes.Clone(p)
	r.x.Leave(func(x *loop.Exchange) {
		_ = write(x, own) // ends when the peer is gone
		x.Release(len(own))
	})
	return true
}

// Write adds to the body. On the loop pieces are sent together at the end of
// the turn; off the loop each is sent at once (PEP 3333: none is delayed).
func (r *request) Write(p []byte, mayBlock bool) error {
	if r.held != nil {
		return r.held.Write(p)
	}
	if r.x.OnLoop() && r.x.Fits(len(p)) {
		err := r.write(p)
		r.x.Offer()
		return err
	}
	if left := r.x.Left(); left >= 0 && left <= int64(len(p)) && r.x.WriteWhole(p[:left]) {
		return nil // nothing follows
	}
	if !mayBlock {
		return engine.ErrWouldBlock
	}
	if err := r.write(p); err != nil {
		return err
	}
	return r.x.Flush()
}

func (r *request) write(p []byte) error { return write(r.x, p) }

// write leaves it to the engine to keep the framing right. What is beyond the
// length that the application said is dropped.
func write(x *loop.Exchange, p []byte) error {
	if left := x.Left(); left >= 0 {
		p = p[:min(int64(len(p)), left)]
	}
	_, err := x.Write(p)
	if err == loop.ErrNoBody {
		return nil
	}
	return err
}

// filePiece is how much of a file is read at once, and the longest file that is read
// where its application runs.
const filePiece = 128 << 10

// File sends the rest of a file, at most what Content-Length has announced. A long one
// is sent when the application has returned, without a thread of Python's.
func (r *request) File(fd int, at int64) error {
	if r.held != nil {
		return r.held.ReadFile(openFile(fd), at)
	}
	var info syscall.Stat_t
	if syscall.Fstat(fd, &info) == nil && info.Size >= at {
		r.x.SetLength(info.Size - at)
	}
	if r.isHead() {
		return nil
	}
	if !r.mayLeave() || r.x.Left() <= filePiece {
		return sendFile(r.x, openFile(fd), at)
	}
	// The application closes its descriptor.
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return sendFile(r.x, openFile(fd), at)
	}
	r.x.Leave(func(x *loop.Exchange) {
		_ = sendFile(x, openFile(own), at) // the engine closes the connection of an answer cut short
		_ = syscall.Close(int(own))
	})
	return nil
}

// sendFile writes what is in file from at, until the answer is complete. A file that is
// shorter than it was is an error.
func sendFile(x *loop.Exchange, file io.ReaderAt, at int64) error {
	buf := make([]byte, min(filePiece, max(x.Left(), 1)))
	for left := x.Left(); left > 0; left = x.Left() {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), left)], at)
		if n == 0 {
			return err
		}
		if _, err := x.Write(buf[:n]); err != nil {
			if err == loop.ErrNoBody {
				return nil
			}
			return err
		}
		at += int64(n)
	}
	return nil
}

// An openFile is the descriptor of a file that somebody else closes.
type openFile int

// ReadAt implements io.ReaderAt.
func (f openFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		k, err := syscall.Pread(int(f), p[n:], at+int64(n))
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return n, err
		case k == 0:
			return n, io.EOF
		}
		n += k
	}
	return n, nil
}

// Break ends the body of the request for who still reads it on another thread.
func (r *request) Break() { r.x.BreakBody() }

// Read reads the body of the request.
func (r *request) Read(p []byte) (int, error) {
	n, err := r.x.Read(p)
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, err
}
