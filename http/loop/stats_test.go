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

// TestTurnsAreSampled: every 16th turn is in a bucket, with its time.
func TestTurnsAreSampled(t *testing.T) {
	k := newSimKernel(1)
	l := &Loop{k: k, start: k.Now()}
	k.now += 3 * time.Millisecond // since the wait ended, at 0
	const turns = 40
	for range turns {
		l.publish()
	}
	g := &Group{loops: []*Loop{l}}
	got := g.Stats().Turns
	if want := uint64(turns / turnsSampled); got.Buckets[turnBucket(3*time.Millisecond)] != want ||
		got.Total != time.Duration(want)*3*time.Millisecond {
		t.Errorf("%d turns of 3 ms are %+v; want %d of them", turns, got, want)
	}
}
