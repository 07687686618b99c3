// SPDX-License-Identifier: MIT

package bus

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// orderRun drives an order on a time that the test sets.
type orderRun struct {
	order
	got []uint64
	now time.Time
}

func newOrderRun(last uint64) *orderRun {
	r := &orderRun{now: time.Unix(1000, 0)}
	r.order = order{window: 20 * time.Millisecond, last: last}
	r.emit = func(f Frame) { r.got = append(r.got, f.ID) }
	return r
}

func (r *orderRun) arrive(ids ...uint64) {
	for _, id := range ids {
		r.push(Frame{ID: id, Channel: "c", Body: []byte("b")}, r.now)
	}
}

// pass lets time go by and acts when the order asks for it.
func (r *orderRun) pass(d time.Duration) {
	end := r.now.Add(d)
	for !r.due.IsZero() && !r.due.After(end) {
		r.now = r.due
		if r.expire(r.now); r.due.Equal(r.now) {
			break // it does not let go
		}
	}
	r.now = end
}

func TestOrder(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		what string
		do   func(r *orderRun)
		want []uint64
		late uint64
		held int
	}{
		{"in order", func(r *orderRun) { r.arrive(11, 12, 13) }, []uint64{11, 12, 13}, 0, 0},
		{"crossed", func(r *orderRun) { r.arrive(12, 11) }, []uint64{11, 12}, 0, 0},
		{"three crossed", func(r *orderRun) { r.arrive(13, 12, 11) }, []uint64{11, 12, 13}, 0, 0},
		{"two gaps", func(r *orderRun) { r.arrive(12, 14, 11) }, []uint64{11, 12}, 0, 1},
		{"a gap not yet due", func(r *orderRun) { r.arrive(12); r.pass(19 * ms) }, nil, 0, 1},
		{"a gap due", func(r *orderRun) { r.arrive(12); r.pass(20 * ms) }, []uint64{12}, 0, 0},
		{"everything below what is due", func(r *orderRun) {
			r.arrive(15)
			r.pass(10 * ms)
			r.arrive(13, 17)
			r.pass(10 * ms)
		}, []uint64{13, 15}, 0, 1},
		{"due one after the other", func(r *orderRun) {
			r.arrive(15)
			r.pass(10 * ms)
			r.arrive(17)
			r.pass(20 * ms)
		}, []uint64{15, 17}, 0, 0},
		{"late", func(r *orderRun) { r.arrive(12); r.pass(20 * ms); r.arrive(11, 13) },
			[]uint64{12, 11, 13}, 1, 0},
		{"an id twice", func(r *orderRun) { r.arrive(11, 11, 12) }, []uint64{11, 11, 12}, 0, 0},
		{"an id twice behind a gap", func(r *orderRun) { r.arrive(12, 12, 11) },
			[]uint64{11, 12, 12}, 0, 0},
		{"no id", func(r *orderRun) { r.arrive(12, 0) }, []uint64{0}, 0, 1},
		{"a name of the server", func(r *orderRun) {
			r.arrive(13)
			r.push(Frame{ID: 12, Channel: "\x01"}, r.now)
			r.push(Frame{Channel: "\x01"}, r.now)
			r.arrive(11)
		}, []uint64{0, 11, 12, 13}, 0, 0},
		{"no window", func(r *orderRun) { r.window = -1; r.arrive(13, 12, 14) },
			[]uint64{13, 12, 14}, 1, 0},
		{"the end", func(r *orderRun) { r.arrive(14, 12); r.flush() }, []uint64{12, 14}, 0, 0},
	} {
		r := newOrderRun(10)
		tc.do(r)
		if !slices.Equal(r.got, tc.want) || r.late != tc.late || len(r.held) != tc.held {
			t.Errorf("%s: emitted %v, late %d, held %d; want %v, %d, %d",
				tc.what, r.got, r.late, len(r.held), tc.want, tc.late, tc.held)
		}
		if (len(r.held) == 0) != r.due.IsZero() {
			t.Errorf("%s: held %d, due %v", tc.what, len(r.held), r.due)
		}
	}
}

