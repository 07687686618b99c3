// SPDX-License-Identifier: MIT

package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// A stdHandler serves an http.Handler natively.
type stdHandler struct {
	handler http.Handler
	log     *slog.Logger
}

// Serve implements Handler.
func (h *stdHandler) Serve(x *Exchange) {
	e, values := newStdExchange(len(x.Request().Fields))
	e.x, e.log, e.w.e = x, h.log, e
	r := e.request(values)
	if string(x.Request().Path) == "*" && r.Method == http.MethodOptions {
		x.SetStatus(http.StatusOK) // as net/http: it asks the server, not the application
		e.done.Store(true)
		return
	}
	defer e.done.Store(true)
	h.handler.ServeHTTP(&e.w, r)
	e.w.finish()
	if r.Pattern != "" {
		x.SetRoute(r.Pattern)
	}
}

// A stdExchange is what net/http code sees of one request: all of it is made
// afresh, since handlers may keep it.
type stdExchange struct {
	x    *Exchange
	log  *slog.Logger
	req  http.Request
	url  url.URL
	ctx  loop.RequestContext
	w    responseWriter
	body stdBody
	done atomic.Bool // the handler has returned: x is somebody else's
}

// As many fields as that have room for their values beside the stdExchange. What a
// small request is given should not be cleared and scanned for a browser's.
const (
	fewFields  = 4
	manyFields = 16
)

// newStdExchange makes a stdExchange, and room for the values of so many header
// fields, with one allocation where it can.
func newStdExchange(fields int) (e *stdExchange, values []string) {
	switch {
	case fields <= fewFields:
		all := new(struct {
			stdExchange
			values [fewFields]string
		})
		return &all.stdExchange, all.values[:]
	case fields <= manyFields:
		all := new(struct {
			stdExchange
			values [manyFields]string
		})
		return &all.stdExchange, all.values[:]
	}
	return new(stdExchange), make([]string, fields)
}

// request builds the http.Request as net/http does. values is room for those of
// the header.
func (e *stdExchange) request(values []string) *http.Request {
	x := e.x
	head := x.Request()
	// The context is a private field; WithContext is the only way to set it. Neither
	// of the two requests gets to the heap.
	e.req = *(&http.Request{}).WithContext(x.ContextIn(&e.ctx))
	r := &e.req
	r.Method = wire.MethodName(head.Method)
	r.ProtoMajor, r.ProtoMinor, r.Proto = 1, head.Minor, "HTTP/1.1"
	if head.Minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	text := e.takeText()
	r.Header = makeHeader(head.Fields, text, values)
	r.URL = e.parseURL(r.RequestURI)
	r.Close = !head.KeepAlive
	r.Body = http.NoBody
	if head.HasBody() {
		e.body.e = e
		r.Body = &e.body
	}
	switch {
	case head.Chunked:
		r.ContentLength = -1
		r.TransferEncoding = []string{"chunked"}
		delete(r.Header, "Transfer-Encoding")
		e.announceTrailers()
	case head.ContentLength > 0:
		r.ContentLength = head.ContentLength
	}
	return r
}

// takeText copies what a request consists of into one string, sets what is no
// header field, and returns the values of the header fields.
func (e *stdExchange) takeText() (values string) {
	var room [64]byte
	peer := appendPeer(room[:0], e.x)
	head := e.x.Request()
	size := len(head.Target) + len(head.Host) + len(peer)
	for i := range head.Fields {
		if f := &head.Fields[i]; !isHost(f) {
			size += len(f.Value)
		}
	}
	var b strings.Builder
	b.Grow(size)
	b.Write(head.Target)
	b.Write(head.Host)
	b.Write(peer)
	for i := range head.Fields {
		if f := &head.Fields[i]; !isHost(f) {
			b.Write(f.Value)
		}
	}
	text := b.String()
	r := &e.req
	r.RequestURI, text = text[:len(head.Target)], text[len(head.Target):]
	r.Host, text = text[:len(head.Host)], text[len(head.Host):]
	r.RemoteAddr, text = text[:len(peer)], text[len(peer):]
	return text
}

