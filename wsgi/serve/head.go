// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"strings"

	"m0serve.dev/http/loop"
	engine "m0serve.dev/wsgi/internal/python"
)

// A lastHead is the head of a seat's last ordinary answer. Many answers of an application
// have the same one, which is then neither taken apart nor put together again.
type lastHead struct {
	status int // 0: none
	reason string
	fields []byte // as the application gave them
	head   loop.Head
}

// lastHeadMax is how long the fields of a head may be that is kept.
const lastHeadMax = 4 << 10

// is reports whether h is the same.
func (l *lastHead) is(h engine.Head) bool {
	return l.status == h.Status() && string(l.fields) == string(h.Packed()) &&
		l.reason == h.Reason()
}

// keep keeps h, of which x was told.
func (l *lastHead) keep(h engine.Head, x *loop.Exchange) {
	l.status = 0
	packed := h.Packed()
	if len(packed) > lastHeadMax || !x.KeepHead(&l.head) {
		return
	}
	l.status, l.fields = h.Status(), append(l.fields[:0], packed...)
	if reason := h.Reason(); l.reason != reason {
		l.reason = strings.Clone(reason)
	}
}
