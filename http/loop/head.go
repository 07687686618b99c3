// SPDX-License-Identifier: MIT

package loop

import (
	"strings"
	"time"
)

// A Head is what an Exchange was told of the head of its answer, for others with the
// same one.
type Head struct {
	status  int
	reason  string
	fields  []byte // whole lines
	length  int64
	hasDate bool
}

// KeepHead copies into h what x was told so far by SetStatus, Field, SetLength and their
// like. false: not where the connection ends behind the answer, or it has begun.
func (x *Exchange) KeepHead(h *Head) bool {
	if x.close || x.started {
		return false
	}
	h.status, h.length, h.hasDate = x.status, x.length, x.hasDate
	h.fields = append(h.fields[:0], x.fields...)
	if h.reason != x.reason {
		h.reason = strings.Clone(x.reason)
	}
	return true
}

// UseHead tells x, which was told nothing yet, what another Exchange was told when its
// KeepHead was called.
func (x *Exchange) UseHead(h *Head) {
	x.status, x.reason, x.length, x.hasDate = h.status, h.reason, h.length, h.hasDate
	x.fields = append(x.fields[:0], h.fields...)
}

// Entered is when the handler was called, or a moment before. Where the loop has just
// looked at the clock this is what it saw: a look of its own costs every answer.
func (x *Exchange) Entered() time.Time {
	switch {
	case x.l == nil:
		return time.Now()
	case x.word == 0 || x.entered < 0:
		return x.l.k.Now()
	}
	return x.l.start.Add(x.entered)
}
