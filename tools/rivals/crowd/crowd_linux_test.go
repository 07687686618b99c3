// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"testing"
)

// TestOrdered cuts a stream of events in every place.
func TestOrdered(t *testing.T) {
	events := func(numbers ...int) (text []byte) {
		for _, n := range numbers {
			text = append(append(append(text, "data: "...), payload(n, 20)...), "\n\n"...)
		}
		return text
	}
	tests := []struct {
		name  string
		text  []byte
		got   int
		mixed bool
	}{
		{"in order", events(0, 1, 2, 1499), 4, false},
		{"one twice", events(0, 1, 1), 3, true},
		{"back", events(5, 4), 2, true},
		{"no number", append(events(0), "data: ~\n\n"...), 2, true},
		{"nothing yet", events(3)[:12], 0, false},
	}
	for _, tt := range tests {
		for cut := range tt.text {
			var r ordered
			r.read(tt.text[:cut])
			r.read(tt.text[cut:])
			if r.got != tt.got || r.mixed != tt.mixed {
				t.Errorf("%s, cut at %d: got %d, mixed %v, want %d, %v", tt.name, cut, r.got, r.mixed,
					tt.got, tt.mixed)
			}
		}
	}
}

func TestPayload(t *testing.T) {
	got := payload(42, 100)
	if len(got) != 100 || !bytes.HasSuffix(got, []byte("x#0000042~")) ||
		bytes.Count(got, []byte{mark}) != 1 {
		t.Errorf("payload(42, 100) = %q, want 100 bytes with the number at the end", got)
	}
}
