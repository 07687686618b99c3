// SPDX-License-Identifier: MIT

package loop

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"m0serve.dev/http/wire"
)

// A Handler answers requests. It is called on a loop and may block all the
// same, see the package comment. The Exchange and everything reached through it
// is valid until Serve returns.
type Handler interface {
	Serve(x *Exchange)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(x *Exchange)

// Serve calls f.
func (f HandlerFunc) Serve(x *Exchange) { f(x) }

// The errors of an Exchange.
var (
	ErrGone        = errors.New("loop: the connection is gone")
	ErrBodyTimeout = errors.New("loop: the request body did not come in time")
	ErrNoBody      = errors.New("loop: this answer has no body")
	ErrLength      = errors.New("loop: body is longer than the Content-Length that was set")
	ErrStarted     = errors.New("loop: the head of the answer is already sent")
)

const (
	// answerMax is how long an answer may become in memory before it is streamed.
	answerMax = 256 << 10
	// chunkMax is the same for an answer that is being streamed.
	chunkMax = 64 << 10
)

// An Exchange is one request and its answer. It belongs to the goroutine its
// handler runs on, and is not safe for use by several at once, except that the
// body may be read by one while another writes.
//
// The engine writes Date, Content-Length or chunked framing, and Connection. An
// answer up to 256 KiB is sent with its length when the handler returns; Flush or
// more bytes than that start a stream.
type Exchange struct {
	l      *Loop
	c      *conn  // compared off the loop, never used
	turn   *Turn  // holds the input of a request served on the loop
	word   uint64 // of the guard, while on the loop; 0 off it
	route  uint16 // as guessed
	tick   bool   // not a request but Config.Tick
	on     Seat   // the thread its handler runs on; nil: a goroutine
	guest  *guest // whose it is until End; nil: a handler's
	offer  offer
	ending bool      // End waits for what is being written
	seated bool      // its handler runs on a seat
	over   *overHTTP // stands for the loop; nil on one
	asking *Asking   // comes from inside and has no connection; nil: from one

	req     wire.Request
	parser  wire.RequestParser
	raw     []byte // own copy of a request that started off the loop
	dec     wire.Decoder
	body    []byte    // read ahead, whole
	pipe    *bodyPipe // streamed; nil when body is whole
	bodyAt  int       // bytes of body that Read has given out
	peer    netip.AddrPort
	began   time.Time     // when the handler started; zero unless somebody asks
	entered time.Duration // Loop.readAt when it was called on the loop

	// What the handler says.
	status    int
	reason    string
	fields    []byte // encoded lines
	trailers  []byte // encoded lines
	out       []byte // body not sent
	length    int64  // of the body as announced; -1: not
	wrote     int64
	hasDate   bool
	started   bool // the head is encoded
	chunked   bool
	close     bool
	aborted   bool
	hijacked  bool
	ended     bool // endHandler was called
	hold      *heldConn
	rest      func(*Exchange) // what is to be done without the handler's thread
	routeName string

	// Off the loop.
	final    []byte        // what is left to send when the handler has returned
	flight   []byte        // the loop's while inflight
	inflight bool          // a note waits for its reply
	replies  chan error    // room for one
	took     time.Duration // the handler's time
	writeBy  time.Time     // SetWriteDeadline
	ctx      atomic.Pointer[RequestContext]
	gone     atomic.Bool // the connection is closed
	unheard  atomic.Bool // nobody waits for the answer
	sending  bool        // the owner's: flight is being written
	given    hijackedConn
}

// reset makes x ready for a request of c, whose input is in t (nil: in x.raw).
func (x *Exchange) reset(l *Loop, c *conn, t *Turn) {
	x.l, x.c, x.turn, x.word, x.tick, x.seated = l, c, t, 0, false, false
	x.on, x.guest, x.ending, x.asking = nil, nil, false, nil
	if x.offer.state.Load() != offerNone {
		x.offer.state.Store(offerNone)
	}
	x.body, x.pipe, x.bodyAt = nil, nil, 0
	x.began, x.took = time.Time{}, 0
	x.clearAnswer()
	x.close, x.aborted, x.hijacked, x.ended = false, false, false, false
	x.started, x.chunked, x.inflight = false, false, false
	x.hold, x.rest, x.routeName, x.writeBy = nil, nil, "", time.Time{}
	x.sending = false
	x.dec.StartLength(0)
	if x.ctx.Load() != nil {
		x.ctx.Store(nil)
	}
	if x.unheard.Load() {
		x.unheard.Store(false)
		x.gone.Store(false)
	}
	if x.replies != nil {
		select { // of a wait that was given up
		case <-x.replies:
		default:
		}
	}
	if c != nil {
		x.peer = c.peer
	}
}

func (x *Exchange) clearAnswer() {
	x.status, x.reason = 0, ""
	x.fields, x.trailers, x.out = x.fields[:0], x.trailers[:0], x.out[:0]
	x.length, x.wrote, x.hasDate = -1, 0, false
}

// Request is the head of the request.
func (x *Exchange) Request() *wire.Request { return &x.req }

// Peer is the address of the other end; zero for a unix socket.
func (x *Exchange) Peer() netip.AddrPort { return x.peer }

// Body is the whole body when it was read ahead (whole), and what of it has
// not been given out by Read.
func (x *Exchange) Body() (body []byte, whole bool) {
	if x.over != nil {
		return nil, !x.req.HasBody()
	}
	return x.body[x.bodyAt:], x.pipe == nil
}

// Read reads the body; it blocks when the body is streamed.
func (x *Exchange) Read(p []byte) (int, error) {
	if x.over != nil {
		return x.over.read(p)
	}
	if x.pipe != nil {
		return x.pipe.read(p)
	}
	if x.bodyAt == len(x.body) {
		return 0, io.EOF
	}
	n := copy(p, x.body[x.bodyAt:])
	x.bodyAt += n
	return n, nil
}

// Seat is the thread that the handler runs on, nil when it is a goroutine.
func (x *Exchange) Seat() Seat { return x.on }

// OnLoop reports whether the handler still holds up its loop: what it writes is
// sent with the rest of the turn, when it returns.
func (x *Exchange) OnLoop() bool { return x.word != 0 && x.l.word.Load() == x.word }

// Fits reports whether n more bytes of body can be written without a wait.
func (x *Exchange) Fits(n int) bool {
	return len(x.out)+n <= x.limit()
}

// limit is how long the body may become before it is sent.
func (x *Exchange) limit() int {
	switch {
	case x.asking != nil:
		return askedMax
	case x.started:
		return chunkMax
	}
	return answerMax
}

// wholeMax is how long a body may be that comes in one piece and is kept whole.
const wholeMax = 4 << 20

// WriteWhole is Write for a whole body in one piece, which is sent with its
// length when the handler returns. false: it is too long for that or for the
// length announced, not the first piece, not allowed, or longer than 256 KiB while
// as much is kept as Config.KeptMax allows; nothing is written.
func (x *Exchange) WriteWhole(p []byte) bool {
	if x.started || len(x.out) > 0 || len(p) > wholeMax || !x.hasRoom(len(p)) {
		return false
	}
	return x.Append(p) == nil
}

// Fail replaces the answer, if nothing of it was sent, by a problem document
// (RFC 9457); else it breaks the connection off. detail is plain ASCII text.
func (x *Exchange) Fail(status int, detail string) {
	if x.started {
		x.aborted = true
		return
	}
	x.fail(status, detail)
}

// Trailers are the trailer fields of the request; complete behind the body.
func (x *Exchange) Trailers() []wire.Field {
	if x.pipe != nil {
		return x.pipe.trailerFields()
	}
	return x.dec.Trailers
}

// SetReadDeadline bounds Read and lifts Config.BodyTimeout; zero: no bound.
func (x *Exchange) SetReadDeadline(t time.Time) {
	if x.pipe != nil {
		x.pipe.setDeadline(t)
	}
}

// SetWriteDeadline bounds the waits of Write and Flush; zero: Config alone.
func (x *Exchange) SetWriteDeadline(t time.Time) { x.writeBy = t }

// Context is cancelled when the peer is gone and when the handler returns.
func (x *Exchange) Context() context.Context { return x.ContextIn(nil) }

// ContextIn is Context in memory of the caller, who lets go of it: ctx is used for
// nothing else, and once at most. Nil: it is made here.
func (x *Exchange) ContextIn(ctx *RequestContext) context.Context {
	if x.over != nil {
		return x.over.context()
	}
	if made := x.ctx.Load(); made != nil {
		return made
	}
	if ctx == nil {
		ctx = new(RequestContext)
	}
	ctx.x, ctx.lookUp = x, x.l.g.cfg.ContextValue
	x.ctx.Store(ctx)
	if x.unheard.Load() {
		ctx.cancel()
	}
	return ctx
}

// peerGone is called by the owner when the connection is closed.
func (x *Exchange) peerGone() {
	x.gone.Store(true)
	x.cancel()
	x.reply(ErrGone)
}

// cancel is called by the owner when the peer has ended its side.
func (x *Exchange) cancel() {
	if !x.unheard.Swap(true) { // before the look: Context stores before it looks
		x.tellGuest(Gone)
	}
	if ctx := x.ctx.Load(); ctx != nil {
		ctx.cancel()
	}
}

// Leave ends the handler's part when it returns: rest makes what is left of the
// answer, on a goroutine of its own, and may wait there as long as it takes. A seat
// is free meanwhile. rest must not end its goroutine, and use nothing but x.
func (x *Exchange) Leave(rest func(x *Exchange)) { x.rest = rest }

// SetRoute names the route that was found, once a router knows it, so that
// requests of one route share a score (see the package comment).
func (x *Exchange) SetRoute(name string) { x.routeName = name }

// SetStatus sets the status code; 200 unless set. It panics on a code that is
// not three digits.
func (x *Exchange) SetStatus(code int) { x.SetStatusReason(code, "") }

// SetStatusReason also sets the reason phrase. An empty one, or one that could
// end the line, stands for the registered phrase.
func (x *Exchange) SetStatusReason(code int, reason string) {
	if !wire.ValidStatus(code) {
		panic("loop: status code is not in 100 to 999")
	}
	x.status, x.reason = code, ""
	if reason != wire.StatusText(code) && wire.ValidValue(reason) {
		x.reason = reason
	}
}

// Status is the status code that was set, 0 when none was.
func (x *Exchange) Status() int { return x.status }

// Field adds a field to the head of the answer. It refuses a name or value that
// could end its line. Content-Length, Connection and Transfer-Encoding are
// instructions to the engine: the length is checked against the body, "close"
// ends the connection, and framing is the engine's alone.
func (x *Exchange) Field(name, value string) error {
	if x.started {
		return ErrStarted
	}
	switch len(name) {
	case len("Date"):
		x.hasDate = x.hasDate || strings.EqualFold(name, "Date")
	case len("Connection"):
		if strings.EqualFold(name, "Connection") && x.status != 101 {
			x.close = x.close || wire.HasToken([]byte(value), "close")
			return nil
		}
	case len("Content-Length"):
		if strings.EqualFold(name, "Content-Length") {
			return x.setLength(value)
		}
	case len("Transfer-Encoding"):
		if strings.EqualFold(name, "Transfer-Encoding") {
			return nil
		}
	}
	var err error
	x.fields, err = wire.AppendField(x.fields, name, value)
	return err
}

// SetLength announces the length of a body, unless Content-Length was set.
func (x *Exchange) SetLength(n int64) {
	if x.length < 0 && !x.started {
		x.length = n
	}
}

// Left is how much of the announced length was not written; negative when no
// length was announced.
func (x *Exchange) Left() int64 {
	if x.length < 0 {
		return -1
	}
	return x.length - x.wrote
}

func (x *Exchange) setLength(value string) error {
	n := int64(0)
	for i := 0; i < len(value); i++ {
		d := int64(value[i]) - '0'
		if d < 0 || d > 9 || n > (1<<62)/10 {
			return wire.ErrEncodeValue
		}
		n = n*10 + d
	}
	if value == "" {
		return wire.ErrEncodeValue
	}
	x.length = n
	return nil
}

// Trailer adds a field behind the body, which is then sent chunked. HTTP/1.0
// peers do not get it.
func (x *Exchange) Trailer(name, value string) error {
	var err error
	x.trailers, err = wire.AppendField(x.trailers, name, value)
	return err
}

// OmitDate leaves the Date field out.
func (x *Exchange) OmitDate() { x.hasDate = true }

// Started reports whether the head of the answer was sent.
func (x *Exchange) Started() bool { return x.started }

// RemoteAddr is Peer as a string.
func (x *Exchange) RemoteAddr() string {
	if !x.peer.IsValid() {
		return "@"
	}
	return x.peer.String()
}

// CloseAfter ends the connection behind this answer.
func (x *Exchange) CloseAfter() { x.close = true }

// Abort breaks the connection off when the handler returns, so that the peer
// cannot take what it got for a whole answer.
func (x *Exchange) Abort() { x.aborted = true }

// Write adds to the body.
func (x *Exchange) Write(p []byte) (int, error) { return writeTo(x, p) }

// WriteString is Write for a string.
func (x *Exchange) WriteString(s string) (int, error) { return writeTo(x, s) }

func writeTo[T string | []byte](x *Exchange, p T) (int, error) {
	if err := x.admit(len(p)); err != nil {
		return 0, err
	}
	if x.isHead() {
		return len(p), nil
	}
	n := len(p)
	for {
		room := max(x.limit()-len(x.out), 0)
		if len(p) <= room {
			x.out = append(x.out, p...)
			return n, nil
		}
		if x.asking != nil {
			return n - len(p), ErrTooBig
		}
		x.out = append(x.out, p[:room]...)
		p = p[room:]
		if err := x.Flush(); err != nil {
			return n - len(p), err
		}
	}
}

// admit counts n bytes of body, or says why the answer cannot have them.
func (x *Exchange) admit(n int) error {
	if x.status == 0 {
		x.status = 200
	}
	switch {
	case !bodyAllowed(x.status) || x.hijacked:
		return ErrNoBody
	case x.length >= 0 && x.wrote+int64(n) > x.length:
		return ErrLength
	}
	x.wrote += int64(n)
	return nil
}

func (x *Exchange) isHead() bool { return string(x.req.Method) == "HEAD" }

// bodyAllowed: RFC 9110 section 6.4.1.
func bodyAllowed(status int) bool {
	return status >= 200 && status != 204 && status != 304
}

// fail replaces the answer by a problem document.
func (x *Exchange) fail(status int, detail string) {
	x.clearAnswer()
	x.status = status
	x.fields = append(x.fields, "Content-Type: application/problem+json\r\n"...)
	if !x.isHead() {
		x.out = appendProblemBody(x.out, status, detail)
	}
	x.wrote = int64(len(x.out))
}
