// SPDX-License-Identifier: MIT

package sse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func ids(frames []*Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprint(&b, f.id, " ")
	}
	return strings.TrimSpace(b.String())
}

func TestJournalKeepsTheLastInOrder(t *testing.T) {
	j := NewJournal(4, 10)
	for _, id := range []uint64{12, 11, 14, 13, 14, 0} {
		j.Insert(frame(id, "c", "", fmt.Sprint(id)))
	}
	for _, c := range []struct {
		id    uint64
		want  string
		known bool
	}{
		{9, "", false}, {10, "11 12 13 14", true}, {11, "12 13 14", true}, {13, "14", true},
		{14, "", true}, {99, "", true},
	} {
		got, known := j.Since(c.id)
		if ids(got) != c.want || known != c.known {
			t.Errorf("Since(%d) = %s, %v; want %s, %v", c.id, ids(got), known, c.want, c.known)
		}
	}
	j.Insert(frame(20, "c", "", "20"))
	if got, known := j.Since(10); known {
		t.Errorf("Since(10) after 11 was dropped = %s, known; want unknown", ids(got))
	}
	if got, known := j.Since(11); ids(got) != "12 13 14 20" || !known {
		t.Errorf("Since(11) = %s, %v; want 12 13 14 20, known", ids(got), known)
	}
	if j.Insert(frame(5, "c", "", "")) {
		t.Error("a full journal took a frame older than all it keeps")
	}
	if f := j.Frame(13); f == nil || string(f.Body()) != "13" {
		t.Errorf("Frame(13) = %v; want that frame", f)
	}
	if f := j.Frame(11); f != nil {
		t.Errorf("Frame(11) = %v; want nil", f)
	}
}

func TestJournalRestoreRaisesTheCounter(t *testing.T) {
	j := NewJournal(3, 1000)
	var raised uint64
	j.Restore(func(id uint64) { raised = max(raised, id) },
		frame(3, "c", "", ""), frame(1, "c", "", ""), frame(2, "c", "", ""), frame(7, "c", "", ""))
	if got, known := j.Since(2); ids(got) != "3 7" || !known || raised != 7 {
		t.Errorf("Since(2) = %s, %v, counter raised to %d; want 3 7, known, 7", ids(got), known, raised)
	}
	if _, known := j.Since(0); known {
		t.Error("Since(0) is known; the journal dropped what came after it")
	}
	j.Restore(func(id uint64) { t.Errorf("nothing raised the counter to %d", id) })
}

func TestJournalCatchUpIsNeverSilent(t *testing.T) {
	j := NewJournal(8, 100)
	j.Insert(frame(101, "c", "", ""))
	j.Insert(frame(102, "c", "", ""))
	for _, c := range []struct {
		header, want string
		reset        bool
	}{
		{"", "", false}, {"100", "101 102", false}, {"101", "102", false}, {"102", "", false},
		{"103", "", false}, {"99999999999999999999999999", "", false},
		{"99", "", true}, {"0", "", true}, {"-1", "", true}, {"1e2", "", true}, {" 101", "", true},
		{"101 ", "", true}, {"١٠١", "", true}, {"\xff", "", true}, {"a\x00", "", true},
		{strings.Repeat("9", 65), "", true}, {"0x65", "", true}, {"+101", "", true},
		{strings.Repeat("9", 64), "", false},
	} {
		reset := false
		got := j.CatchUp(c.header, 102, func() { reset = true })
		if ids(got) != c.want || reset != c.reset {
			t.Errorf("CatchUp(%q) = %q, reset %v; want %q, %v", c.header, ids(got), reset, c.want, c.reset)
		}
	}
}

// TestJournalAgainstModel compares random inserts with a plain sorted set.
func TestJournalAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		size := 1 + rnd.IntN(8)
		j := NewJournal(size, 0)
		seen := make(map[uint64]bool)
		for range 40 {
			id := uint64(1 + rnd.IntN(60))
			j.Insert(frame(id, "c", "", ""))
			seen[id] = true
			all, _ := j.Since(j.floor)
			for i, f := range all {
				if i > 0 && all[i-1].id >= f.id || !seen[f.id] {
					t.Fatalf("journal holds %s; want ascending ids of those inserted", ids(all))
				}
			}
			if len(all) > size || len(all) < min(size, len(seen)) && j.floor == 0 {
				t.Fatalf("journal of %d holds %s after %d ids", size, ids(all), len(seen))
			}
			since := uint64(rnd.IntN(60))
			got, known := j.Since(since)
			for id := range seen {
				if known && id > since && j.Frame(id) == nil {
					t.Fatalf("Since(%d) = %s is said to be known but lacks %d", since, ids(got), id)
				}
			}
		}
	}
}

