// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"fmt"
	"sync/atomic"

	"m0serve.dev/http/loop"
)

// A waker makes a descriptor readable, for a poller that is not ours.
type waker struct {
	fd  int
	set atomic.Bool
}

func newWaker() (*waker, error) {
	fd, err := loop.Notifier()
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return &waker{fd: fd}, nil
}

// wake may be called from anywhere.
func (w *waker) wake() {
	if w.set.CompareAndSwap(false, true) {
		loop.Notify(w.fd)
	}
}

// quiet takes what was set back; a wake from here on is a new one.
func (w *waker) quiet() {
	if w.set.Load() {
		loop.Quiet(w.fd)
		w.set.Store(false)
	}
}
