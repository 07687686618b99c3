// SPDX-License-Identifier: MIT

package sse

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"m0serve.dev/http/loop"
)

// A parked is the loop's side of a slot in a test.
type parked struct {
	wakes  int
	closed int
	how    loop.Ending
}

func (p *parked) Wake()                 { p.wakes++ }
func (p *parked) Close(how loop.Ending) { p.closed++; p.how = how }

func frame(id uint64, channel, kind, body string) *Frame {
	return NewFrame(id, channel, kind, []byte(body))
}

// given is everything that the slot gives out now.
func given(s *Slot) string {
	var b strings.Builder
	for p := s.Next(); p != nil; p = s.Next() {
		b.Write(p)
	}
	return b.String()
}

func TestSlotRedeliveryFilter(t *testing.T) {
	s := NewSlot(nil, 5, nil)
	for _, c := range []struct {
		id   uint64
		want bool
	}{
		{4, false}, {5, false}, {6, true}, {6, false}, {9, true}, {7, false}, {0, true}, {0, true},
		{10, true},
	} {
		if got := s.Push(frame(c.id, "c", "", fmt.Sprint(c.id, " "))); got != c.want {
			t.Errorf("Push(id %d) after id %d = %v; want %v", c.id, s.Last(), got, c.want)
		}
	}
	if got, want := given(s), "6 9 0 0 10 "; got != want {
		t.Errorf("slot gives %q; want %q", got, want)
	}
}

// TestSlotTakesABurst: by default a thousand short events fit before the loop comes to
// write the first, and a queue that is full at last is cut.
func TestSlotTakesABurst(t *testing.T) {
	s, held := NewSlot(nil, 0, nil), &parked{}
	s.Park(held, false)
	var want strings.Builder
	for id := range uint64(1000) {
		text := fmt.Sprint(id+1, " ")
		if !s.Push(frame(id+1, "c", "", text)) {
			t.Fatalf("event %d of a burst is not taken", id+1)
		}
		want.WriteString(text)
	}
	if held.closed > 0 {
		t.Fatal("a burst of 1000 events cuts its stream")
	}
	if got := given(s); got != want.String() {
		t.Errorf("%d bytes of the burst are given out, want %d", len(got), want.Len())
	}
	for id := uint64(1001); held.closed == 0; id++ {
		if s.Push(frame(id, "c", "", "x")); id > 10_000 {
			t.Fatal("9,000 events wait for one stream, and it is not cut")
		}
	}
}

// TestSlotPrime: what waited while the stream was caught up comes behind what it
// is caught up with, and only what is not in that.
func TestSlotPrime(t *testing.T) {
	s := NewSlot(nil, 3, nil)
	s.paused = true
	for _, id := range []uint64{4, 5, 6, 0} {
		s.Push(frame(id, "c", "", fmt.Sprint("live", id, " ")))
	}
	if got := given(s); got != "" {
		t.Errorf("a paused slot gives %q; want nothing", got)
	}
	s.prime(frame(0, "", "", "hello "), frame(4, "c", "", "old4 "), frame(5, "c", "", "old5 "))
	if got, want := given(s), "hello old4 old5 live6 live0 "; got != want || s.Last() != 6 {
		t.Errorf("primed slot gives %q, last id %d; want %q, 6", got, s.Last(), want)
	}
}

func TestSlotPolicies(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		kinds  string // of the frames 1, 2, 3 …
		want   string
		drops  uint64
		cut    bool
	}{
		{DropOldest, "abcde", "[gap 2]cde", 2, false},
		{DropNewest, "abcde", "abc[gap 2]", 2, false},
		{Disconnect, "abcde", "", 1, true},
		{Coalesce, "ababab", "ab", 0, false},
		{Coalesce, "abcdea", "[gap 3]dea", 3, false},
	} {
		r := NewRegistry(-1)
		limits := &Limits{Frames: 3, Policy: c.policy, Gap: func(n int) []byte {
			return fmt.Appendf(nil, "[gap %d]", n)
		}}
		s, held := NewSlot(limits, 0, nil), &parked{}
		if err := r.Add(s, "c"); err != nil {
			t.Fatal(err)
		}
		s.Park(held, false)
		for i := range len(c.kinds) {
			r.Deliver(frame(uint64(i+1), "c", c.kinds[i:i+1], c.kinds[i:i+1]))
		}
		if got := given(s); got != c.want {
			t.Errorf("%v, %q through 3 places: got %q; want %q", c.policy, c.kinds, got, c.want)
		}
		d := r.Stats().Drops["c"]
		if d.Total() != c.drops || d.Frames[c.policy] != c.drops {
			t.Errorf("%v, %q: %+v counted; want %d by that policy", c.policy, c.kinds, d, c.drops)
		}
		if got := held.closed == 1 && held.how == loop.EndCut; got != c.cut {
			t.Errorf("%v, %q: cut %v; want %v", c.policy, c.kinds, got, c.cut)
		}
	}
}

func TestSlotBoundsBytesButTakesOneLargeFrame(t *testing.T) {
	s := NewSlot(&Limits{Bytes: 100, Policy: DropOldest}, 0, nil)
	large := strings.Repeat("x", 500)
	if !s.Push(frame(1, "c", "", large)) {
		t.Error("a frame above the bound was not taken into an empty queue")
	}
	s.Push(frame(2, "c", "", "small"))
	if frames, bytes := s.queued(); frames != 1 || bytes > 100 {
		t.Errorf("queue holds %d frames, %d bytes; want the small one", frames, bytes)
	}
}

