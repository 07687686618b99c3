// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	const burst, every = 3, time.Second
	var b bucket
	now := time.Unix(1, 0)
	take := func(want time.Duration) {
		t.Helper()
		if wait := b.take(now, burst, every); wait != want {
			t.Fatalf("at %v: wait %v, want %v", now.Sub(time.Unix(1, 0)), wait, want)
		}
	}
	for range 2 {
		for range burst {
			take(0)
		}
		take(every)
		now = now.Add(every / 4)
		take(3 * every / 4)
		now = now.Add(3 * every / 4)
		take(0)
		take(every)
		now = now.Add(time.Hour) // full, and no more than that
	}
}

func TestCleanText(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "  a  \r\n b\t\n": "a\n b", "a\n\n\n\n\nb": "a\n\nb",
		"\n \n": "", "a\x00\x1b[31mb": "a[31mb", "a\tb": "a\tb", "\u0085x": "x",
	} {
		if got := cleanText(text); got != want {
			t.Errorf("cleanText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCleanName(t *testing.T) {
	for name, want := range map[string]string{
		"Ann": "Ann", "  Ann\n\tB ": "Ann B", "": "", " ": "", "\u200b\u202e": "", "\u0301": "",
		"A\u202enn": "Ann", "👩\u200d🚀": "👩\u200d🚀", "<b>": "<b>",
		strings.Repeat("é", nameMax):   strings.Repeat("é", nameMax),
		strings.Repeat("e", nameMax+1): "",
	} {
		if got := cleanName(name); got != want {
			t.Errorf("cleanName(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestRoomsAreBounded: the room that is silent for longest is forgotten.
func TestRoomsAreBounded(t *testing.T) {
	s, err := openStore(t.TempDir()+"/chat.db", func() map[int]bool { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	say := func(room string) (id int64) {
		t.Helper()
		m := message{Who: "w", Name: "n", Text: "in " + room, Ref: room + time.Now().String()}
		if _, err := s.say(room, &m, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	history := func(name string) (n int) {
		t.Helper()
		_, err := s.enter(name, person{"w", "n"}, 0, func(r room) error {
			n = len(r.Messages)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	last := say("keeps")
	for i := range roomsMax {
		id := say(fmt.Sprint("room-", i))
		if id <= last {
			t.Fatalf("id %d behind %d", id, last)
		}
		last = id
		if i == roomsMax/2 {
			say("keeps")
		}
	}
	for name, want := range map[string]int{"keeps": 2, "room-0": 0, "room-1": 1} {
		if got := history(name); got != want {
			t.Errorf("%d texts of %s are kept, want %d", got, name, want)
		}
	}
}