// appendPeer appends what RemoteAddr is to be.
func appendPeer(dst []byte, x *Exchange) []byte {
	if peer := x.Peer(); peer.IsValid() {
		return peer.AppendTo(dst)
	}
	return append(dst, x.RemoteAddr()...)
}

// parseURL is url.ParseRequestURI with a short way for targets that mean what
// they say.
func (e *stdExchange) parseURL(target string) *url.URL {
	i := 0
	for i < len(target) && plainPath[target[i]] {
		i++
	}
	switch {
	case i == 0 || target[0] != '/':
	case i == len(target):
		e.url.Path = target
		return &e.url
	case target[i] == '?' && i+1 < len(target):
		e.url.Path, e.url.RawQuery = target[:i], target[i+1:]
		return &e.url
	}
	u, err := url.ParseRequestURI(target)
	if err != nil { // the parser let it through, so it has a path at least
		path := e.x.Request().Path
		return &url.URL{Path: string(path), RawQuery: string(e.x.Request().RawQuery)}
	}
	return u
}

// plainPath are the bytes that package url neither escapes nor unescapes in a
// path; never written.
var plainPath = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' ||
			strings.IndexByte("-_.~$&+,/:;=@", b) >= 0
	}
	return t
}()

// makeHeader makes the header of fields, whose values follow one another in text,
// but for Host, which Request.Host has. Each field takes one of values.
func makeHeader(fields []wire.Field, text string, values []string) http.Header {
	n := len(fields)
	if n > 0 {
		n-- // nearly always there is a Host
	}
	h := make(http.Header, n)
	for i := range fields {
		f := &fields[i]
		if isHost(f) {
			continue
		}
		values[i], text = text[:len(f.Value)], text[len(f.Value):]
		name, known := wire.CanonicalName(f.Name), len(h)
		h[name] = values[i : i+1 : i+1]
		if len(h) == known { // the name came before
			h[name] = valuesOf(fields[:i+1], name, values)
		}
	}
	return h
}

// valuesOf are those of values whose fields are called name.
func valuesOf(fields []wire.Field, name string, values []string) (all []string) {
	for i := range fields {
		if wire.CanonicalName(fields[i].Name) == name {
			all = append(all, values[i])
		}
	}
	return all
}

// isHost reports whether f is the Host field.
func isHost(f *wire.Field) bool {
	return len(f.Name) == len("Host") && wire.EqualFold(f.Name, "host")
}

// announceTrailers moves the names in Trailer fields to Request.Trailer.
func (e *stdExchange) announceTrailers() {
	names := e.req.Header["Trailer"]
	if len(names) == 0 {
		return
	}
	delete(e.req.Header, "Trailer")
	e.req.Trailer = make(http.Header)
	for _, list := range names {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			switch name {
			case "", "Transfer-Encoding", "Trailer", "Content-Length":
			default:
				e.req.Trailer[name] = nil
			}
		}
	}
}

// A stdBody is Request.Body.
type stdBody struct {
	e      *stdExchange
	ended  bool
	closed atomic.Bool
}

// Read implements io.Reader.
func (b *stdBody) Read(p []byte) (int, error) {
	if b.closed.Load() || b.e.done.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.e.x.Read(p)
	if err == io.EOF && !b.ended {
		b.ended = true
		for _, f := range b.e.x.Trailers() {
			if b.e.req.Trailer == nil {
				b.e.req.Trailer = make(http.Header)
			}
			b.e.req.Trailer.Add(wire.CanonicalName(f.Name), string(f.Value))
		}
	}
	return n, err
}

// Close implements io.Closer. What was not read is the engine's to drop.
func (b *stdBody) Close() error {
	b.closed.Store(true)
	return nil
}

// asStdError gives the errors of an Exchange the names net/http has for them.
func asStdError(err error) error {
	switch err {
	case loop.ErrNoBody:
		return http.ErrBodyNotAllowed
	case loop.ErrLength:
		return http.ErrContentLength
	}
	return err
}
