// SPDX-License-Identifier: MIT

package bus

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// newPair returns a bus that is its own only worker, over sockets.
func newPair(t *testing.T) *Bus {
	t.Helper()
	f := newFleet(t, 1)
	b, err := Open(Config{Page: f.page, Read: f.channels.Read[0], Write: f.channels.Write})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// numbered is a frame whose body says its id all over.
func numbered(id uint64) Frame {
	body := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, id), 40)
	return Frame{ID: id, Channel: "news", Body: body}
}

// The memory of a packet is used again, so one that waits must not be among those.
func TestWhatWaitsStaysWhatItIs(t *testing.T) {
	const more = 100 // frames behind the first that had to wait
	b := newPair(t)
	first := b.CurrentID() + 1
	published, waited := 0, 0
	for ; waited < more; published++ {
		if err := b.Publish(numbered(b.NextID())); err != nil {
			t.Fatal(err)
		}
		if waited > 0 || b.Stats().Channels[0].Queued > 0 {
			waited++
		}
	}
	got := make(chan Frame, published)
	b.Receive(func(f Frame) { got <- f })
	for n := range published {
		id := first + uint64(n)
		if f := <-got; f.ID != id || !bytes.Equal(f.Body, numbered(id).Body) {
			t.Fatalf("frame %d of %d has id %d and body %.16x", id, published, f.ID, f.Body)
		}
	}
}
