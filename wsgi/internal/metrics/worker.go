// SPDX-License-Identifier: MIT

package metrics

import (
	"cmp"
	"slices"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/internal/accesslog"
	"m0serve.dev/wsgi/internal/forwarded"
	"m0serve.dev/wsgi/internal/realtime"
	"m0serve.dev/wsgi/internal/realtime/socket"
	"m0serve.dev/wsgi/pglisten"
)

// A Worker is the figures of one worker. A part that a worker does not have is
// nil.
type Worker struct {
	Index     int
	Version   string // of m0serve
	Python    string // version of the interpreter
	Interface string // "wsgi" or "asgi"

	Server    loop.Stats
	Durations [classes]Histogram
	Hub       *sse.HubStats
	Publish   *publish.Stats
	AccessLog *accesslog.Stats
	Fields    *forwarded.Stats
	Process   *Process

	Held          *realtime.Stats
	Sockets       *socket.Stats
	Postgres      *pglisten.Stats // of the one worker that listens
	PublishHTTP   *publish.HTTPStats
	Subscriptions int // of an ASGI application
}

// Merge puts the figures of several workers together, in order of their index.
// Of two with one index, an old worker and its successor, the younger process
// counts, and the later in the list when that cannot be told.
func Merge(lists ...[]Worker) []Worker {
	all := slices.Concat(lists...)
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(b.started(), a.started()))
	})
	return slices.CompactFunc(all, func(a, b Worker) bool { return a.Index == b.Index })
}

func (w *Worker) started() float64 {
	if w.Process == nil {
		return 0
	}
	return w.Process.Started
}
