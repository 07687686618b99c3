// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/internal/sys"
)

// scripted is a channel whose answers the test gives.
type scripted struct {
	mu     sync.Mutex
	answer func() error // nil: takes everything
	took   []int        // body lengths, in order
	tries  int
}

func (s *scripted) send(p *packet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.answer != nil {
		if err := s.answer(); err != nil {
			return err
		}
	}
	s.took = append(s.took, p.body)
	return nil
}

// wait claims at once that there is room, as poll may.
func (s *scripted) wait(time.Duration) bool { return true }

func (s *scripted) seen() (took []int, tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.took), s.tries
}

func (s *scripted) answers(answer func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// newScripted returns a bus whose only channel is s.
func newScripted(s *scripted, log *slog.Logger, frames int) *Bus {
	c := Config{Log: log, QueueFrames: frames}
	b := newBus(&c, localPage())
	b.local = true
	b.addOutlet(&c, s)
	b.page.Worker(0).SetState(Ready)
	return b
}

func publishSized(b *Bus, size int) error {
	return b.Publish(Frame{Channel: "c", Body: make([]byte, size)})
}

// Whatever the channel answers, frames keep their order and each is sent,
// queued or counted as dropped.
func TestOutletLedger(t *testing.T) {
	broken := errors.New("broken")
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			answers := []error{nil, nil, sys.ErrBusFull, sys.ErrBusFull, sys.ErrBusShort, broken}
			pick := rand.New(rand.NewPCG(seed, 3)) // owned by the channel
			s := &scripted{answer: func() error { return answers[pick.IntN(len(answers))] }}
			b := newScripted(s, nil, 20)
			const frames = 500
			for size := range frames {
				err := publishSized(b, size)
				if err != nil && !errors.Is(err, ErrRefused) {
					t.Fatalf("seed %d: Publish = %v, want nil or ErrRefused", seed, err)
				}
				time.Sleep(time.Duration(rnd.IntN(3)) * time.Millisecond)
			}
			s.answers(nil)
			time.Sleep(time.Minute)
			c := b.Stats().Channels[0]
			if c.Queued != 0 || c.QueuedBytes != 0 {
				t.Fatalf("seed %d: %d frames (%d bytes) still queued",
					seed, c.Queued, c.QueuedBytes)
			}
			took, _ := s.seen()
			if int(c.Sent+c.Dropped) != frames || int(c.Sent) != len(took) {
				t.Fatalf("seed %d: sent %d + dropped %d of %d, channel took %d",
					seed, c.Sent, c.Dropped, frames, len(took))
			}
			if drops := b.page.Worker(0).Drops(); drops != c.Dropped || drops == 0 {
				t.Fatalf("seed %d: Drops() = %d, want %d and some", seed, drops, c.Dropped)
			}
			if !slices.IsSorted(took) {
				t.Fatalf("seed %d: frames left their order", seed)
			}
			b.Close()
		})
	}
}

// A stopped peer costs its queue and a few tries a second, even when the
// kernel claims room; the publisher never waits.
func TestOutletStopped(t *testing.T) {
	for _, full := range []error{sys.ErrBusFull, sys.ErrBusShort} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{answer: func() error { return full }}
			var log strings.Builder
			b := newScripted(s, slog.New(slog.NewTextHandler(&log, nil)), 20)
			start := time.Now()
			refused := 0
			for range 100 {
				if publishSized(b, 1) != nil {
					refused++
				}
			}
			if refused != 80 || time.Since(start) != 0 {
				t.Fatalf("%v: %d of 100 refused after %v; want 80 and no time",
					full, refused, time.Since(start))
			}
			time.Sleep(time.Second)
			if _, tries := s.seen(); tries > 50 {
				t.Fatalf("%v: %d tries in a second, want at most 50", full, tries)
			}
			s.answers(nil)
			time.Sleep(2 * retryMax)
			if took, _ := s.seen(); len(took) != 20 {
				t.Fatalf("%v: %d frames after the peer went on, want 20", full, len(took))
			}
			b.Close()
			if n := strings.Count(log.String(), "drops frames"); n != 1 {
				t.Errorf("%v: the begin of the drops was logged %d times, want 1", full, n)
			}
			if n := strings.Count(log.String(), "dropped=80"); n != 1 {
				t.Errorf("%v: the end of the drops was logged %d times, want 1", full, n)
			}
		})
	}
}

// Close gives what is queued a last try, counts the rest and leaves nothing.
func TestOutletClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func() error { return sys.ErrBusShort }}
		b := newScripted(s, nil, 20)
		for range 10 {
			if err := publishSized(b, 1); err != nil {
				t.Fatalf("Publish = %v, want it queued", err)
			}
		}
		room := 4
		s.answers(func() error {
			if room == 0 {
				return sys.ErrBusShort
			}
			room--
			return nil
		})
		b.Close()
		c := b.Stats().Channels[0]
		if c.Sent != 4 || c.Dropped != 6 || c.Queued != 0 {
			t.Fatalf("after Close: %+v, want 4 sent, 6 dropped", c)
		}
	})
}

