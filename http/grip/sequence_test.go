// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A script drives a Sequence: "5<4" is item 5 behind 4, "5" one without an order,
// "<4" one without an id, "!5<4" one with no-seq, "x5<4" one that ends streams, "+5s"
// time that passes.
func script(t *testing.T, s *Sequence, now *time.Time, steps string) string {
	t.Helper()
	var got []string
	for step := range strings.FieldsSeq(steps) {
		var ready []*Item
		if wait, ok := strings.CutPrefix(step, "+"); ok {
			d, err := time.ParseDuration(wait)
			if err != nil {
				t.Fatal(err)
			}
			*now = now.Add(d)
			ready = s.Expire(nil, *now)
		} else {
			id, noSeq := strings.CutPrefix(step, "!")
			id, closes := strings.CutPrefix(id, "x")
			id, prev, _ := strings.Cut(id, "<")
			it := &Item{Channel: "a", ID: id, PrevID: prev, NoSeq: noSeq}
			if closes {
				it.Stream = &Stream{Action: Close}
			}
			ready = s.Push(nil, it, *now)
		}
		var names []string
		for _, it := range ready {
			names = append(names, it.ID+"<"+it.PrevID)
		}
		got = append(got, strings.Join(names, ","))
	}
	return strings.Join(got, " ")
}

func TestSequence(t *testing.T) {
	for _, tc := range []struct{ name, steps, want string }{
		{"in order", "1 2<1 3<2", "1< 2<1 3<2"},
		{"the first one counts", "5<4 6<5", "5<4 6<5"},
		{"out of order", "1 3<2 4<3 2<1", "1<   2<1,3<2,4<3"},
		{"without an order", "1 7 8<7", "1< 7< 8<7"},
		{"without an id", "1 <1 9<8", "1< <1 9<8"},
		{"no-seq", "1 !9<8 2<1", "1< 9<8 2<1"},
		{"waits in vain", "1 3<2 +4999ms +1ms 4<3", "1<   3<2 4<3"},
		{"waits in vain, seen by a push", "1 3<2 +4s 5<4 +1s 4<3", "1<    3<2 4<3,5<4"},
		{"in the order of their time", "1 9<8 +1s 7<6 +1s 5<4 +5s", "1<      9<8,7<6,5<4"},
		{"those behind follow", "1 5<4 3<2 4<3 +5s", "1<    5<4,3<2,4<3"},
		{"one that was given up comes", "1 3<2 +5s 2<1 4<3", "1<  3<2 2<1 4<3"},
		{"twice", "1 1 2<1 2<1", "1<  2<1 "},
		{"twice, while it waits", "1 3<2 3<2 2<1", "1<   2<1,3<2"},
		{"twice with no-seq", "!1 !1", "1< "},
		{"twice within a minute", "1 +59999ms 1 +1ms 1", "1<    1<"},
		{"a second kick", "1 x2<1 1 x2<1 2<1", "1< 2<1  2<1 "},
		{"two behind the same one", "1 3<2 4<2 2<1 +5s", "1<   2<1,3<2 4<2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s Sequence
			now := noon
			if got := script(t, &s, &now, tc.steps); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.steps, got, tc.want)
			}
		})
	}
}

