// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync/atomic"
	"time"
)

// requestIDMax is the longest id that is taken from a client.
const requestIDMax = 128

// RequestID gives every request an id. The zero value makes all ids itself.
type RequestID struct {
	Field string // "" is X-Request-Id
	// Trust says whose field is believed: a proxy's, say. nil: nobody's. An id
	// that is long, or not of letters, digits and -_.:=+/@ is made anew.
	Trust func(*http.Request) bool
}

// Wrap puts the id into the context, where RequestIDOf, AccessLog and
// WriteProblem find it, and into the answer's field. Put it around all else.
// Ids that are made have 24 characters: the millisecond, what the process drew
// at its start, and a count, so that they are in the order of time and unique
// over workers.
func (c RequestID) Wrap(next http.Handler) http.Handler {
	field := http.CanonicalHeaderKey(orDefault(c.Field, "X-Request-Id"))
	ids := newIDSource()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := &identified{ctx: idContext{Context: r.Context()}}
		ctx := &inner.ctx
		if c.Trust != nil {
			if values := r.Header[field]; len(values) == 1 && isID(values[0]) && c.Trust(r) {
				ctx.id[0] = values[0]
			}
		}
		if ctx.id[0] == "" {
			ctx.id[0] = ids.next(time.Now())
		}
		w.Header()[field] = ctx.id[:]
		inner.r = *r.WithContext(ctx)
		next.ServeHTTP(w, &inner.r)
		r.Pattern = inner.r.Pattern // which a router has set, for those around it
	})
}

// RequestIDOf is the id of the request with this context; "" for none.
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(*[1]string)
	if id == nil {
		return ""
	}
	return id[0]
}

type idKey struct{}

// An idContext holds the id for the context and for the header at once.
type idContext struct {
	context.Context
	id [1]string
}

// An identified request and its context are one piece of memory.
type identified struct {
	ctx idContext
	r   http.Request
}

// Value implements context.Context. A pointer costs nothing as an interface.
func (c *idContext) Value(key any) any {
	if _, ok := key.(idKey); ok {
		return &c.id
	}
	return c.Context.Value(key)
}

func isID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '=', c == '+', c == '/', c == '@':
		default:
			return false
		}
	}
	return s != "" && len(s) <= requestIDMax
}

// idDigits are in the order of ASCII, so that ids sort as their numbers do.
const idDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// An idSource makes ids: ten digits of five bits for the millisecond, eight for
// the process, six for the count, which goes around after 2^30.
type idSource struct {
	process [8]byte
	count   atomic.Uint32
}

func newIDSource() *idSource {
	s := &idSource{}
	_, _ = rand.Read(s.process[:]) // never returns an error
	for i, b := range s.process {
		s.process[i] = idDigits[b%32]
	}
	return s
}

func (s *idSource) next(now time.Time) string {
	var id [24]byte
	putDigits(id[:10], uint64(now.UnixMilli()))
	copy(id[10:], s.process[:])
	putDigits(id[18:], uint64(s.count.Add(1)))
	return string(id[:])
}

// putDigits fills dst with the lowest digits of n.
func putDigits(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = idDigits[n%32]
		n /= 32
	}
}
