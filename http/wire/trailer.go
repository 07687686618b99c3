// SPDX-License-Identifier: MIT

package wire

import "bytes"

// readTrailer takes bytes of the trailer section up to the end of a line.
func (d *Decoder) readTrailer(src []byte, n int) (int, Error) {
	if len(d.trailer) == d.line && src[n] == '\r' {
		d.state = trailerEnd
		return n + 1, ok
	}
	end := len(src)
	k := bytes.IndexByte(src[n:], '\n')
	if k >= 0 {
		end = n + k + 1
	}
	lim := limitsOf(d.limits)
	if len(d.trailer)+end-n > lim.TrailerBytes {
		return n, ErrTrailerTooLarge
	}
	d.trailer = append(d.trailer, src[n:end]...)
	if k < 0 {
		return end, ok
	}
	var f Field
	next, code := fieldLine(d.trailer, d.line, &f)
	switch {
	case code != ok:
		return end, code
	case EqualFold(f.Name, "content-length"), EqualFold(f.Name, "transfer-encoding"),
		EqualFold(f.Name, "host"):
		return end, ErrTrailer
	case len(d.Trailers) == lim.Fields:
		return end, ErrTooManyFields
	}
	// Until the section is whole, and its memory stays put, only count.
	d.Trailers = append(d.Trailers, Field{})
	d.line = next
	return end, ok
}

// finishTrailers reads the lines that were checked one by one.
func (d *Decoder) finishTrailers() Error {
	d.state = bodyDone
	d.Trailers = d.Trailers[:0]
	for i := 0; i < len(d.trailer); {
		var f Field
		var code Error
		if i, code = fieldLine(d.trailer, i, &f); code != ok {
			return code
		}
		if !f.Underscore && !isHeadOnly(f.Name) {
			d.Trailers = append(d.Trailers, f)
		}
	}
	return ok
}

// headOnly are the fields which mean nothing, or harm, behind a body (RFC 9110
// section 6.5.1): routing, framing of the connection, request modifiers,
// authentication, response control, content coding.
var headOnly = [...]string{
	"age", "authentication-info", "authorization", "cache-control", "connection",
	"content-encoding", "content-range", "content-type", "cookie", "date", "expect",
	"expires", "if-match", "if-modified-since", "if-none-match", "if-range",
	"if-unmodified-since", "keep-alive", "location", "max-forwards", "pragma",
	"proxy-authenticate", "proxy-authorization", "proxy-connection", "range",
	"retry-after", "set-cookie", "te", "trailer", "upgrade", "vary", "www-authenticate",
}

func isHeadOnly(name []byte) bool {
	for _, h := range headOnly {
		if EqualFold(name, h) {
			return true
		}
	}
	return false
}
