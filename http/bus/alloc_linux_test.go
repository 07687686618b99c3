// SPDX-License-Identifier: MIT

//go:build !race

package bus

import "testing"

// TestFramesAllocateTheirBodyAlone counts both ends; the body is the receiver's to keep.
func TestFramesAllocateTheirBodyAlone(t *testing.T) {
	b := newPair(t)
	b.order.emit = func(Frame) {}
	body := make([]byte, 300)
	got := testing.AllocsPerRun(1000, func() {
		err := b.Publish(Frame{ID: b.NextID(), Channel: "news", Body: body})
		if err != nil {
			t.Fatal(err)
		}
		f, err := b.next()
		if err != nil {
			t.Fatal(err)
		}
		b.take(f)
	})
	if got != 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
