// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A simTalk is a Conversation that echoes a known number of bytes and ends then.
// Now and then it pauses, in the middle of what it is given, until its alarm.
type simTalk struct {
	rng    *rand.Rand
	held   Held
	left   int
	kept   []byte
	out    []byte
	paused bool
	drains bool
	late   int
	closed int
	wrong  string
}

func (s *simTalk) Received(b []byte) bool {
	switch {
	case s.paused:
		s.wrong = "Received in a pause"
	case len(b) > 0 && len(s.kept) > 0:
		s.wrong = "Received bytes before those of the pause"
	}
	b = append(s.kept, b...)
	s.kept = nil
	for len(b) > 0 {
		n := 1 + s.rng.IntN(len(b))
		s.out = append(s.out, b[:n]...)
		s.left -= n
		if b = b[n:]; s.rng.IntN(4) == 0 {
			s.kept = bytes.Clone(b)
			s.paused = true
			s.held.(Alarm).Alarm(time.Duration(s.rng.IntN(20_000_000)))
			break
		}
	}
	s.held.Wake()
	if s.left <= 0 {
		s.held.Close(EndClean)
	}
	return true
}

func (s *simTalk) Next() []byte {
	out := s.out
	s.out = nil
	return out
}

func (s *simTalk) Kept() bool { return len(s.kept) > 0 }

func (s *simTalk) Paused() bool { return s.paused }

func (s *simTalk) Late() {
	s.late++
	s.paused = false
	if s.drains {
		s.held.Close(EndCut)
	}
	s.held.Wake()
}

// Drain gives the peer a moment more, and a pause its end.
func (s *simTalk) Drain() {
	if !s.drains && !s.paused {
		s.held.(Alarm).Alarm(3 * time.Second)
	}
	s.drains = true
}

func (s *simTalk) Closed(Reason) { s.closed++ }

// talk is the handler of /talk/n.
func (s *simRun) talk(x *Exchange, n string) {
	talk := &simTalk{rng: rand.New(rand.NewPCG(uint64(len(s.talks)), 7))}
	_, _ = fmt.Sscan(n, &talk.left)
	x.SetStatus(101)
	held, _, err := x.HoldConn(talk)
	if err == nil {
		talk.held = held
		s.talks = append(s.talks, talk)
		if talk.rng.IntN(2) == 0 { // before anything was read
			talk.paused = true
			held.(Alarm).Alarm(5 * time.Millisecond)
		}
	}
}

// scriptTalk lets a peer end in a conversation of n bytes.
func scriptTalk(script, want *bytes.Buffer, n int) {
	fmt.Fprintf(script, "GET /talk/%d HTTP/1.1\r\nHost: a\r\n\r\n", n)
	want.WriteString("HTTP/1.1 101 Switching Protocols\r\nDate: today\r\n\r\n")
	for i := range n {
		script.WriteByte('a' + byte(i%26))
		want.WriteByte('a' + byte(i%26))
	}
}

// TestKeptBytesAreHeardWhenThePauseIsOver: a pause that ends between the moment in
// which Received has seen it and its return leaves nothing behind.
func TestKeptBytesAreHeardWhenThePauseIsOver(t *testing.T) {
	for _, kept := range []bool{false, true} {
		l, c := simConn(t, &simPeer{window: 1000})
		talk := &simTalk{}
		if kept {
			talk.kept = []byte("behind the pause")
		}
		h := newHeld(l, talk)
		h.c, h.busy = c, true
		c.held, c.state = h, stateHeld
		l.heard(c, h)
		if h.noted != kept {
			t.Errorf("kept %v: Received is called again %v, want %v", kept, h.noted, kept)
		}
		l.release()
	}
}
