// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// notesMax bounds the notes, and textMax one of them, in bytes.
const (
	notesMax = 1000
	textMax  = 4 << 10
)

var errFull = errors.New("there is no room for another note")

// A note is never written once it is in a store: a change is another one.
type note struct {
	ID      int    `json:"id"`
	Text    string `json:"text"`
	Version int    `json:"version"`
}

// representations are the kinds that a note comes in, and the ends of their tags.
var representations = map[string]string{
	"application/json": "json", "text/html": "html", "text/plain": "text",
}

// tag is the strong entity tag of one representation.
func (n note) tag(kind string) string {
	return fmt.Sprintf(`"%d.%d-%s"`, n.ID, n.Version, representations[kind])
}

// tags are those of all representations: a write may name any of them.
func (n note) tags() (tags []string) {
	for kind := range representations {
		tags = append(tags, n.tag(kind))
	}
	return tags
}

// A store keeps notes in memory. Its zero value is empty.
type store struct {
	mu    sync.Mutex
	notes map[int]note
	last  int // id; ids are not used again
}

func (s *store) add(text string) (note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) >= notesMax {
		return note{}, errFull
	}
	if s.notes == nil {
		s.notes = make(map[int]note)
	}
	s.last++
	n := note{s.last, text, 1}
	s.notes[n.ID] = n
	return n, nil
}

func (s *store) find(id int) (note, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.notes[id]
	return n, ok
}

// all gives the notes in the order in which they were made.
func (s *store) all() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := make([]note, 0, len(s.notes))
	for _, id := range slices.Sorted(maps.Keys(s.notes)) {
		notes = append(notes, s.notes[id])
	}
	return notes
}

// change hands a note to decide, and between that and the change nothing else
// happens. nil leaves the note as it is; one without a text takes it out.
func (s *store) change(id int, decide func(note, bool) *note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.notes[id]
	switch next := decide(n, ok); {
	case next == nil:
	case next.Text == "":
		delete(s.notes, id)
	default:
		s.notes[id] = *next
	}
}
