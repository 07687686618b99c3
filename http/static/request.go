// SPDX-License-Identifier: MIT

package static

import (
	"net/http"
	"strings"

	"m0serve.dev/http/wire"
)

// A request is what an answer depends on. nil is a field that was not sent.
type request struct {
	method string
	path   []byte // as sent, not decoded
	query  []byte

	acceptEncoding    []byte
	ifMatch           []byte
	ifNoneMatch       []byte
	ifModifiedSince   []byte
	ifUnmodifiedSince []byte
	ifRange           []byte
	ranges            []byte
}

// readFields picks the fields that matter. The names differ in length but for
// If-None-Match, so most fields cost one comparison of lengths.
func (r *request) readFields(fields []wire.Field) {
	for i := range fields {
		f := &fields[i]
		switch len(f.Name) {
		case len("range"):
			pick(&r.ranges, f, "range")
		case len("if-match"): // and if-range
			pick(&r.ifMatch, f, "if-match")
			pick(&r.ifRange, f, "if-range")
		case len("if-none-match"):
			pick(&r.ifNoneMatch, f, "if-none-match")
		case len("accept-encoding"):
			pick(&r.acceptEncoding, f, "accept-encoding")
		case len("if-modified-since"):
			pick(&r.ifModifiedSince, f, "if-modified-since")
		case len("if-unmodified-since"):
			pick(&r.ifUnmodifiedSince, f, "if-unmodified-since")
		}
	}
}

// pick takes the value of f, or adds it when the field is repeated: a list goes
// on (RFC 9110 section 5.3), and what is no list does not parse then.
func pick(to *[]byte, f *wire.Field, lower string) {
	switch {
	case !wire.EqualFold(f.Name, lower):
	case *to == nil:
		*to = f.Value
	default:
		*to = append(append((*to)[:len(*to):len(*to)], ", "...), f.Value...)
	}
}

// readHeader is readFields for net/http.
func (r *request) readHeader(h http.Header) {
	for _, f := range []struct {
		to   *[]byte
		name string
	}{
		{&r.ranges, "Range"},
		{&r.ifMatch, "If-Match"},
		{&r.ifRange, "If-Range"},
		{&r.ifNoneMatch, "If-None-Match"},
		{&r.acceptEncoding, "Accept-Encoding"},
		{&r.ifModifiedSince, "If-Modified-Since"},
		{&r.ifUnmodifiedSince, "If-Unmodified-Since"},
	} {
		if values := h[f.name]; len(values) > 0 {
			*f.to = []byte(strings.Join(values, ", "))
		}
	}
}
