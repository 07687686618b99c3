// SPDX-License-Identifier: MIT

package loop

import (
	"os"
	"strconv"
	"time"

	"m0serve.dev/http/wire"
)

// appendAnswer appends what is left to send when the handler has returned.
func (x *Exchange) appendAnswer(dst []byte) []byte {
	switch {
	case x.aborted || x.hijacked:
		return dst
	case x.hold != nil && x.hold.bare:
		return dst
	case x.hold != nil:
		return x.appendHead(dst, -1)
	case !x.started && len(x.trailers) == 0:
		dst = x.appendHead(dst, x.wrote)
		dst = append(dst, x.out...)
	case !x.started:
		dst = x.appendHead(dst, -1)
		fallthrough
	default:
		dst = x.appendPiece(dst)
		if x.chunked {
			dst = append(dst, "0\r\n"...)
			dst = append(dst, x.trailers...)
			dst = append(dst, wire.LineEnd...)
		}
	}
	if x.length > x.wrote && bodyAllowed(x.status) && !x.isHead() {
		x.close = true // the peer waits for bytes that never come
	}
	return dst
}

// bodyApart is how much of a long body is sent with the head.
const bodyApart = 64 << 10

// cutLong leaves of a long body what is sent with the head, and returns the rest, which is
// sent from where it is: a copy of a megabyte costs as much as all else of its request.
// nil: the answer is sent whole, or in another way.
func (x *Exchange) cutLong() (rest []byte) {
	if len(x.out) < 2*bodyApart || x.started || len(x.trailers) > 0 || x.hold != nil ||
		x.aborted || x.hijacked {
		return nil
	}
	x.out, rest = x.out[:bodyApart], x.out[bodyApart:]
	return rest
}

// appendPiece appends the body so far in the framing of the answer.
func (x *Exchange) appendPiece(dst []byte) []byte {
	if x.chunked {
		return wire.AppendChunk(dst, x.out)
	}
	return append(dst, x.out...)
}

// appendHead appends the head; whole is the length of a body that is complete,
// or -1. It decides the framing: RFC 9112 section 6.
func (x *Exchange) appendHead(dst []byte, whole int64) []byte {
	x.started = true
	if x.status == 0 {
		x.status = 200
	}
	if x.reason == "" {
		dst = wire.AppendStatusLine(dst, x.status)
	} else if line, err := wire.AppendStatusReason(dst, x.status, x.reason); err == nil {
		dst = line
	}
	dst = append(dst, x.fields...)
	if !x.hasDate {
		dst = wire.AppendDate(dst, *x.l.dateText.Load())
	}
	if x.pipe != nil && x.pipe.unwanted() || x.l.g.draining.Load() {
		x.close = true
	}
	head := x.isHead()
	switch {
	case x.status < 200 || x.status == 204:
	case x.length >= 0:
		dst = wire.AppendContentLength(dst, x.length)
	case x.status == 304:
	case whole >= 0 && (!head || whole > 0):
		dst = wire.AppendContentLength(dst, whole)
	case head:
	case x.req.Minor >= 1:
		x.chunked = true
		dst = append(dst, wire.LineChunked...)
	default:
		x.close = true
	}
	switch {
	case x.status == 101:
	case x.close:
		dst = append(dst, wire.LineClose...)
	case x.req.Minor == 0:
		dst = append(dst, wire.LineKeepAlive...)
	}
	return append(dst, wire.LineEnd...)
}

// Flush sends what was written so far. The first Flush starts a stream: the
// handler leaves the loop, since one that flushes is about to wait.
func (x *Exchange) Flush() error {
	if x.hold != nil || x.hijacked {
		return ErrStarted
	}
	if x.over != nil {
		return x.over.flush(x)
	}
	x.detach()
	if x.asking != nil {
		return nil
	}
	if err := x.await(); err != nil {
		return err
	}
	return x.startFlight()
}

// startFlight sends what was written so far; nothing else is on its way.
func (x *Exchange) startFlight() error {
	x.flight = x.flight[:0]
	if !x.started {
		x.flight = x.appendHead(x.flight, -1)
	}
	x.flight = x.appendPiece(x.flight)
	x.out = x.out[:0]
	if len(x.flight) == 0 {
		return nil
	}
	return x.ask(noteChunk)
}

