// SPDX-License-Identifier: MIT

package bus

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/internal/sys"
)

// Large bodies that wait in one channel are bounded over all publishers.
func TestLargeBounded(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	open := func(read int) *Bus {
		b, err := Open(Config{
			Page: page, Read: read, Write: channels.Write,
			LargeBytes: 2 * MaxBody, QueueBytes: MaxBody + packetCost,
		})
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		t.Cleanup(b.Close)
		return b
	}
	reader, other := open(channels.Read[0]), open(-1)
	body := bytes.Repeat([]byte("l"), MaxBody)
	for i, b := range []*Bus{reader, other, reader, other, reader, other} {
		err := b.Publish(Frame{Channel: "c", Body: body})
		// Two in the channel, one in the queue of each publisher.
		if got, want := errors.Is(err, ErrRefused), i >= 4; got != want {
			t.Fatalf("large frame %d: Publish = %v, want refused %v", i, err, want)
		}
	}
	got := collect(t, reader, 8)
	for range 4 {
		if f := await(t, got); !bytes.Equal(f.Body, body) {
			t.Fatalf("a large frame of %d bytes arrived changed", len(f.Body))
		}
	}
	mustPublish(t, other, Frame{Channel: "c", Body: body})
	await(t, got)
	if !page.Worker(0).takeLarge(2*MaxBody, 2*MaxBody) {
		t.Error("after all is read the channel still counts large bodies")
	}
}

// A channel that changes hands has nothing left in it, large bodies included.
func TestDiscardEmptiesAChannel(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	page.Worker(0).SetState(Starting)
	before := ownDescriptors(t)
	writer, err := Open(Config{Page: page, Read: -1, Write: channels.Write})
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, writer, Frame{Channel: "c", Body: []byte("small")})
	mustPublish(t, writer, Frame{Channel: "c", Body: bytes.Repeat([]byte("l"), inlineBody+1)})
	writer.Close()
	if got := channels.Discard(0); got != 2 {
		t.Errorf("Discard = %d, want 2", got)
	}
	if got := channels.Discard(0); got != 0 {
		t.Errorf("Discard again = %d, want 0", got)
	}
	if after := ownDescriptors(t); after != before {
		t.Errorf("%d descriptors after it, %d before", after, before)
	}
}

