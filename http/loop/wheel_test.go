// SPDX-License-Identifier: MIT

package loop

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestWheelAgainstAList plays random deadlines against the obvious list.
func TestWheelAgainstAList(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(1, seed))
		var w wheel
		conns := make([]*conn, 200)
		for i := range conns {
			conns[i] = &conn{fd: int32(i)}
		}
		now := time.Duration(0)
		want := make([]time.Duration, len(conns))
		for step := range 3000 {
			i := rng.IntN(len(conns))
			switch rng.IntN(8) {
			case 0:
				w.set(conns[i], 0)
				want[i] = 0
			case 1:
				w.remove(conns[i])
				conns[i].deadline, want[i] = 0, 0
			case 2, 3:
				want[i] = now + 1 + time.Duration(rng.Int64N(int64(40*time.Second)))
				w.set(conns[i], want[i])
			default:
				want[i] = now + 1 + time.Duration(rng.Int64N(int64(300*time.Millisecond)))
				w.set(conns[i], want[i])
			}
			next := w.next(now)
			for _, at := range want {
				if at != 0 && at < now && now-at > 2*wheelTick {
					t.Fatalf("seed %d step %d: a deadline of %v is still there at %v", seed, step, at, now)
				}
				if at > now && (next < 0 || now+next > at+2*wheelTick) {
					t.Fatalf("seed %d step %d: next = %v at %v, want to wake for %v", seed, step, next, now, at)
				}
			}
			if rng.IntN(400) == 0 {
				now += time.Duration(rng.Int64N(int64(60 * time.Second))) // the clock jumps
			} else if next >= 0 {
				now += time.Duration(rng.Int64N(int64(next) + int64(20*time.Millisecond)))
			}
			w.advance(now, func(c *conn) {
				if at := want[c.fd]; at == 0 || at > now {
					t.Fatalf("seed %d step %d: fired at %v, want at %v", seed, step, now, at)
				}
				want[c.fd] = 0
			})
		}
	}
}

func TestEmptyWheelWaitsForEver(t *testing.T) {
	var w wheel
	if got := w.next(time.Hour); got != -1 {
		t.Errorf("next of an empty wheel = %v, want -1", got)
	}
	c := &conn{}
	w.advance(time.Hour, nil)
	w.set(c, time.Hour+time.Second)
	w.remove(c)
	if got := w.next(time.Hour); got != -1 {
		t.Errorf("next behind the last removal = %v, want -1", got)
	}
}
