// SPDX-License-Identifier: MIT

package loop

import (
	"testing"
	"time"
)

func TestTurnBucket(t *testing.T) {
	for i := range TurnBuckets - 1 {
		for _, c := range []struct {
			took time.Duration
			want int
		}{{TurnBound(i), i}, {TurnBound(i) + 1, i + 1}} {
			if got := turnBucket(c.took); got != c.want {
				t.Errorf("turnBucket(%v) = %d; want %d", c.took, got, c.want)
			}
		}
	}
	if got := turnBucket(0); got != 0 {
		t.Errorf("turnBucket(0) = %d; want 0", got)
	}
	if got := turnBucket(time.Hour); got != TurnBuckets-1 {
		t.Errorf("turnBucket(1h) = %d; want the last, %d", got, TurnBuckets-1)
	}
}

// TestTurnsAreSampled: every 16th turn is in a bucket, with its time; what waited for a
// core is told apart.
func TestTurnsAreSampled(t *testing.T) {
	k := newSimKernel(1)
	l := &Loop{k: k, start: k.Now()}
	const turns = 40
	const turn, worked = 3 * time.Millisecond, 200 * time.Microsecond
	for range turns {
		l.polled(0, nil)
		k.now += turn
		k.others += turn - worked
		l.publish()
	}
	g := &Group{loops: []*Loop{l}}
	got := g.Stats().Turns
	want := TurnTimes{Total: turns / turnsSampled * turn}
	want.Buckets[turnBucket(turn)] = turns / turnsSampled
	want.Worked[turnBucket(worked)] = turns / turnsSampled
	if got != want {
		t.Errorf("%d turns of %v, of which %v worked, are %+v; want %+v", turns, turn, worked, got, want)
	}
}
