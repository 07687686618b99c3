// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"

	"m0serve.dev/http/wire"
)

// OverHTTP serves a native handler by net/http, where there is no loop. The
// handler sees the same request; it cannot hold or hijack the connection.
func OverHTTP(h Handler, maxBody int64) http.Handler {
	// A Group without loops: what an Exchange asks of one is its configuration.
	g := &Group{cfg: Config{Handler: h, MaxBody: maxBody}.withDefaults()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if max := g.cfg.MaxBody; max >= 0 && r.ContentLength > max {
			http.Error(w, wire.ErrBodyTooLarge.Text(), http.StatusRequestEntityTooLarge)
			return
		} else if max >= 0 {
			r.Body = http.MaxBytesReader(w, r.Body, max)
		}
		x := &Exchange{over: &overHTTP{w: w, r: r}}
		x.reset(&Loop{g: g}, nil, nil)
		raw := rawHead(r)
		n, err := x.parser.Parse(raw, &x.req)
		if n == 0 || err != nil {
			http.Error(w, "request head refused", http.StatusBadRequest)
			return
		}
		x.peer, _ = netip.ParseAddrPort(r.RemoteAddr) // a unix peer has none
		h.Serve(x)
		if x.rest != nil {
			x.rest(x) // nobody needs the goroutine it is on
		}
		if x.aborted {
			panic(http.ErrAbortHandler)
		}
		x.over.finish(x)
	})
}

// An overHTTP stands for the loop under an Exchange.
type overHTTP struct {
	w http.ResponseWriter
	r *http.Request
}

// rawHead writes the head of r as it would come over the wire.
func rawHead(r *http.Request) []byte {
	var b bytes.Buffer
	b.WriteString(r.Method + " " + r.RequestURI + " HTTP/1.1\r\nHost: " + r.Host + "\r\n")
	if r.ContentLength < 0 {
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	_ = r.Header.Write(&b) // a Buffer takes everything
	b.WriteString(wire.LineEnd)
	return b.Bytes()
}

func (o *overHTTP) context() context.Context { return o.r.Context() }

func (o *overHTTP) read(p []byte) (int, error) { return o.r.Body.Read(p) }

// flush sends what x has so far.
func (o *overHTTP) flush(x *Exchange) error {
	if err := o.send(x); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

// finish sends the rest.
func (o *overHTTP) finish(x *Exchange) {
	if !x.started && x.length < 0 && bodyAllowed(x.status) && x.wrote > 0 {
		x.length = x.wrote
	}
	_ = o.send(x) // the peer is gone: nobody is left to tell
	for name, value := range lines(x.trailers) {
		o.w.Header().Add(http.TrailerPrefix+name, value)
	}
}

func (o *overHTTP) send(x *Exchange) error {
	if !x.started {
		x.started = true
		if x.status == 0 {
			x.status = 200
		}
		h := o.w.Header()
		for name, value := range lines(x.fields) {
			h.Add(name, value)
		}
		if x.length >= 0 {
			h.Set("Content-Length", string(bytes.TrimSpace(
				wire.AppendContentLength(nil, x.length)[len("Content-Length:"):])))
		}
		if x.close {
			h.Set("Connection", "close")
		}
		o.w.WriteHeader(x.status)
	}
	_, err := o.w.Write(x.out)
	x.out = x.out[:0]
	if err == http.ErrBodyNotAllowed {
		err = nil
	}
	return err
}

// lines goes through encoded field lines.
func lines(fields []byte) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for len(fields) > 0 {
			line, rest, _ := bytes.Cut(fields, []byte(wire.LineEnd))
			name, value, _ := bytes.Cut(line, []byte(": "))
			if !yield(string(name), string(value)) {
				return
			}
			fields = rest
		}
	}
}
