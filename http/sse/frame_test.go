// SPDX-License-Identifier: MIT

package sse

import "testing"

// TestFrameBytes: a frame is one chunk, and one without a body is none: a chunk of
// nothing would end the stream.
func TestFrameBytes(t *testing.T) {
	for _, c := range []struct{ body, chunk string }{
		{"", ""}, {"x", "1\r\nx\r\n"}, {"data: 0123456789\n\n", "12\r\ndata: 0123456789\n\n\r\n"},
	} {
		f := NewFrame(1, "c", "", []byte(c.body))
		if got := string(f.bytes(true)); got != c.chunk {
			t.Errorf("body %q is the chunk %q, want %q", c.body, got, c.chunk)
		}
		if got := string(f.bytes(false)); got != c.body {
			t.Errorf("body %q is %q without chunks", c.body, got)
		}
	}
}

// TestFrameWithKeepsTheForms: frames that differ in their notes are coded once.
func TestFrameWithKeepsTheForms(t *testing.T) {
	f := NewFrame(7, "c", "kind", []byte("data: x\n\n"))
	first := f.With("first")
	second := first.With("second")
	if first.origin != f || second.origin != f {
		t.Error("a frame with a note does not share the forms of the one without")
	}
	if f.Note() != nil || first.Note() != "first" || second.Note() != "second" {
		t.Errorf("notes are %v, %v and %v", f.Note(), first.Note(), second.Note())
	}
	if second.ID() != 7 || second.Channel() != "c" || second.Kind() != "kind" ||
		string(second.Body()) != "data: x\n\n" {
		t.Errorf("with a note it is %+v", second)
	}
}