// Inform sends an interim response (RFC 9110 section 15.2) with fields made of
// whole lines. HTTP/1.0 peers, and those of OverHTTP, do not get it.
func (x *Exchange) Inform(status int, fields []byte) error {
	if !x.mayInform(status) {
		return ErrStarted
	}
	if x.req.Minor == 0 || x.over != nil || x.asking != nil {
		return nil
	}
	x.detach()
	if err := x.await(); err != nil {
		return err
	}
	x.flight = wire.AppendStatusLine(x.flight[:0], status)
	x.flight = append(x.flight, fields...)
	x.flight = append(x.flight, wire.LineEnd...)
	return x.ask(noteChunk)
}

// mayInform reports whether status is an interim one, and its time not over.
func (x *Exchange) mayInform(status int) bool {
	return !x.started && status >= 100 && status <= 199 && status != 101
}

// ask posts a note that will be replied to.
func (x *Exchange) ask(kind noteKind) error {
	if x.replies == nil {
		x.replies = make(chan error, 1)
	}
	x.inflight = true
	if !x.l.post(note{kind: kind, x: x}) {
		x.inflight = false
		return ErrGone
	}
	return nil
}

// reply ends the wait of await. The owner calls it, at most once a note; a
// reply that nobody waits for is dropped.
func (x *Exchange) reply(err error) {
	select {
	case x.replies <- err:
	default:
	}
	x.tellGuest(Written)
}

// await waits for the reply to the last note.
func (x *Exchange) await() error {
	if !x.inflight {
		if x.gone.Load() {
			return ErrGone
		}
		return nil
	}
	var late <-chan time.Time
	if !x.writeBy.IsZero() {
		timer := time.NewTimer(time.Until(x.writeBy))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-x.replies:
		x.inflight = false
		return err
	case <-late:
		x.aborted = true // what is on its way may be cut anywhere
		return os.ErrDeadlineExceeded
	}
}

// completeOffLoop ends an Exchange whose handler returned off the loop, and
// hands its answer to the owner. x is the owner's from here on.
func (x *Exchange) completeOffLoop() {
	if x.tick {
		x.l.ticking.Store(false)
		x.l.post(note{kind: noteDone, x: x})
		return
	}
	if x.asking != nil {
		x.answered()
		return
	}
	x.settleOffer()
	if x.inflight {
		x.writeBy = time.Time{} // the loop's own limit holds
		if x.await() != nil {
			x.aborted = true
		}
	}
	x.final = x.appendAnswer(x.final[:0])
	if !x.l.post(note{kind: noteDone, x: x}) && x.hold != nil {
		x.hold.src.Closed(ClosedByServer)
	}
}

// endHandler is called where the handler returned, and still as part of it: a
// hook that blocks loses the loop like a handler that does.
func (x *Exchange) endHandler() {
	if x.tick || x.ended {
		return
	}
	x.ended = true
	if x.seated {
		x.l.g.seats.inside.Add(-1)
	}
	if x.status == 0 {
		x.status = 200
	}
	if ctx := x.ctx.Load(); ctx != nil {
		ctx.cancel()
	}
	if !x.began.IsZero() {
		x.took = x.l.k.Now().Sub(x.began)
	}
	if answered := x.l.g.cfg.Answered; answered != nil {
		a := Answer{Exchange: x, Status: x.status, Bytes: x.wrote, Took: x.took}
		if x.aborted && !x.started {
			a.Status = 0
		}
		answered(a)
	}
}

// appendProblem appends a whole answer that ends the connection.
func appendProblem(dst []byte, status int, detail string, date []byte) []byte {
	dst = wire.AppendStatusLine(dst, status)
	dst = append(dst, "Content-Type: application/problem+json\r\n"...)
	dst = wire.AppendDate(dst, date)
	var body [256]byte
	doc := appendProblemBody(body[:0], status, detail)
	dst = wire.AppendContentLength(dst, int64(len(doc)))
	dst = append(dst, wire.LineClose...)
	dst = append(dst, wire.LineEnd...)
	return append(dst, doc...)
}

// appendProblemBody appends an RFC 9457 document. detail is the engine's own
// text and needs no escaping.
func appendProblemBody(dst []byte, status int, detail string) []byte {
	dst = append(dst, `{"title":"`...)
	dst = append(dst, wire.StatusText(status)...)
	dst = append(dst, `","status":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	if detail != "" {
		dst = append(dst, `,"detail":"`...)
		dst = append(dst, detail...)
		dst = append(dst, '"')
	}
	return append(dst, "}\n"...)
}
