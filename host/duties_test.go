// SPDX-License-Identifier: MIT

package host

import "testing"

// TestTickIsHandedOver: a tick runs from the moment the duties are this
// process's until they end, and their end waits for one that runs.
func TestTickIsHandedOver(t *testing.T) {
	mine := make(chan struct{})
	d := duties{mine: mine}
	ticks := 0
	tick := d.tick(func() {
		ticks++
		if d.mu.TryLock() {
			t.Error("the duties could end while a tick runs")
			d.mu.Unlock()
		}
	})
	tick()
	if ticks != 0 || d.begun() {
		t.Errorf("%d ticks, begun %v before the duties were handed over", ticks, d.begun())
	}
	close(mine)
	tick()
	if ticks != 1 || !d.begun() {
		t.Errorf("%d ticks, begun %v once they were; want 1, true", ticks, d.begun())
	}
	d.end()
	tick()
	if ticks != 1 {
		t.Errorf("%d ticks of the old worker, want 1", ticks)
	}
}