func TestSequenceTellsWhen(t *testing.T) {
	var s Sequence
	now := noon
	if at, ok := s.Next(); ok {
		t.Errorf("Next of nothing = %v, want none", at)
	}
	script(t, &s, &now, "1 3<2 +1s 5<4")
	if at, ok := s.Next(); !ok || !at.Equal(noon.Add(5*time.Second)) {
		t.Errorf("Next() = %v, %v, want 5 s after the first that waits", at, ok)
	}
	script(t, &s, &now, "2<1")
	if at, ok := s.Next(); !ok || !at.Equal(noon.Add(6*time.Second)) {
		t.Errorf("Next() = %v, %v, want the time of the one that still waits", at, ok)
	}
	if got := s.Last("a"); got != "3" {
		t.Errorf("Last(a) = %q, want 3", got)
	}
	want := SequenceStats{Parked: 2, Waiting: 1}
	if got := s.Stats(); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

func TestSequenceForget(t *testing.T) {
	var s Sequence
	now := noon
	script(t, &s, &now, "1")
	s.Forget("a")
	s.Forget("b")
	if got := script(t, &s, &now, "9<8"); got != "9<8" || s.Last("a") != "9" {
		t.Errorf("9<8 behind Forget = %q, want it delivered", got)
	}
	if s.Forget("a"); len(s.channels) != 0 || s.idle.first != nil {
		t.Errorf("Forget left %d channels", len(s.channels))
	}
}

// Channels know nothing of each other.
func TestSequenceChannels(t *testing.T) {
	var s Sequence
	push := func(channel, id, prev string) int {
		return len(s.Push(nil, &Item{Channel: channel, ID: id, PrevID: prev}, noon))
	}
	if push("a", "1", "") != 1 || push("b", "1", "") != 1 || push("a", "3", "2") != 0 ||
		push("b", "2", "1") != 1 || push("a", "2", "1") != 2 {
		t.Error("items of one channel changed what another delivers")
	}
}

// At a bound the oldest goes; no item is lost.
func TestSequenceIsBounded(t *testing.T) {
	var s Sequence
	released := 0
	push := func(channel string, id int, prev string) {
		it := &Item{Channel: channel, ID: fmt.Sprint(id), PrevID: prev}
		released += len(s.Push(nil, it, noon))
	}
	push("a", 0, "")
	for i := range seqParked {
		push("a", 10+i, "none")
	}
	if released != 1 {
		t.Fatalf("%d items released, want those within the bound to wait", released)
	}
	push("a", 1000, "none")
	if st := s.Stats(); released != 2 || st.Late != 1 || st.Waiting != seqParked {
		t.Errorf("one above the bound of a channel: %d released, %+v, want the oldest", released, st)
	}

	for i := range seqParkedAll {
		channel := fmt.Sprint("c", i)
		push(channel, 0, "")
		push(channel, 1, "none")
	}
	if st := s.Stats(); st.Waiting != seqParkedAll || st.Late != 1+seqParked {
		t.Errorf("above the bound of all: %+v, want %d waiting", st, seqParkedAll)
	}
	for i := range seqIDsMax + seqChannelsMax {
		push(fmt.Sprint("d", i), 0, "")
	}
	if len(s.seen) > seqIDsMax || len(s.ids) != len(s.seen) || s.idle.size > seqChannelsMax {
		t.Errorf("%d, %d ids and %d channels are known, want at most %d and %d",
			len(s.seen), len(s.ids), s.idle.size, seqIDsMax, seqChannelsMax)
	}
	if s.Stats().Forgotten == 0 {
		t.Error("nothing counted as forgotten")
	}
	s.Push(nil, &Item{Channel: "z"}, noon.Add(time.Hour))
	if len(s.seen) != 0 || len(s.ids) != 0 || s.Stats().Waiting != 0 {
		t.Errorf("an hour later %d ids are known and %d items wait", len(s.seen), s.Stats().Waiting)
	}
}

// Whatever the order of arrival, each item is delivered once, and in order when
// none is missing and none is late.
func TestSequenceAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var s Sequence
		ready := s.Push(nil, &Item{Channel: "a", ID: "0"}, noon)
		for _, i := range random.Perm(seqParked) {
			it := &Item{Channel: "a", ID: fmt.Sprint(i + 1), PrevID: fmt.Sprint(i)}
			ready = s.Push(ready, it, noon)
			if random.IntN(4) == 0 {
				ready = s.Push(ready, it, noon)
			}
		}
		for i, it := range ready {
			if it.ID != fmt.Sprint(i) {
				t.Fatalf("seed %d: item %s in place %d", seed, it.ID, i)
			}
		}
		if len(ready) != seqParked+1 || s.Stats().Waiting != 0 {
			t.Fatalf("seed %d: %d items delivered, %d wait", seed, len(ready), s.Stats().Waiting)
		}
	}
}

func FuzzSequence(f *testing.F) {
	f.Add([]byte{0x01, 0x12, 0x34, 0x23, 0xf5, 0x56})
	f.Add([]byte{0x00, 0x11, 0x22, 0xff, 0xff, 0x13})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var s Sequence
		now, pushed := noon, 0
		var ready []*Item
		for _, b := range steps {
			if b >= 0xf0 {
				now = now.Add(time.Duration(b-0xef) * time.Second)
				ready = s.Expire(ready, now)
				continue
			}
			pushed++
			it := &Item{Channel: string(rune('a' + b>>7)), ID: string(rune('0' + b&7)),
				PrevID: string(rune('0' + b>>3&7)), NoSeq: b&0x44 == 0x44}
			ready = s.Push(ready, it, now)
		}
		ready = s.Expire(ready, now.Add(seqWait))
		if st := s.Stats(); len(ready)+int(st.Duplicates) != pushed || st.Waiting != 0 {
			t.Fatalf("%d pushed, %d delivered, %+v", pushed, len(ready), st)
		}
	})
}