// TestJournalAdoptsNoMoreThanTheSiblingKnows: frames of one's own that are older
// prove nothing about what lies between.
func TestJournalAdoptsNoMoreThanTheSiblingKnows(t *testing.T) {
	j := NewJournal(8, 100)
	j.Insert(frame(50, "c", "", "")) // from a backlog
	j.adopt(80, frame(85, "c", "", ""))
	if got, known := j.Since(60); known {
		t.Errorf("Since(60) = %s, known; the sibling knows from 80 on", ids(got))
	}
	if got, known := j.Since(80); ids(got) != "85" || !known {
		t.Errorf("Since(80) = %s, %v; want 85, known", ids(got), known)
	}
}

func TestJournalLateFrame(t *testing.T) {
	j := NewJournal(4, 10)
	for _, id := range []uint64{11, 13, 14} {
		j.Insert(frame(id, "c", "", ""))
	}
	j.Insert(frame(12, "c", "", ""))
	j.noteLate(12, 14)
	for id, want := range []bool{10: true, 11: true, 12: true, 13: false, 14: false, 15: true} {
		if id < 10 {
			continue
		}
		if _, known := j.Since(uint64(id)); known != want {
			t.Errorf("Since(%d) after 12 came behind 14: known %v; want %v", id, known, want)
		}
	}
	for _, id := range []uint64{20, 21, 22, 23} {
		j.Insert(frame(id, "c", "", ""))
	}
	j.Insert(frame(19, "c", "", ""))
	if j.noteLate(22, 23); j.lateID != 22 {
		t.Errorf("a late frame long gone still counts: from %d", j.lateID)
	}
	j = NewJournal(4, 10)
	j.noteLate(12, 14)
	j.forget(14) // all that was late is below the floor, and its top on it
	j.noteLate(16, 18)
	for _, id := range []uint64{15, 16} {
		if _, known := j.Since(id); !known {
			t.Errorf("Since(%d) is not known; late were 12 to 14, gone, and 16 to 18", id)
		}
	}
}

// TestJournalShrinksToOneFrame: however little room there is, the newest frame stays.
func TestJournalShrinksToOneFrame(t *testing.T) {
	j := NewJournal(8, 0)
	for id := uint64(1); id <= 3; id++ {
		j.Insert(frame(id, "c", "", "data: x\n\n"))
	}
	all := j.size()
	if j.shrink(all); j.Len() != 3 {
		t.Errorf("%d frames of 3 stay where all fit", j.Len())
	}
	if j.shrink(all - 1); j.Len() != 2 || j.Frame(1) != nil {
		t.Errorf("%d frames of 3 stay where a byte is missing, want the newest 2", j.Len())
	}
	if j.shrink(0); j.Len() != 1 || j.Frame(3) == nil {
		t.Errorf("%d frames stay without room, want the newest", j.Len())
	}
	if _, known := j.Since(1); known {
		t.Error("what came after 1 is known, 2 is gone")
	}
}

// TestJournalAboveForASibling: who takes over knows nothing from before what came late, and
// gets no frame up to one that is too long.
func TestJournalAboveForASibling(t *testing.T) {
	j := NewJournal(8, 10)
	for id := uint64(11); id <= 14; id++ {
		j.Insert(frame(id, "c", "", strings.Repeat("x", int(id))))
	}
	for _, c := range []struct {
		id      uint64
		bodyMax int
		floor   uint64
		want    string
	}{
		{0, 100, 10, "11 12 13 14"}, {11, 100, 10, "12 13 14"}, {12, 14, 10, "13 14"},
		{0, 14, 10, "11 12 13 14"}, {0, 13, 14, ""}, {0, 0, 14, ""},
	} {
		floor, frames := j.above(c.id, c.bodyMax)
		if floor != c.floor || ids(frames) != c.want {
			t.Errorf("above(%d, %d) = from %d, %s; want %d, %s",
				c.id, c.bodyMax, floor, ids(frames), c.floor, c.want)
		}
	}
	j.noteLate(12, 14)
	if floor, frames := j.above(12, 100); floor != 15 || ids(frames) != "13 14" {
		t.Errorf("above(12) after 12 came behind 14 = from %d, %s; want 15, 13 14", floor, ids(frames))
	}
	j.forget(14)
	if floor, _ := j.above(14, 100); floor != 14 {
		t.Errorf("above(14) of what knows from 14 on = from %d, want 14", floor)
	}
}
