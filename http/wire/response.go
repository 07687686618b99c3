// SPDX-License-Identifier: MIT

package wire

// A Response is the head of a response. Its slices lie in the parsed buffer.
type Response struct {
	Status int    // 100 to 999
	Reason []byte // may be empty
	Fields []Field
	Minor  int // HTTP/1.Minor; versions above 1.1 are read as 1.1

	ContentLength int64  // -1 when there is none that counts
	Chunked       bool   // Transfer-Encoding: chunked; ContentLength is -1
	KeepAlive     bool   // the connection may carry another request afterwards
	Upgrade       []byte // what was switched to, with 101, or nil
}

// Field returns the value of the first field called lower.
func (r *Response) Field(lower string) (value []byte, found bool) {
	return Find(r.Fields, lower)
}

// Interim reports whether another response to the same request follows (1xx
// except 101).
func (r *Response) Interim() bool { return r.Status < 200 && r.Status != 101 }

// reset empties r and keeps the memory of its fields.
func (r *Response) reset() {
	*r = Response{Fields: r.Fields[:0], ContentLength: -1}
}

// StartResponse prepares d for the body of a response to a request with the
// given method (RFC 9112 section 6.3). bodyMax bounds it (0: no bound).
// untilClose tells that the body ends with its connection.
func (d *Decoder) StartResponse(r *Response, method string, lim *Limits, bodyMax int64) (
	untilClose bool, err error) {
	switch {
	case method == "HEAD", !BodyAllowed(r.Status), method == "CONNECT" && r.Status/100 == 2:
		d.StartLength(0)
	case r.Chunked:
		d.StartChunked(lim, bodyMax)
	case r.ContentLength < 0:
		d.StartUntilClose(bodyMax)
		return true, nil
	case bodyMax > 0 && r.ContentLength > bodyMax:
		d.reset(bodyDone)
		return false, ErrBodyTooLarge
	default:
		d.StartLength(r.ContentLength)
	}
	return false, nil
}

// BodyAllowed reports whether a response with this status can have a body: not
// 1xx, 204 and 304.
func BodyAllowed(status int) bool {
	return status >= 200 && status != 204 && status != 304
}

// A ResponseParser reads the heads of responses, as RequestParser does those of
// requests. The zero value is ready.
type ResponseParser struct {
	Limits *Limits // nil: the defaults. May be shared; filled (WithDefaults) it costs least.
	progress
}

// Parse reads the head at the start of buf into resp; see RequestParser.Parse.
// Bytes of another shape, left over from an earlier response, are ErrStatusLine.
func (p *ResponseParser) Parse(buf []byte, resp *Response) (n int, err error) {
	lim, code := limitsOf(p.Limits), ok
	if p.seen != 0 {
		code = p.advance(buf, lim, statusFirst)
	}
	if code == ok {
		n, code = p.parse(buf, lim, resp)
	}
	return p.finish(n, code)
}

// Reset forgets a head that was begun.
func (p *ResponseParser) Reset() { p.progress = progress{} }

// Pending reports whether the last Parse asked for more.
func (p *ResponseParser) Pending() bool { return p.seen != 0 }

// parse reads a whole head.
func (p *ResponseParser) parse(buf []byte, lim *Limits, resp *Response) (int, Error) {
	resp.reset()
	b := buf[:min(len(buf), lim.HeadBytes)]
	i, code := statusLine(b, resp)
	if code = lim.checkLine(0, i, code); code != ok {
		return 0, p.stop(buf, lim, 0, 0, code)
	}
	var fr framing
	for lines := 0; ; lines++ {
		start := i
		var end bool
		if i, end, code = headEnd(b, i); end {
			return i, resp.finish(&fr)
		}
		if code == ok {
			resp.Fields = extend(resp.Fields)
			f := &resp.Fields[lines]
			i, code = fieldLine(b, i, f)
			if code = lim.checkLine(start, i, code); code == ok {
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

// statusLine reads HTTP/1.x SP code [SP reason] CRLF. The space behind the code
// may be missing, as many servers leave it out when there is no reason.
func statusLine(b []byte, resp *Response) (int, Error) {
	const pattern = "HTTP/d.d ddd"
	for k := 0; k < len(pattern); k++ {
		if k == len(b) {
			return k, errMore
		}
		c := b[k]
		if pattern[k] == 'd' && class[c]&isDigit == 0 || pattern[k] != 'd' && pattern[k] != c {
			return k, ErrStatusLine
		}
	}
	if b[5] != '1' {
		return len(pattern), ErrVersion
	}
	resp.Minor = min(int(b[7]-'0'), 1)
	resp.Status = int(b[9]-'0')*100 + int(b[10]-'0')*10 + int(b[11]-'0')
	if resp.Status < 100 {
		return len(pattern), ErrStatusLine
	}
	i := len(pattern)
	if i < len(b) && b[i] == ' ' {
		start := i + 1
		i = valueEnd(b, start)
		resp.Reason = b[start:i:i]
	}
	end, code := lineEnd(b, i, ErrStatusLine)
	if code != ok {
		return i, code
	}
	return end, ok
}

// statusFirst checks a first line on its own.
func statusFirst(b []byte) (int, Error) {
	var r Response
	return statusLine(b, &r)
}

// finish judges the fields that were noted. Transfer-Encoding wins over
// Content-Length, and the connection is not used again (RFC 9112 section 6.3).
func (r *Response) finish(fr *framing) Error {
	r.KeepAlive = !fr.close && (r.Minor >= 1 || fr.keepAlive)
	if r.Status == 101 {
		r.Upgrade = fr.upgrade
	}
	switch {
	case fr.lengthErr != ok:
		return fr.lengthErr
	case fr.lengths > 1 && !fr.lengthsSame:
		return ErrContentLength
	case !BodyAllowed(r.Status):
		r.finishBodiless(fr)
		return ok
	}
	if code := fr.checkCoding(r.Minor); code != ok {
		return code
	}
	if fr.lengths > 0 {
		r.ContentLength = fr.length
		r.KeepAlive = r.KeepAlive && fr.lengths == 1
	}
	if fr.codings > 0 {
		r.Chunked, r.ContentLength = true, -1
		r.KeepAlive = r.KeepAlive && fr.lengths == 0
	}
	return ok
}

// finishBodiless: framing fields of a 1xx, 204 or 304 describe nothing that
// follows; where they are out of place the connection is not used again.
func (r *Response) finishBodiless(fr *framing) {
	empty := r.Status == 204 && fr.length == 0 // harmless, and often sent
	if fr.codings > 0 || fr.lengths > 0 && r.Status != 304 && !empty {
		r.KeepAlive = false
	}
	if r.Status == 304 && fr.lengths > 0 {
		r.ContentLength = fr.length
	}
}