func TestSlotChunksWhenTheResponseIsChunked(t *testing.T) {
	s := NewSlot(nil, 0, nil)
	s.Park(&parked{}, true)
	s.Push(frame(1, "c", "", strings.Repeat("y", 26)))
	if got, want := given(s), "1a\r\n"+strings.Repeat("y", 26)+"\r\n"; got != want {
		t.Errorf("chunked slot gives %q; want %q", got, want)
	}
}

func TestSlotClosedRunsOnce(t *testing.T) {
	calls := 0
	r := NewRegistry(-1)
	s := NewSlot(nil, 0, func(loop.Reason) { calls++ })
	if err := r.Add(s, "a", "b", "a"); err != nil {
		t.Fatal(err)
	}
	s.Closed(loop.ClosedByPeer)
	s.Closed(loop.ClosedByPeer)
	if calls != 1 || r.Len() != 0 || s.Push(frame(1, "a", "", "x")) {
		t.Errorf("after Closed twice: %d calls, %d slots; want 1, 0 and no frame taken", calls, r.Len())
	}
}

func TestSlotIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Slot{}); size > 144 {
		t.Errorf("a slot has %d bytes; want at most 144, a size class", size)
	}
}

func TestRegistryRemoveKeepsTheOthers(t *testing.T) {
	r := NewRegistry(-1)
	slots := make([]*Slot, 20)
	for i := range slots {
		slots[i] = NewSlot(nil, 0, nil)
		if err := r.Add(slots[i], "all", fmt.Sprint("mod", i%3)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 20; i += 2 {
		r.Remove(slots[i])
		r.Remove(slots[i])
	}
	if got := r.Deliver(frame(1, "all", "", "x")); got != 10 {
		t.Errorf("Deliver to all = %d; want 10", got)
	}
	for m, want := range []int{3, 4, 3} {
		if got := r.Deliver(frame(2, fmt.Sprint("mod", m), "", "y")); got != want {
			t.Errorf("Deliver to mod%d = %d; want %d", m, got, want)
		}
	}
	for i, s := range slots {
		want := "xy"
		if i%2 == 0 {
			want = ""
		}
		if got := given(s); got != want {
			t.Errorf("slot %d gives %q; want %q", i, got, want)
		}
	}
}

func TestRegistryRefusesReservedNames(t *testing.T) {
	r := NewRegistry(-1)
	for _, name := range []string{"\x01journal", "", "a\nb"} {
		if err := r.Add(NewSlot(nil, 0, nil), "fine", name); err == nil || r.Len() != 0 {
			t.Errorf("Add(%q) = nil with %d slots; want an error and none", name, r.Len())
		}
	}
}

func TestHeartbeatOnlyWhereNothingWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(10 * time.Second)
		quiet, busy := NewSlot(nil, 0, nil), NewSlot(nil, 0, nil)
		for _, s := range []*Slot{quiet, busy} {
			if err := r.Add(s, "c"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(500 * time.Millisecond) // so that no beat falls on a look
		var id uint64
		for range 60 {
			time.Sleep(time.Second)
			id++
			busy.Push(frame(id, "c", "", "."))
			given2 := given(busy)
			if strings.Contains(given2, "hb") {
				t.Errorf("a busy stream got a heartbeat: %q", given2)
			}
		}
		if got := strings.Count(given(quiet), ": hb\n\n"); got != 1 {
			t.Errorf("a stream whose peer takes nothing has %d heartbeats waiting; want 1", got)
		}
		beats := 0
		for range 60 {
			time.Sleep(time.Second)
			beats += strings.Count(given(quiet), ": hb\n\n")
		}
		if beats != 6 {
			t.Errorf("%d heartbeats in 60 s; want one after each 10 s of silence", beats)
		}
		quiet.Closed(loop.ClosedByPeer)
		busy.Closed(loop.ClosedByPeer)
		synctest.Wait()
		if r.timer != nil {
			t.Error("the heartbeat timer runs without streams")
		}
	})
}

// TestNobodyBelievesTheIdOfAStreamThatMissedSomething: what is late or lost for this
// worker may be in order for the next one, which must not go on from that id.
func TestNobodyBelievesTheIdOfAStreamThatMissedSomething(t *testing.T) {
	for name, miss := range map[string]func(*Slot){
		"late": func(s *Slot) { s.push(frame(7, "c", "", "late"), true) },
		"lost": (*Slot).lose,
	} {
		s, p := NewSlot(nil, 10, nil), &parked{}
		s.Park(p, false)
		miss(s)
		if got, want := given(s), "id: 0\n\n"; got != want || p.closed != 1 || p.how != loop.EndCut {
			t.Errorf("%s: slot gives %q and ends %d times, want %q, once", name, got, p.closed, want)
		}
	}
}

func TestPolicyNames(t *testing.T) {
	for p, want := range map[Policy]string{Disconnect: "disconnect", DropOldest: "drop-oldest",
		DropNewest: "drop-newest", Coalesce: "coalesce", Coalesce + 1: "unknown", 99: "unknown"} {
		if got := p.String(); got != want {
			t.Errorf("Policy(%d) = %q, want %q", p, got, want)
		}
	}
}
