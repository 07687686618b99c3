// SPDX-License-Identifier: MIT

package loop

import (
	"testing"
	"unsafe"
)

// TestHeldIsSmall: what the loop keeps of a stream fills two size classes of memory, and
// a conversation's part is none of it.
func TestHeldIsSmall(t *testing.T) {
	const connMax, heldMax = 256, 64
	if size := unsafe.Sizeof(conn{}); size > connMax {
		t.Errorf("a connection has %d bytes; want at most %d, a size class", size, connMax)
	}
	if size := unsafe.Sizeof(heldConn{}); size > heldMax {
		t.Errorf("a held one has %d bytes more; want at most %d, a size class", size, heldMax)
	}
	if h := newHeld(nil, sourceFunc(nil)); h.talk != nil {
		t.Errorf("a stream that is no conversation has the memory of one: %+v", h.talk)
	}
}
