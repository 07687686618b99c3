// SPDX-License-Identifier: MIT

package sse

import (
	"net/http"
	"sync"
	"sync/atomic"

	"m0serve.dev/http/middleware"
	"m0serve.dev/http/negotiate"
)

// A Coding is a content coding in which each frame can be decoded wherever it
// stands, so that it is coded once and its bytes fit every stream: see
// compress.ZstdFrames and compress.GzipFrames. Its methods may be called from any
// goroutine, with locks held.
type Coding interface {
	// Name is the token in Accept-Encoding and Content-Encoding. Two codings of one
	// name produce what the same decoder reads.
	Name() string
	// Begin is what opens a stream; nil: nothing.
	Begin() []byte
	// Encode appends a body that is not empty, so that a decoder gives all of it out
	// when it has read what was appended. There is no end: a hub cuts its streams.
	Encode(dst, body []byte) []byte
}

// choose is the first of the codings that the client prefers, nil when it wants
// plain bytes. The answer says that it depends on the client.
func choose(w http.ResponseWriter, r *http.Request, codings []Coding) Coding {
	h := w.Header()
	if len(codings) == 0 || len(h["Content-Encoding"]) > 0 {
		return nil
	}
	middleware.AddVary(h, "Accept-Encoding")
	names := make([]string, len(codings))
	for i, c := range codings {
		names[i] = c.Name()
	}
	name, _ := negotiate.Encoding(r.Header["Accept-Encoding"], names...)
	for _, c := range codings {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// A form is a frame as one coding has it. It never changes once made.
type form struct {
	name  string
	coded *Frame
	next  *form
}

// form is the frame in the coding. The first who asks makes it; fresh counts it.
func (f *Frame) form(c Coding, fresh *atomic.Uint64) *form {
	if f.origin != nil {
		f = f.origin
	}
	name := c.Name()
	for {
		head := f.forms.Load()
		for at := head; at != nil; at = at.next {
			if at.name == name {
				return at
			}
		}
		made := &form{name: name, coded: NewFrame(0, "", "", c.Encode(nil, f.Body())), next: head}
		fresh.Add(1)
		if f.forms.CompareAndSwap(head, made) {
			return made
		}
	}
}

// A coded stream is what a slot knows of its coding. The slot's lock guards it.
type codedStream struct {
	coding  Coding
	codings *codings
	begun   bool
}

// code makes the stream of a slot that is not registered yet a coded one.
func (s *Slot) code(cs *codings, c Coding) {
	if s.calls == nil {
		s.calls = &calls{}
	}
	s.calls.coded = cs.enter(c)
}

// prepare codes frames before the stream is fed, on the goroutine of its handler.
func (s *Slot) prepare(frames []*Frame) {
	if s.calls == nil || s.calls.coded == nil {
		return
	}
	for _, f := range frames {
		if len(f.Body()) > 0 {
			f.form(s.calls.coded.coding, &s.calls.coded.codings.made)
		}
	}
}

// nextCodedLocked is Next for a slot whose stream is coded.
func (s *Slot) nextCodedLocked(c *codedStream) []byte {
	if s.ended {
		return nil
	}
	if !c.begun {
		c.begun = true
		if head := c.coding.Begin(); len(head) > 0 {
			return NewFrame(0, "", "", head).bytes(s.chunked)
		}
	}
	if f := s.nextLocked(); f != nil {
		return f.form(c.coding, &c.codings.made).coded.bytes(s.chunked)
	}
	return nil
}

// codings are those that streams of a hub use.
type codings struct {
	made atomic.Uint64 // forms

	mu   sync.Mutex
	used map[string]*usedCoding
}

type usedCoding struct {
	coding  Coding
	streams int
}

// enter notes a stream.
func (cs *codings) enter(c Coding) *codedStream {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.used == nil {
		cs.used = make(map[string]*usedCoding)
	}
	u := cs.used[c.Name()]
	if u == nil {
		u = &usedCoding{coding: c}
		cs.used[c.Name()] = u
	}
	u.streams++
	return &codedStream{coding: c, codings: cs}
}

// leave notes that the stream is over.
func (c *codedStream) leave() {
	c.codings.mu.Lock()
	defer c.codings.mu.Unlock()
	name := c.coding.Name()
	u := c.codings.used[name]
	if u.streams--; u.streams == 0 {
		delete(c.codings.used, name)
	}
}

// prepare codes the frame for the streams there are, on a goroutine that no stream
// waits for.
func (cs *codings) prepare(f *Frame) {
	var room [4]Coding
	using := room[:0]
	cs.mu.Lock()
	for _, u := range cs.used {
		using = append(using, u.coding)
	}
	cs.mu.Unlock()
	for _, c := range using {
		if len(f.Body()) > 0 {
			f.form(c, &cs.made)
		}
	}
}
