// SPDX-License-Identifier: MIT

package static

import (
	"net/http"
	"strconv"
	"time"

	"m0serve.dev/http/etag"
	"m0serve.dev/http/wire"
)

// settled is how long a file has to be unchanged for its validators to be
// strong: clocks of filesystems tick in milliseconds, some in two seconds, so
// that a second change of the same size could hide behind the first.
const settled = 2 * time.Second

// validators are what a client may hold of a representation.
type validators struct {
	tag      string    // entity tag as sent
	strong   bool      // both of them
	modified string    // Last-Modified as sent
	at       time.Time // the same, whole seconds
}

// validatorsOf makes the validators of a file; coding is that of the
// representation, "" for none. Each coding has a tag of its own.
func validatorsOf(size int64, modified, now time.Time, coding string) (v validators) {
	v.strong = now.Sub(modified) >= settled
	tag := make([]byte, 0, 48)
	if !v.strong {
		tag = append(tag, "W/"...)
	}
	tag = append(tag, '"')
	tag = strconv.AppendUint(tag, uint64(modified.UnixNano()), 36)
	tag = append(tag, '-')
	tag = strconv.AppendInt(tag, size, 36)
	if coding != "" {
		tag = append(append(tag, '-'), coding...)
	}
	v.tag = string(append(tag, '"'))
	if modified.After(now) {
		modified = now // RFC 9110 section 8.8.2.1
	}
	v.at = modified.Truncate(time.Second)
	var date [wire.DateLen]byte
	v.modified = string(wire.AppendTime(date[:0], v.at))
	return v
}

// check evaluates the preconditions in the order of RFC 9110 section 13.2.2. It
// returns 0 when the method goes on, 304 or 412.
func (v *validators) check(r *request) int {
	switch {
	case r.ifMatch != nil:
		if !etag.Match(r.ifMatch, v.tag, true) {
			return http.StatusPreconditionFailed
		}
	case r.ifUnmodifiedSince != nil:
		if since, ok := v.parseDate(r.ifUnmodifiedSince); ok && v.at.After(since) {
			return http.StatusPreconditionFailed
		}
	}
	switch {
	case r.ifNoneMatch != nil:
		if etag.Match(r.ifNoneMatch, v.tag, false) {
			return http.StatusNotModified
		}
	case r.ifModifiedSince != nil:
		if since, ok := v.parseDate(r.ifModifiedSince); ok && !v.at.After(since) {
			return http.StatusNotModified
		}
	}
	return 0
}

// allowsRange evaluates If-Range (section 13.1.5): without the very same
// representation a part of it is worth nothing.
func (v *validators) allowsRange(ifRange []byte) bool {
	switch {
	case ifRange == nil:
		return true
	case !v.strong:
		return false
	}
	return string(ifRange) == v.tag || string(ifRange) == v.modified
}

// parseDate reads an HTTP date, most often the one we have sent.
func (v *validators) parseDate(b []byte) (time.Time, bool) {
	if string(b) == v.modified {
		return v.at, true
	}
	t, err := http.ParseTime(string(b))
	return t, err == nil
}
