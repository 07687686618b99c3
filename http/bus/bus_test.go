// SPDX-License-Identifier: MIT

package bus

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// waitMax is how long a test waits for the next thing that must happen.
const waitMax = 5 * time.Second

// collect receives into a channel that holds so many frames.
func collect(t *testing.T, b *Bus, room int) <-chan Frame {
	t.Helper()
	got := make(chan Frame, room)
	b.Receive(func(f Frame) { got <- f })
	t.Cleanup(b.Close)
	return got
}

func await(t *testing.T, got <-chan Frame) Frame {
	t.Helper()
	select {
	case f := <-got:
		return f
	case <-time.After(waitMax):
		t.Fatal("no frame arrived")
		return Frame{}
	}
}

func mustPublish(t *testing.T, b *Bus, f Frame) {
	t.Helper()
	if err := b.Publish(f); err != nil {
		t.Fatalf("Publish(id %d, %d bytes) = %v, want nil", f.ID, len(f.Body), err)
	}
}

func TestLocal(t *testing.T) {
	b := Local()
	got := collect(t, b, 16)
	for range 3 {
		f := Frame{ID: b.NextID(), Channel: "news", Kind: "added", Body: []byte("x")}
		mustPublish(t, b, f)
		r := await(t, got)
		if r.ID != f.ID || r.Channel != "news" || r.Kind != "added" || string(r.Body) != "x" {
			t.Fatalf("received %+v, want %+v", r, f)
		}
		if r.Origin != 0 {
			t.Fatalf("origin = %d, want 0", r.Origin)
		}
	}
	b.Close()
	if err := b.Publish(Frame{Channel: "news"}); !errors.Is(err, ErrClosed) {
		t.Fatalf("Publish after Close = %v, want ErrClosed", err)
	}
}

// A frame waits for a lower id for the window and no longer, and a frame
// without a gap does not wait at all.
func TestLocalWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Local()
		got := collect(t, b, 16)
		start := time.Now()
		one, two, three := b.NextID(), b.NextID(), b.NextID()
		publish := func(id uint64) { mustPublish(t, b, Frame{ID: id, Channel: "c"}) }

		publish(two)
		synctest.Wait()
		if held := b.Stats().Held; held != 1 || len(got) != 0 {
			t.Fatalf("before the gap closes: held %d, delivered %d, want 1 and 0", held, len(got))
		}
		publish(one)
		for _, want := range []uint64{one, two} {
			if f := await(t, got); f.ID != want {
				t.Fatalf("received id %d, want %d", f.ID, want)
			}
		}
		publish(three)
		await(t, got)
		if waited := time.Since(start); waited != 0 {
			t.Fatalf("frames without a gap took %v, want no time", waited)
		}

		b.NextID() // never published
		publish(b.NextID())
		await(t, got)
		if waited := time.Since(start); waited != windowDefault {
			t.Fatalf("a frame behind a gap took %v, want %v", waited, windowDefault)
		}
	})
}

// A consumer that is too slow costs memory up to the bounds, then frames.
func TestLocalBounded(t *testing.T) {
	const size = 1000
	b := newLocal(Config{QueueBytes: 20 * (size + packetCost), QueueFrames: 10})
	defer b.Close()
	published, refused := 0, 0
	for range 100 {
		err := b.Publish(Frame{Channel: "c", Body: make([]byte, size)})
		var drop *RefusedError
		switch {
		case err == nil:
			published++
		case errors.As(err, &drop) && errors.Is(err, ErrRefused):
			refused++
			if len(drop.Channels) != 1 || drop.Channels[0] != 0 {
				t.Fatalf("Publish = channels %v, want [0]", drop.Channels)
			}
		default:
			t.Fatalf("Publish = %v, want nil or RefusedError", err)
		}
	}
	if published != 30 || refused != 70 {
		t.Fatalf("published %d, refused %d; want 20 in the channel + 10 queued, 70 refused",
			published, refused)
	}
	if drops := b.Page().Worker(0).Drops(); drops != 70 {
		t.Fatalf("Drops() = %d, want 70", drops)
	}
	got := collect(t, b, 100)
	for range published {
		await(t, got)
	}
	mustPublish(t, b, Frame{Channel: "c"})
	await(t, got)
}

func TestTooLarge(t *testing.T) {
	b := Local()
	got := collect(t, b, 4)
	err := b.Publish(Frame{Channel: "c", Body: make([]byte, MaxBody+1)})
	if !errors.Is(err, ErrTooLarge) {
		t.Fatalf("Publish(%d bytes) = %v, want ErrTooLarge", MaxBody+1, err)
	}
	if s := b.Stats(); s.TooLarge != 1 || s.Published != 0 {
		t.Fatalf("Stats() = %+v, want TooLarge 1, Published 0", s)
	}
	body := bytes.Repeat([]byte("m"), MaxBody)
	mustPublish(t, b, Frame{Channel: "c", Body: body})
	if f := await(t, got); !bytes.Equal(f.Body, body) {
		t.Fatalf("received %d bytes, want %d intact", len(f.Body), len(body))
	}
}

// Server-internal frames go to one worker, outside the order.
func TestSendTo(t *testing.T) {
	b := Local()
	got := collect(t, b, 4)
	b.NextID()
	if err := b.SendTo(0, Frame{ID: b.NextID(), Channel: "\x01ask"}); err != nil {
		t.Fatalf("SendTo(0) = %v, want nil", err)
	}
	if f := await(t, got); f.Channel != "\x01ask" {
		t.Fatalf("received %+v, want \\x01ask", f)
	}
	if err := b.SendTo(0, Frame{Channel: "news"}); !errors.Is(err, ErrName) {
		t.Fatalf("SendTo(news) = %v, want ErrName", err)
	}
	if err := b.SendTo(1, Frame{Channel: "\x01ask"}); err == nil {
		t.Fatal("SendTo(1) of one channel = nil, want an error")
	}
}

// What the server says to every worker is in order with what is published.
func TestBroadcastInOrder(t *testing.T) {
	b := Local()
	got := collect(t, b, 4)
	first, second := b.NextID(), b.NextID()
	if err := b.Broadcast(Frame{ID: second, Channel: "\x01all"}); err != nil {
		t.Fatalf("Broadcast = %v, want nil", err)
	}
	mustPublish(t, b, Frame{ID: first, Channel: "news"})
	for _, want := range []uint64{first, second} {
		if f := await(t, got); f.ID != want {
			t.Fatalf("received %d, want %d", f.ID, want)
		}
	}
	if err := b.Broadcast(Frame{Channel: "news"}); !errors.Is(err, ErrName) {
		t.Fatalf("Broadcast(news) = %v, want ErrName", err)
	}
}

func TestReceiveTwice(t *testing.T) {
	b := Local()
	collect(t, b, 1)
	defer func() {
		if recover() == nil {
			t.Fatal("a second Receive returned, want a panic")
		}
	}()
	b.Receive(func(Frame) {})
}
