// SPDX-License-Identifier: MIT

package client

import (
	"errors"
	"io"
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// Reasons to refuse a request, inside an Error of kind Refused; so are the
// encoder's errors of package wire.
var (
	ErrURL    = errors.New("the URL is not http(s)://host[:port][/path][?query]")
	ErrMethod = errors.New("neither CONNECT nor a TRACE with a body is sent")
	ErrField  = errors.New("a field that the client sets itself")
	ErrBody   = errors.New("both Body and Stream, or a Length or Trailers that do not fit them")
)

// A Field is one field line of a request.
type Field struct{ Name, Value string }

// A Request says what to ask. It may be used again, and by several requests at
// a time when it has no Stream.
type Request struct {
	Method string // "": GET
	URL    string // http or https, percent-encoded; a fragment is not sent
	Host   string // "": that of the URL

	// Fields are sent in this order. Host, Content-Length and what is of the
	// connection alone (Connection, Transfer-Encoding, TE, Trailer, Upgrade, Expect)
	// are the client's.
	Fields []Field

	Body []byte // sent as it is, and again by a retry

	// Stream is a body that is read while it is sent, by a goroutine that has ended
	// when Do, or the Stream of the answer, has. If it is an io.Closer it is closed,
	// which has to end a Read; else that end waits for a Read.
	Stream io.Reader
	Length int64 // bytes to take from Stream; 0 or less: to its end, in chunks
	// Trailers are asked for behind a Stream without Length. nil: none.
	Trailers func() []Field

	// Idempotent marks a request that may be sent twice though its method does not
	// say so, by an Idempotency-Key for example (RFC 9110 section 9.2.2).
	Idempotent bool
	// BodyTimeout replaces that of the Config. 0: the Config's; negative: none.
	BodyTimeout time.Duration
	// Interim hears the 1xx answers, 103 for example, until it returns. nil: nobody.
	Interim func(*wire.Response)
}

// method is Method with its default.
func (r *Request) method() string {
	if r.Method == "" {
		return "GET"
	}
	return r.Method
}

// canRepeat reports whether the request may reach the server twice.
func (r *Request) canRepeat() bool {
	switch r.method() {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY":
		return true
	}
	return r.Idempotent
}

// check refuses what has no meaning, before a connection is taken.
func (r *Request) check() error {
	switch {
	case r.method() == "CONNECT", r.Method == "TRACE" && (len(r.Body) > 0 || r.Stream != nil):
		return ErrMethod
	case r.Stream != nil && r.Body != nil, r.Stream == nil && r.Length != 0,
		r.Trailers != nil && (r.Stream == nil || r.Length > 0):
		return ErrBody
	case r.Host != "" && !wire.ValidHost([]byte(r.Host)):
		return ErrURL
	}
	for i := range r.Fields {
		if isOwn(r.Fields[i].Name) {
			return ErrField
		}
	}
	return nil
}

// isOwn reports whether a field says how the message travels.
func isOwn(name string) bool {
	own := ""
	switch len(name) {
	case 2:
		own = "te"
	case 4:
		own = "host"
	case 6:
		own = "expect"
	case 7:
		return strings.EqualFold(name, "trailer") || strings.EqualFold(name, "upgrade")
	case 10:
		return strings.EqualFold(name, "connection") || strings.EqualFold(name, "keep-alive")
	case 14:
		own = "content-length"
	case 16:
		own = "proxy-connection"
	case 17:
		own = "transfer-encoding"
	}
	return own != "" && strings.EqualFold(name, own)
}

// appendHead appends the head. What it refuses was not sent.
func (r *Request) appendHead(dst []byte, to *target, cfg *Config) ([]byte, error) {
	dst, err := appendLine(dst, r.method(), to)
	if err != nil {
		return dst, err
	}
	host := r.Host
	if host == "" {
		host = to.key.host
	}
	dst = append(dst, "Host: "...)
	dst = append(append(dst, host...), wire.LineEnd...)
	agent := cfg.UserAgent
	for i := range r.Fields {
		f := &r.Fields[i]
		if len(f.Name) == len("user-agent") && strings.EqualFold(f.Name, "user-agent") {
			agent = ""
		}
		if dst, err = wire.AppendField(dst, f.Name, f.Value); err != nil {
			return dst, err
		}
	}
	if agent != "" {
		dst = append(dst, "User-Agent: "...)
		dst = append(append(dst, agent...), wire.LineEnd...)
	}
	if cfg.NoKeepAlive {
		dst = append(dst, wire.LineClose...)
	}
	switch {
	case r.Stream != nil && r.Length <= 0:
		dst = append(dst, wire.LineChunked...)
	case r.Stream != nil:
		dst = wire.AppendContentLength(dst, r.Length)
	case len(r.Body) > 0 || r.Body != nil || wantsLength(r.Method):
		dst = wire.AppendContentLength(dst, int64(len(r.Body)))
	}
	return append(dst, wire.LineEnd...), nil
}

// appendLine appends the request line; an empty path is sent as a slash.
func appendLine(dst []byte, method string, to *target) ([]byte, error) {
	switch {
	case to.path == "":
		return wire.AppendRequestLine(dst, method, "/")
	case to.path[0] == '?':
		return wire.AppendRequestLine(dst, method, "/"+to.path)
	}
	return wire.AppendRequestLine(dst, method, to.path)
}

// wantsLength: a server may refuse these without a length, even of nothing (RFC
// 9110 section 8.6).
func wantsLength(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

// A hostKey is what connections are kept by.
type hostKey struct {
	host string // lower case, with its port unless that is the scheme's
	tls  bool
}

// A target is a URL taken apart.
type target struct {
	key  hostKey
	path string // with the query; may be empty or open with '?'
}

// parseURL takes url apart without copying; what stands in it is checked by
// appendLine and, where a host is met first, by pool.take.
func parseURL(url string) (to target, err error) {
	rest, found := cutScheme(url, "http://")
	if !found {
		if rest, to.key.tls = cutScheme(url, "https://"); !to.key.tls {
			return to, ErrURL
		}
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	host := rest
	for i := range len(rest) {
		if c := rest[i]; c == '/' || c == '?' {
			host, to.path = rest[:i], rest[i:]
			break
		}
	}
	for i := range len(host) {
		if c := host[i]; c >= 'A' && c <= 'Z' {
			host = strings.ToLower(host)
			break
		}
	}
	port := ":80"
	if to.key.tls {
		port = ":443"
	}
	host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	if host == "" || host[0] == ':' {
		return to, ErrURL
	}
	to.key.host = host
	return to, nil
}

func cutScheme(url, scheme string) (rest string, found bool) {
	n := len(scheme)
	if len(url) < n || url[:n] != scheme && !strings.EqualFold(url[:n], scheme) {
		return url, false
	}
	return url[n:], true
}

// address is host:port to dial, and the name that a certificate has to have.
func (k hostKey) address() (addr, name string) {
	name = k.host
	port := ":80"
	if k.tls {
		port = ":443"
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.IndexByte(name, ']') {
		name, port = name[:i], name[i:]
	}
	return name + port, strings.Trim(name, "[]")
}
