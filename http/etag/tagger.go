// SPDX-License-Identifier: MIT

package etag

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"m0serve.dev/http/internal/capture"
)

// maxBytesDefault is how much of an answer is kept back.
const maxBytesDefault = 64 << 10

// A Tagger gives answers a weak tag. The zero value is ready.
type Tagger struct {
	MaxBytes int // the longest body that gets a tag; 0 is 64 KiB
}

// Wrap gives every 200 of next to GET or HEAD that has no tag a weak one of its
// content, and answers 304 to a client that has it. A tag that next set is left
// as it is and compared. A body beyond MaxBytes, an event stream, an answer that
// is flushed or may not be stored, and a connection that is taken over or held
// go through untouched, without delay. Answers to HEAD have a tag when next
// writes their body like that of GET; a server drops it.
func (t Tagger) Wrap(next http.Handler) http.Handler {
	limit := t.MaxBytes
	if limit == 0 {
		limit = maxBytesDefault
	}
	pool := sync.Pool{New: func() any { return new(tagged) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		a := pool.Get().(*tagged)
		a.r = r
		a.answer.Reset(w, a, limit)
		next.ServeHTTP(&a.answer, r)
		a.finish(w)
		a.r = nil
		a.answer.Reset(nil, nil, 0)
		pool.Put(a) // not behind a panic: nobody knows who still writes
	})
}

// A tagged answer decides on itself.
type tagged struct {
	r      *http.Request
	answer capture.Writer
}

// Begun implements capture.Owner.
func (a *tagged) Begun(status int) capture.Verdict {
	h := a.answer.Header()
	if status != http.StatusOK {
		return capture.Pass
	}
	if tags, set := h["Etag"]; set {
		if !matchesAny(a.r.Header["If-None-Match"], tags, false) {
			return capture.Pass
		}
		NotModified(a.answer.Unwrap())
		return capture.Drop
	}
	if len(h["Trailer"]) > 0 || isStream(h) || !mayBeStored(h) || a.isTooLong(h) {
		return capture.Pass
	}
	return capture.Keep
}

// Passing implements capture.Owner.
func (a *tagged) Passing() {}

func isStream(h http.Header) bool {
	kinds := h["Content-Type"]
	return len(kinds) > 0 && strings.HasPrefix(kinds[0], "text/event-stream")
}

// mayBeStored: nobody comes back with the tag of what nobody may keep.
func mayBeStored(h http.Header) bool {
	for _, line := range h["Cache-Control"] {
		if strings.Contains(line, "no-store") {
			return false
		}
	}
	return true
}

func (a *tagged) isTooLong(h http.Header) bool {
	length := h["Content-Length"]
	if len(length) == 0 {
		return false
	}
	n, err := strconv.Atoi(length[0])
	return err != nil || n > a.answer.Limit()
}

// finish sends what was kept back.
func (a *tagged) finish(w http.ResponseWriter) {
	status, body, ok := a.answer.Kept()
	if !ok {
		return
	}
	h := w.Header()
	if len(body) > 0 || a.r.Method == http.MethodGet {
		var room [64]byte // the tag and the length are one string, and their values one piece
		text := appendOf(room[:0], body)
		end := len(text)
		all := string(strconv.AppendInt(text, int64(len(body)), 10))
		tag, values := all[:end], []string{all[:end], all[end:]}
		h["Etag"] = values[:1:1]
		for _, line := range a.r.Header["If-None-Match"] {
			if Match(line, tag, false) {
				NotModified(w)
				return
			}
		}
		if len(h["Content-Length"]) == 0 && len(h["Transfer-Encoding"]) == 0 {
			h["Content-Length"] = values[1:]
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the peer may be gone: nobody is left to tell
}
