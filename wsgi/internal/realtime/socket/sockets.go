// SPDX-License-Identifier: MIT

package socket

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
)

// Config says what Sockets work with.
type Config struct {
	Hub     *sse.Hub
	Ask     func(loop.Asking) error // asks the application from inside
	Origins []string                // sites whose pages may connect beside the same; "*": all
	Grip    bool                    // openings are offered in the words of GRIP first
	Root    string                  // the root path, which MessagePath lies below
	Log     *slog.Logger
}

// askingMax requests of sockets are with the application or wait for a thread at one
// time. More sockets that have something to ask wait in order, so that a crowd of them
// does not fill the queue that other requests wait in.
const askingMax = 256

// What may wait for the client of a socket, beside what its connection holds. It is more
// than for a stream, since no journal has what a socket misses; a frame that waits for
// many is there once.
const (
	framesMax      = 1024
	framesBytesMax = 4 << 20
)

// Sockets are the WebSockets of one worker. Their methods may be called from any
// goroutine.
type Sockets struct {
	cfg     Config
	options ws.Options
	limits  sse.Limits
	last    atomic.Pointer[message] // the one that was decoded last

	mu     sync.Mutex
	asking int       // guarded by mu
	queue  []*socket // guarded by mu; each at most once

	draining atomic.Bool

	refused atomic.Uint64 // openings
	asked   atomic.Uint64 // requests that the application was asked
	wrong   atomic.Uint64 // answers that said what cannot be done
	busy    atomic.Uint64 // sockets that were closed because the server was full
	slow    atomic.Uint64 // … because the client was slow
}

// New makes the Sockets of a worker.
func New(c Config) *Sockets {
	s := &Sockets{cfg: c, limits: sse.Limits{Frames: framesMax, Bytes: framesBytesMax}}
	s.options.Origins = []string{"*"} // Open has checked it, with the name that a proxy says
	return s
}

// Drain is called when the server drains, before the hub is: what ends from now on
// ends for that.
func (s *Sockets) Drain() { s.draining.Store(true) }

// enter asks for k, now or when others are done.
func (s *Sockets) enter(k *socket) {
	s.mu.Lock()
	if s.asking >= askingMax {
		s.queue = append(s.queue, k)
		s.mu.Unlock()
		return
	}
	s.asking++
	s.mu.Unlock()
	k.ask()
}

// leave ends a request, and lets the one that waits longest begin.
func (s *Sockets) leave() {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.asking--
		s.mu.Unlock()
		return
	}
	k := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.mu.Unlock()
	k.ask()
}