// A vacant line gets nothing and costs nothing.
func TestOutletVacant(t *testing.T) {
	s := &scripted{}
	b := newScripted(s, nil, 20)
	defer b.Close()
	b.page.Worker(0).SetState(Vacant)
	if err := publishSized(b, 1); err != nil || len(s.took) != 0 {
		t.Fatalf("Publish = %v, channel took %d; want nil and 0", err, len(s.took))
	}
	if err := b.SendTo(0, Frame{Channel: "\x01"}); !errors.Is(err, ErrRefused) {
		t.Fatalf("SendTo a vacant channel = %v, want ErrRefused", err)
	}
	b.page.Worker(0).SetState(Starting)
	if err := publishSized(b, 1); err != nil || len(s.took) != 1 {
		t.Fatalf("Publish = %v, channel took %d; want nil and 1", err, len(s.took))
	}
}

// What waits for a worker that is given up is let go, and its tries end.
func TestOutletGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func() error { return sys.ErrBusFull }}
		b := newScripted(s, nil, 20)
		defer b.Close()
		for range 10 {
			if err := publishSized(b, 1); err != nil {
				t.Fatalf("Publish = %v, want it queued", err)
			}
		}
		b.page.Worker(0).SetState(Vacant)
		time.Sleep(time.Second)
		_, before := s.seen()
		time.Sleep(time.Minute)
		_, after := s.seen()
		if c := b.Stats().Channels[0]; c.Queued != 0 || c.Dropped != 0 || after != before {
			t.Fatalf("given up: %+v and %d tries in a minute, want nothing queued, lost, tried",
				c, after-before)
		}
	})
}

// A channel that is gone for good is one line in the log, not one a frame.
func TestOutletBroken(t *testing.T) {
	s := &scripted{answer: func() error { return errors.New("gone") }}
	var log strings.Builder
	b := newScripted(s, slog.New(slog.NewTextHandler(&log, nil)), 20)
	defer b.Close()
	for range 100 {
		if err := publishSized(b, 1); !errors.Is(err, ErrRefused) {
			t.Fatalf("Publish = %v, want ErrRefused", err)
		}
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "cause=gone") {
		t.Fatalf("logged %q, want one line with the cause", text)
	}
	s.answers(nil)
	if err := publishSized(b, 1); err != nil {
		t.Fatalf("Publish = %v, want nil", err)
	}
	if n := strings.Count(log.String(), "dropped=100"); n != 1 {
		t.Fatalf("logged %q, want the end of the drops", log.String())
	}
}

// TestFlushQueueSaysWhatMoved: a queue that moves is asked again soon, one that does not
// is left alone for longer.
func TestFlushQueueSaysWhatMoved(t *testing.T) {
	room := 2
	s := &scripted{answer: func() error {
		if room--; room < 0 {
			return sys.ErrBusFull
		}
		return nil
	}}
	o := newScripted(s, nil, 10).outs[0]
	for range 3 {
		p := newLocalPacket(&Frame{Channel: "c"})
		o.queue, o.bytes = append(o.queue, p), o.bytes+p.cost
	}
	for i, want := range []int{2, 0} {
		if moved, err := o.flushQueue(); moved != want || err != sys.ErrBusFull {
			t.Errorf("call %d: moved %d, %v; want %d, and full", i, moved, err, want)
		}
	}
	room = 1
	if moved, err := o.flushQueue(); moved != 1 || err != nil || o.bytes != 0 {
		t.Errorf("the last: moved %d, %v, %d bytes left; want 1, nil, 0", moved, err, o.bytes)
	}
	o.queue = append(o.queue, newLocalPacket(&Frame{Channel: "c"}))
	room = 1
	o.finish()
	if s := o.stats(); s.Sent != 4 || s.Retried != 4 || s.Dropped != 0 || s.Queued != 0 {
		t.Errorf("at the end %+v; want 4 sent, out of the queue", s)
	}
}

// TestSpellsAreLoggedNowAndThen: of two spells within ten seconds only the first is logged,
// its end included.
func TestSpellsAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s := &scripted{}
		b := newScripted(s, slog.New(slog.NewTextHandler(&said, nil)), 10)
		defer b.Close()
		for i, want := range []int{1, 1, 2, 2} { // at 0, 5, 10 and 15 seconds
			s.answers(func() error { return errors.New("gone") })
			if err := publishSized(b, 1); !errors.Is(err, ErrRefused) {
				t.Errorf("spell %d: %v, want the frame refused", i, err)
			}
			s.answers(nil)
			if err := publishSized(b, 1); err != nil {
				t.Errorf("spell %d: %v behind its end", i, err)
			}
			begun := strings.Count(said.String(), "drops frames")
			ended := strings.Count(said.String(), "flows again")
			if begun != want || ended != want {
				t.Errorf("spell %d: %d begun, %d ended in the log; want %d", i, begun, ended, want)
			}
			time.Sleep(quietFor / 2)
		}
	})
}
