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
	e := &stdExchange{x: x, log: h.log}
	r := e.request()
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
	w    responseWriter
	body stdBody
	done atomic.Bool // the handler has returned: x is somebody else's
}

// request builds the http.Request as net/http does.
func (e *stdExchange) request() *http.Request {
	x := e.x
	head := x.Request()
	e.w.e = e
	// The context is a private field; WithContext is the only way to set it.
	e.req = *(&http.Request{}).WithContext(x.Context())
	r := &e.req
	r.Method = wire.MethodName(head.Method)
	r.RequestURI = string(head.Target)
	r.URL = e.parseURL(r.RequestURI)
	r.ProtoMajor, r.ProtoMinor, r.Proto = 1, head.Minor, "HTTP/1.1"
	if head.Minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	r.Host = string(head.Host)
	r.RemoteAddr = x.RemoteAddr()
	r.Close = !head.KeepAlive
	r.Header = makeHeader(head.Fields)
	delete(r.Header, "Host")
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

// makeHeader copies the fields: one string holds all values, one slice all
// their headers.
func makeHeader(fields []wire.Field) http.Header {
	total := 0
	for i := range fields {
		total += len(fields[i].Value)
	}
	var text strings.Builder
	text.Grow(total)
	for i := range fields {
		text.Write(fields[i].Value)
	}
	all := text.String()
	values := make([]string, len(fields))
	h := make(http.Header, len(fields))
	for i := range fields {
		n := len(fields[i].Value)
		value := all[:n]
		all = all[n:]
		name := wire.CanonicalName(fields[i].Name)
		if old := h[name]; old != nil {
			h[name] = append(old, value)
			continue
		}
		values[i] = value
		h[name] = values[i : i+1 : i+1]
	}
	return h
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
