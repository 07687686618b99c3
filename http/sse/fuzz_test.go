// SPDX-License-Identifier: MIT

package sse

import (
	"math/big"
	"testing"
)

// journalModel is what a journal promises, kept in the simplest way: every frame that
// was ever inserted, in the order of their ids, and how many the journal may hold.
type journalModel struct {
	max  int
	from uint64
	seen map[uint64]bool
}

// FuzzJournal plays inserts and questions, and compares each answer with all that was
// ever inserted: whoever is answered gets every frame above his id, once and in order,
// and whoever cannot be told so is told that.
func FuzzJournal(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5}, "2", uint8(3), uint64(0))
	f.Add([]byte{9, 1, 8, 2}, "8", uint8(4), uint64(7))
	f.Add([]byte{5, 5, 0}, "18446744073709551616", uint8(1), uint64(0))
	f.Add([]byte{3}, "-1", uint8(0), uint64(2))
	f.Add([]byte{1, 2}, " 1", uint8(2), uint64(0))
	f.Add([]byte{250, 251, 252}, "00250", uint8(9), uint64(3))
	f.Fuzz(func(t *testing.T, ids []byte, header string, room uint8, from uint64) {
		limit := int(room%16) - 1
		m := journalModel{max: limit, from: from % 256, seen: map[uint64]bool{}}
		j := NewJournal(limit, m.from)
		if limit == 0 {
			m.max = JournalDefault
		}
		for _, id := range ids {
			kept := j.Insert(frame(uint64(id), "c", "", "b"))
			if kept && (id == 0 || m.seen[uint64(id)]) {
				t.Fatalf("Insert(%d) = true, want a new frame with an id only", id)
			}
			m.seen[uint64(id)] = true
		}
		if n := j.Len(); n > max(m.max, 0) {
			t.Fatalf("Len = %d, want %d at most", n, m.max)
		}
		m.ask(t, j, header)
	})
}

// ask compares the answer to a header.
func (m *journalModel) ask(t *testing.T, j *Journal, header string) {
	t.Helper()
	resets := 0
	got := j.CatchUp(header, 255, func() { resets++ })
	id, ok := decimal(header)
	if header != "" && !ok && (resets != 1 || got != nil) {
		t.Fatalf("CatchUp(%q) = %d frames, %d resets; want a reset alone", header, len(got), resets)
	}
	if header == "" && (resets != 0 || got != nil) {
		t.Fatalf("CatchUp(nothing) = %d frames, %d resets; want nothing", len(got), resets)
	}
	if !ok || resets > 0 {
		return
	}
	if id < m.from {
		t.Fatalf("CatchUp(%q) is answered, want a reset: the journal began at %d", header, m.from)
	}
	next := 0
	for want := id + 1; want <= 255; want++ {
		if !m.seen[want] {
			continue
		}
		if next >= len(got) || got[next].ID() != want {
			t.Fatalf("CatchUp(%q): frame %d is not %d; want all above the id", header, next, want)
		}
		next++
	}
	if next != len(got) {
		t.Fatalf("CatchUp(%q) = %d frames, want %d", header, len(got), next)
	}
}

// decimal reads an id with numbers of any length; what is above 255 is 255.
func decimal(s string) (id uint64, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || len(s) > 64 {
		return 0, false
	}
	if !n.IsUint64() || n.Uint64() > 255 {
		return 255, true
	}
	return n.Uint64(), true
}