// What is no frame is counted and passed over.
func TestDamagedDatagrams(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	large, err := newPacket(sys.SystemBus{}, &Frame{Channel: "c", Body: make([]byte, inlineBody+1)})
	if err != nil {
		t.Fatal(err)
	}
	short, err := newPacket(sys.SystemBus{}, &Frame{Channel: "c", Body: make([]byte, inlineBody+2)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(Config{Page: page, Read: channels.Read[0], Write: channels.Write})
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	send := func(data []byte, pass int) {
		t.Helper()
		if err := sys.BusSend(channels.Write[0], data, pass); err != nil {
			t.Fatalf("send %d bytes: %v", len(data), err)
		}
	}
	send(nil, -1)
	send([]byte("no frame"), -1)
	send(make([]byte, datagramBytes+1), -1)
	send(large.data, -1)                 // no descriptor
	send(large.data, short.large.fd)     // another size
	send(large.data, int(os.Stdin.Fd())) // no sealed file
	inline := appendFrame(nil, &Frame{Channel: "c"}, false)
	send(inline, large.large.fd) // a descriptor too many
	before := ownDescriptors(t)
	got := collect(t, b, 8)
	mustPublish(t, b, Frame{Channel: "c", Kind: "good"})
	if f := await(t, got); f.Kind != "good" {
		t.Errorf("received %+v, want the good frame alone", f)
	}
	if n := b.Stats().Damaged; n != 7 {
		t.Errorf("Stats().Damaged = %d, want 7", n)
	}
	if after := ownDescriptors(t); after != before {
		t.Errorf("%d descriptors afterwards, want %d", after, before)
	}
	large.release()
	short.release()
}

func ownDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Descriptors that are no channels are refused before anything is done.
func TestOpenRefuses(t *testing.T) {
	page, pageFD := newTestPage(t, 2)
	channels, err := NewChannels(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	r, w := channels.Read, channels.Write
	for _, tc := range []struct {
		what string
		c    Config
	}{
		{"nothing", Config{}},
		{"no channel", Config{Page: page, Read: r[0]}},
		{"more channels than lines", Config{Page: page, Read: r[0], Write: append(w[:2:2], w[0])}},
		{"a write end that is a page", Config{Page: page, Read: r[0], Write: []int{w[0], pageFD}}},
		{"a closed write end", Config{Page: page, Read: r[0], Write: []int{w[0], 1 << 20}}},
		{"a read end that is a page", Config{Page: page, Read: pageFD, Write: w}},
		{"an index beyond the channels", Config{Page: page, Read: r[0], Write: w, Index: 2}},
		{"a negative index", Config{Page: page, Read: r[0], Write: w, Index: -1}},
	} {
		if b, err := Open(tc.c); err == nil {
			b.Close()
			t.Errorf("Open(%s) = nil, want an error", tc.what)
		}
	}
	if s := page.Worker(0).State(); s != Vacant {
		t.Errorf("a refused Open left the line %v, want vacant", s)
	}
}

// The descriptors stay their owner's, whatever becomes of the bus.
func TestDescriptorsStay(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Page: page, Read: channels.Read[0], Write: channels.Write}
	for range 3 {
		b, err := Open(c)
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		got := collect(t, b, 1)
		mustPublish(t, b, Frame{ID: b.NextID(), Channel: "c"})
		await(t, got)
		b.Close()
	}
	if err := channels.Close(); err != nil {
		t.Fatalf("Channels.Close() after three buses = %v, want the descriptors still open", err)
	}
}

// Goroutines of two processes' worth of buses publish at once.
func TestConcurrentPublishers(t *testing.T) {
	const goroutines, each = 4, 500
	page, _ := newTestPage(t, 2)
	channels, err := NewChannels(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	var buses []*Bus
	var got []<-chan Frame
	for i := range 2 {
		b, err := Open(Config{
			Page: page, Read: channels.Read[i], Write: channels.Write, Index: i,
			Window: time.Minute,
		})
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		buses = append(buses, b)
		got = append(got, collect(t, b, 2*goroutines*each))
	}
	base := page.CurrentID()
	for _, b := range buses {
		for range goroutines {
			go func() {
				for range each {
					if err := b.Publish(Frame{ID: b.NextID(), Channel: "c"}); err != nil {
						t.Errorf("Publish = %v", err)
					}
					_ = b.Stats()
				}
			}()
		}
	}
	for i := range got {
		for n := range 2 * goroutines * each {
			if f := await(t, got[i]); f.ID != base+uint64(n)+1 {
				t.Fatalf("worker %d: frame %d has id %d, want %d", i, n, f.ID, base+uint64(n)+1)
			}
		}
	}
}

// The backlog ends where frames begin that were published to this worker, even
// when both wait in its channel; the server's own frames belong to either.
func TestBacklogEndsAtNewFrames(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	page.Worker(0).SetState(Starting)
	sibling, err := Open(Config{Page: page, Read: -1, Write: channels.Write})
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	defer sibling.Close()
	publish := func() uint64 {
		id := sibling.NextID()
		mustPublish(t, sibling, Frame{ID: id, Channel: "c"})
		return id
	}
	old := []uint64{publish(), publish()}
	b, err := Open(Config{Page: page, Read: channels.Read[0], Write: channels.Write})
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	fresh := []uint64{publish(), publish()}

	var backlog []uint64
	n := b.Backlog(func(f Frame) { backlog = append(backlog, f.ID) })
	if n != 2 || !slices.Equal(backlog, old) {
		t.Errorf("Backlog = %d, ids %v; want 2, %v", n, backlog, old)
	}
	got := collect(t, b, 4)
	for _, want := range fresh {
		if f := await(t, got); f.ID != want {
			t.Errorf("received id %d, want %d", f.ID, want)
		}
	}
	if late := b.Stats().Late; late != 0 {
		t.Errorf("Stats().Late = %d, want 0", late)
	}
}

// The mode of a socket is shared by all who inherited it: somebody may have
// made it blocking.
func TestBlockingDescriptor(t *testing.T) {
	page, _ := newTestPage(t, 1)
	channels, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = channels.Close() }()
	b, err := Open(Config{
		Page: page, Read: channels.Read[0], Write: channels.Write, QueueFrames: 10,
	})
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	for _, fd := range []int{channels.Read[0], channels.Write[0]} {
		if err := syscall.SetNonblock(fd, false); err != nil {
			t.Fatal(err)
		}
	}
	refused := make(chan struct{})
	go func() {
		for b.Publish(Frame{Channel: "c", Body: make([]byte, inlineBody)}) == nil {
		}
		close(refused)
	}()
	select {
	case <-refused:
	case <-time.After(waitMax):
		t.Fatal("Publish waits for a channel that nobody reads, want it refused")
	}
	got := collect(t, b, 1<<14)
	await(t, got)
}

func TestNewChannelsRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, MaxWorkers + 1} {
		if c, err := NewChannels(n); err == nil {
			t.Errorf("NewChannels(%d) made %d, want an error", n, len(c.Read))
			_ = c.Close()
		}
	}
	c, err := NewChannels(1)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
