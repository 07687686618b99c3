// SPDX-License-Identifier: MIT

package wire

import "encoding/binary"

// A Request is the head of a request. Its slices lie in the parsed buffer. One
// Request can be used for any number of parses, one after the other.
type Request struct {
	Method   []byte
	Target   []byte // as sent
	Path     []byte // not decoded, opens with a slash; "*" for OPTIONS *
	RawQuery []byte // behind the first question mark; nil when there is none
	Host     []byte // authority of an absolute target, else the Host field
	Fields   []Field
	Minor    int // HTTP/1.Minor; versions above 1.1 are read as 1.1

	ContentLength int64  // -1 when there is no such field
	Chunked       bool   // the body is chunked; ContentLength is -1
	KeepAlive     bool   // the peer lets the connection live
	Expect100     bool   // the peer waits for 100 before it sends the body
	Upgrade       []byte // protocols the peer offers to switch to, or nil
	Underscores   bool   // some field has Underscore
}

// HasBody reports whether body bytes follow the head.
func (r *Request) HasBody() bool { return r.Chunked || r.ContentLength > 0 }

// Field returns the value of the first field called lower.
func (r *Request) Field(lower string) (value []byte, found bool) {
	return Find(r.Fields, lower)
}

// reset empties r and keeps the memory of its fields.
func (r *Request) reset() {
	*r = Request{Fields: r.Fields[:0], ContentLength: -1}
}

// A RequestParser reads the heads of requests. It is small, so that every
// connection can have its own; the zero value is ready.
type RequestParser struct {
	Limits *Limits // nil: the defaults. May be shared; filled (WithDefaults) it costs least.
	progress
}

// Parse reads the head at the start of buf into req. It returns the length of
// the head, or 0 and nil when the head goes on behind buf: call again with the
// same bytes and more behind them, wherever they lie in memory. An error is
// always an Error. The parser is ready for the next message when it returns
// anything but 0 and nil.
func (p *RequestParser) Parse(buf []byte, req *Request) (n int, err error) {
	lim, code := limitsOf(p.Limits), ok
	if p.seen != 0 {
		code = p.advance(buf, lim, requestFirst)
	}
	if code == ok {
		n, code = p.parse(buf, lim, req)
	}
	return p.finish(n, code)
}

// Reset forgets a head that was begun.
func (p *RequestParser) Reset() { p.progress = progress{} }

// Pending reports whether the last Parse asked for more.
func (p *RequestParser) Pending() bool { return p.seen != 0 }

// parse reads a whole head.
func (p *RequestParser) parse(buf []byte, lim *Limits, req *Request) (int, Error) {
	req.reset()
	b := buf[:min(len(buf), lim.HeadBytes)]
	i, code := requestLine(b, req)
	if code = lim.checkLine(0, i, code); code != ok {
		return 0, p.stop(buf, lim, 0, 0, code)
	}
	var fr framing
	for lines := 0; ; lines++ {
		start := i
		var end bool
		if i, end, code = headEnd(b, i); end {
			return i, req.finish(&fr)
		}
		if code == ok {
			req.Fields = extend(req.Fields)
			f := &req.Fields[lines]
			i, code = fieldLine(b, i, f)
			if code = lim.checkLine(start, i, code); code == ok {
				req.Underscores = req.Underscores || f.Underscore
				fr.note(f)
			}
		}
		if code == ok && lines == lim.Fields {
			code = ErrTooManyFields
		}
		if code != ok {
			return 0, p.stop(buf, lim, start, lines, code)
		}
	}
}

// requestLine reads METHOD SP target SP version CRLF. The index is behind the
// line, or the byte at which the error shows.
func requestLine(b []byte, req *Request) (int, Error) {
	start, code := skipEmptyLine(b)
	if code != ok {
		return 0, code
	}
	i := span(b, start, isToken)
	if i == len(b) {
		return i, errMore
	}
	if b[i] != ' ' || i == start {
		return i, methodError(b[i], i == start)
	}
	req.Method = b[start:i:i]
	if i, code = requestTarget(b, i+1, req); code != ok {
		return i, code
	}
	return requestVersion(b, i, req)
}

func methodError(c byte, first bool) Error {
	switch {
	case c == '\n':
		return ErrLineEnd
	case c == '\r' || first && c == ' ':
		return ErrRequestLine
	}
	return ErrMethod
}

const http11 = uint64('H') | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48 | '1'<<56

// requestVersion reads "HTTP/1.x" CRLF at i.
func requestVersion(b []byte, i int, req *Request) (int, Error) {
	if len(b)-i >= 10 && binary.LittleEndian.Uint64(b[i:]) == http11 &&
		b[i+8] == '\r' && b[i+9] == '\n' {
		req.Minor = 1
		return i + 10, ok
	}
	const pattern = "HTTP/d.d"
	for k := 0; k < len(pattern); k++ {
		if i+k == len(b) {
			return i + k, errMore
		}
		c := b[i+k]
		if pattern[k] == 'd' && class[c]&isDigit == 0 || pattern[k] != 'd' && pattern[k] != c {
			return i + k, ErrVersionSyntax
		}
	}
	end, code := lineEnd(b, i+8, ErrVersionSyntax)
	if code != ok {
		return i + 8, code
	}
	if b[i+5] != '1' {
		return i + 8, ErrVersion
	}
	req.Minor = min(int(b[i+7]-'0'), 1)
	return end, ok
}

// finish judges the fields that were noted.
func (r *Request) finish(fr *framing) Error {
	r.KeepAlive = !fr.close && (r.Minor >= 1 || fr.keepAlive)
	if fr.hosts == 1 && !fr.more && r.Host == nil && ValidHost(fr.host) {
		r.Host = fr.host
		return ok // what most requests are
	}
	switch {
	case fr.hosts > 1 || fr.hosts == 0 && r.Minor >= 1:
		return ErrHost
	case fr.types > 1:
		return ErrDuplicate
	}
	if code := r.finishTarget(fr.host); code != ok {
		return code
	}
	if code := fr.checkCoding(r.Minor); code != ok {
		return code
	}
	switch {
	case fr.codings > 0 && fr.lengths > 0:
		return ErrFraming
	case fr.lengths > 1:
		return ErrContentLength
	case fr.lengthErr != ok:
		return fr.lengthErr
	case fr.lengths == 1:
		r.ContentLength = fr.length
	}
	r.Chunked = fr.codings > 0
	if r.Minor == 0 {
		return ok // no expectation and no upgrade: RFC 9110 sections 10.1.1, 7.8
	}
	if fr.expectOther {
		return ErrExpectation
	}
	r.Expect100 = fr.expect && r.HasBody()
	if fr.upgradeConn {
		r.Upgrade = fr.upgrade
	}
	return ok
}

// skipEmptyLine returns where the message starts: RFC 9112 section 2.2 wants
// an empty line before a request ignored.
func skipEmptyLine(b []byte) (int, Error) {
	if len(b) == 0 || b[0] != '\r' {
		return 0, ok
	}
	if len(b) == 1 {
		return 0, errMore
	}
	if b[1] != '\n' {
		return 0, ErrLineEnd
	}
	return 2, ok
}

// requestFirst checks a first line on its own.
func requestFirst(b []byte) (int, Error) {
	var r Request
	return requestLine(b, &r)
}
