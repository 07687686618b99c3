// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"m0serve.dev/host"
)

// Bounds of the list, which lives in memory.
const (
	notesMax = 100
	textMax  = 500 // characters of a note
)

// Why a note is not taken; the page makes a sentence of it.
var (
	errEmpty = errors.New("a note needs some text")
	errLong  = errors.New("a note has 500 characters at most")
	errFull  = errors.New("there are 100 notes: remove one first")
	errGone  = errors.New("that note is gone")
)

// A note is one line of the list.
type note struct {
	ID   int
	Text string
}

// notes are the state that every view gets.
type notes struct {
	mu   sync.Mutex
	list []note // guarded by mu, as last; the newest first
	last int    // ID
}

func newNotes(*host.Context) (*notes, error) { return &notes{}, nil }

// all is the list at this moment.
func (n *notes) all() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// add puts a note at the top.
func (n *notes) add(text string) error {
	text, err := checked(text)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) == notesMax {
		return errFull
	}
	n.last++
	n.list = slices.Insert(n.list, 0, note{ID: n.last, Text: text})
	return nil
}

// change gives a note another text.
func (n *notes) change(id int, text string) error {
	text, err := checked(text)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.indexLocked(id)
	if i < 0 {
		return errGone
	}
	n.list[i].Text = text
	return nil
}

func (n *notes) remove(id int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.indexLocked(id)
	if i < 0 {
		return errGone
	}
	n.list = slices.Delete(n.list, i, i+1)
	return nil
}

func (n *notes) indexLocked(id int) int {
	return slices.IndexFunc(n.list, func(one note) bool { return one.ID == id })
}

func checked(text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case text == "":
		return "", errEmpty
	case utf8.RuneCountInString(text) > textMax:
		return "", errLong
	}
	return text, nil
}