// Frames with the same id keep the order in which they came.
func TestOrderStable(t *testing.T) {
	var kinds string
	o := order{window: time.Second, emit: func(f Frame) { kinds += f.Kind }}
	for _, kind := range []string{"a", "b", "c"} {
		o.push(Frame{ID: 5, Channel: "c", Kind: kind}, time.Unix(1, 0))
	}
	o.push(Frame{ID: 3, Channel: "c", Kind: "-"}, time.Unix(1, 0))
	o.flush()
	if kinds != "-abc" {
		t.Fatalf("emitted %q, want %q", kinds, "-abc")
	}
}

func TestOrderBounded(t *testing.T) {
	r := newOrderRun(10)
	for id := uint64(12); id < 12+3*heldFramesMax; id++ {
		r.arrive(id * 2)
		if len(r.held) > heldFramesMax {
			t.Fatalf("holds %d frames, want at most %d", len(r.held), heldFramesMax)
		}
		if id == 12+heldFramesMax-1 && (r.forced != 0 || len(r.held) != heldFramesMax) {
			t.Fatalf("forced %d with room for as many as came", r.forced)
		}
		const half = heldFramesMax / 2
		if id == 12+heldFramesMax && (r.forced != half+1 || len(r.held) != half) {
			t.Fatalf("one too many: forced %d, holds %d; want half of them each", r.forced, len(r.held))
		}
	}
	if r.forced == 0 || !slices.IsSorted(r.got) {
		t.Fatalf("forced %d, sorted %v; want some, in order", r.forced, slices.IsSorted(r.got))
	}

	b := newOrderRun(10)
	for id := range uint64(40) {
		b.push(Frame{ID: 100 - 2*id, Channel: "c", Body: make([]byte, 1<<20)}, b.now)
		if b.bytes > heldBytesMax {
			t.Fatalf("holds %d bytes, want at most %d", b.bytes, heldBytesMax)
		}
		if id == heldBytesMax>>20-1 && b.bytes != heldBytesMax {
			t.Fatalf("holds %d bytes, want all that it may, %d", b.bytes, heldBytesMax)
		}
	}
	b.flush()
	if len(b.got) != 40 || b.bytes != 0 {
		t.Fatalf("emitted %d frames, %d bytes left; want 40 and 0", len(b.got), b.bytes)
	}
}

// Any crossing within the window comes out sorted, whole and without waiting
// longer than the window; a run repeats from its seed.
func TestOrderRandom(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newOrderRun(0)
		arrival := map[uint64]time.Time{}
		emit := r.emit
		r.emit = func(f Frame) {
			if waited := r.now.Sub(arrival[f.ID]); waited > r.window {
				t.Fatalf("seed %d: id %d waited %v, want at most %v", seed, f.ID, waited, r.window)
			}
			emit(f)
		}
		type sent struct {
			id uint64
			at time.Duration
		}
		var plan []sent
		for id := uint64(1); id <= 200; id++ {
			if rnd.IntN(10) == 0 {
				continue // never published
			}
			plan = append(plan, sent{id, time.Duration(id)*time.Millisecond +
				time.Duration(rnd.IntN(19))*time.Millisecond})
		}
		slices.SortStableFunc(plan, func(a, b sent) int { return int(a.at - b.at) })
		start := r.now
		for _, s := range plan {
			r.pass(start.Add(s.at).Sub(r.now))
			arrival[s.id] = r.now
			r.arrive(s.id)
		}
		r.pass(time.Second)
		if len(r.got) != len(plan) || !slices.IsSorted(r.got) || r.late != 0 || r.bytes != 0 {
			t.Fatalf("seed %d: emitted %d of %d, sorted %v, late %d, bytes %d",
				seed, len(r.got), len(plan), slices.IsSorted(r.got), r.late, r.bytes)
		}
	}
}
