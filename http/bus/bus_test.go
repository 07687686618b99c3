// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"testing"
	"time"
)

const waitMax = 20 * time.Second

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

func TestLocal(t *testing.T) {
	b := Local()
	got := collect(t, b, 16)
	for range 3 {
		f := Frame{ID: b.NextID(), Channel: "news", Kind: "added", Body: []byte("x")}
		if err := b.Publish(f); err != nil {
			t.Fatalf("Publish(%v) = %v, want nil", f, err)
		}
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

// opened returns the buses of n workers in this process, over real sockets.
func opened(t *testing.T, n int, change func(i int, c *Config)) []*Bus {
	t.Helper()
	page, fd, err := NewPage(n)
	if err != nil {
		t.Fatalf("NewPage(%d) = %v", n, err)
	}
	channels, err := NewChannels(n)
	if err != nil {
		t.Fatalf("NewChannels(%d) = %v", n, err)
	}
	t.Cleanup(func() { closeAll(t, fd, channels) })
	var buses []*Bus
	for i := range n {
		c := Config{Page: page, Read: channels.Read[i], Write: channels.Write, Index: i}
		if change != nil {
			change(i, &c)
		}
		b, err := Open(c)
		if err != nil {
			t.Fatalf("Open(worker %d) = %v", i, err)
		}
		t.Cleanup(b.Close)
		buses = append(buses, b)
	}
	return buses
}

func TestOpen(t *testing.T) {
	buses := opened(t, 2, nil)
	got := []<-chan Frame{collect(t, buses[0], 16), collect(t, buses[1], 16)}
	for from, b := range buses {
		f := Frame{ID: b.NextID(), Channel: "news", Kind: "added", Body: []byte("x")}
		if err := b.Publish(f); err != nil {
			t.Fatalf("Publish from %d = %v", from, err)
		}
		for to := range got {
			if r := await(t, got[to]); r.ID != f.ID || r.Origin != uint32(from) {
				t.Fatalf("worker %d received %+v, want id %d from %d", to, r, f.ID, from)
			}
		}
	}
}
