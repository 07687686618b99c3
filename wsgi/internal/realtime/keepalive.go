// SPDX-License-Identifier: MIT

package realtime

import (
	"bytes"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// jitterMax is how much earlier than asked a keep-alive comes, lest those of streams
// that began together come together.
const jitterMax = time.Second

// A keepAlive sends what an application wants sent into a stream where nothing else
// is, or now and then.
type keepAlive struct {
	st       *stream
	frame    *sse.Frame
	every    time.Duration
	interval bool
	sleeper  clock.Sleeper
}

func newKeepAlive(st *stream, k grip.KeepAlive) *keepAlive {
	ka := &keepAlive{st: st, frame: st.s.alive.frame(k.Content), every: k.Timeout,
		interval: k.Interval}
	ka.sleeper.Waker = ka
	return ka
}

func (k *keepAlive) start() { k.from(time.Now()) }

// from sets the next one, counted from a moment.
func (k *keepAlive) from(began time.Time) {
	early := rand.N(min(jitterMax, k.every/2))
	k.st.s.clock.Set(&k.sleeper, began.Add(k.every-early))
}

// Wake is the clock's. A stream in which something was sent meanwhile is looked at
// again when that is old enough: nothing is set again for each frame.
func (k *keepAlive) Wake(now time.Time) {
	quiet, _ := k.st.sent.Since(now)
	if !k.interval && quiet < k.every-jitterMax {
		k.from(now.Add(-quiet))
		return
	}
	if k.st.push(k) {
		k.from(now)
	}
}

// replace makes what a later answer says the keep-alive of st, whose mu is held. k is
// the one before, or nil.
func (k *keepAlive) replace(st *stream, with grip.KeepAlive) {
	if k != nil {
		k.stop()
	}
	st.keep = newKeepAlive(st, with)
	st.keep.start()
}

func (k *keepAlive) stop() { k.st.s.clock.Stop(&k.sleeper) }

// A sameFrame makes a frame for all that want the same bytes one after the other.
type sameFrame struct{ last atomic.Pointer[sse.Frame] }

func (s *sameFrame) frame(content []byte) *sse.Frame {
	if f := s.last.Load(); f != nil && bytes.Equal(f.Body(), content) {
		return f
	}
	f := sse.NewFrame(0, "", "", content)
	s.last.Store(f)
	return f
}

// push sends a keep-alive, if it still is that of the stream, which goes on then.
func (st *stream) push(k *keepAlive) bool {
	st.mu.Lock()
	slot, over := st.slot, st.over || st.keep != k
	st.mu.Unlock()
	return slot != nil && !over && slot.Push(k.frame)
}
