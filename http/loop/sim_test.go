// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/seeds"
)

// A simPeer is a client that acts at random times: it sends pieces of its
// requests, takes answers in pieces, and may leave in any way.
type simPeer struct {
	at         time.Duration // of its next act
	rng        *rand.Rand
	script     []byte // not sent yet
	want       []byte // the answers, as they must come; nil: it leaves early
	got        []byte
	toServer   []byte
	fromServer []byte // written by the loop, not taken
	window     int
	fin, reset bool // what the peer did
	serverFin  bool
	closed     bool // the loop closed its descriptor
	harmed     bool // … with an RST
	gone       bool
	leaves     int // acts before it leaves early; -1: never
	patience   int // acts without progress
	held       *simSource
	events     int // to publish on the held stream
	ending     Ending
	talks      bool  // its last request begins a conversation
	ends       []int // lengths of want at which an answer, or a frame of one, is whole
}

// act does one thing.
func (p *simPeer) act(k *simKernel) {
	p.at = k.now + time.Duration(1+p.rng.IntN(4000))*time.Microsecond
	if p.leaves == 0 {
		p.leave()
		return
	}
	p.leaves--
	switch p.rng.IntN(4) {
	case 0, 1:
		n := min(len(p.script), 1+p.rng.IntN(400))
		if p.rng.IntN(3) == 0 {
			n = len(p.script)
		}
		p.toServer = append(p.toServer, p.script[:n]...)
		p.script = p.script[n:]
	case 2:
		n := len(p.fromServer)
		if n > 0 {
			p.patience = 0
		}
		if n > 1 && p.rng.IntN(2) == 0 {
			n = 1 + p.rng.IntN(n)
		}
		p.got = append(p.got, p.fromServer[:n]...)
		p.fromServer = p.fromServer[n:]
	case 3:
		if h := p.held; h != nil && h.held != nil && p.events > 0 {
			p.events--
			h.put(fmt.Sprintf("event %d\n", p.events))
			if p.events == 0 {
				h.held.Close(p.ending)
			}
		}
	}
	p.patience++
	if len(p.script) == 0 && len(p.fromServer) == 0 && p.want != nil && len(p.got) >= len(p.want) {
		p.fin = true // satisfied: wait for the server's FIN
		p.gone = p.closed
	}
	if p.patience > 400 {
		p.gone = true
	}
}

// leave ends the peer's side early.
func (p *simPeer) leave() {
	p.leaves = -1
	switch p.rng.IntN(3) {
	case 0:
		p.reset, p.gone = true, true
	case 1:
		p.gone = true // without a word: its cable was cut
	default:
		p.fin, p.script = true, nil
		p.patience = 300
		p.window = 1 << 20
	}
}

// A simSource is a Source of chunked frames.
type simSource struct {
	held   Held
	frames [][]byte
	closed int
}

func (s *simSource) put(text string) {
	s.frames = append(s.frames, fmt.Appendf(nil, "%x\r\n%s\r\n", len(text), text))
	s.held.Wake()
}

func (s *simSource) Next() []byte {
	if len(s.frames) == 0 {
		return nil
	}
	f := s.frames[0]
	s.frames = s.frames[1:]
	return f
}

func (s *simSource) Received([]byte) bool { return true }
func (s *simSource) Closed(Reason)        { s.closed++ }

// A simRun is one seed.
type simRun struct {
	k       *simKernel
	g       *Group
	all     []*simPeer
	byToken map[string]*simPeer
	sources []*simSource
	talks   []*simTalk
	served  int
}

// Serve implements Handler: an echo, and streams under /hold.
func (s *simRun) Serve(x *Exchange) {
	s.served++
	_ = x.Field("Date", "today")
	if token, is := strings.CutPrefix(string(x.Request().Path), "/hold/"); is {
		src := &simSource{}
		held, _, err := x.HoldConn(src)
		if err == nil {
			src.held = held
			s.sources = append(s.sources, src)
			s.byToken[token].held = src
		}
		return
	}
	if n, is := strings.CutPrefix(string(x.Request().Path), "/talk/"); is {
		s.talk(x, n)
		return
	}
	body, _ := x.Body()
	_, _ = x.WriteString(string(x.Request().Path))
	_, _ = x.Write(body)
}

// newPeer scripts a peer: some requests, then perhaps a stream.
func (s *simRun) newPeer(i int, rng *rand.Rand) *simPeer {
	p := &simPeer{rng: rng, window: 100 + rng.IntN(4000), leaves: -1}
	p.at = time.Duration(rng.IntN(200_000)) * time.Microsecond
	var script, want bytes.Buffer
	for n := range 1 + rng.IntN(6) {
		path := fmt.Sprintf("/%d/%d", i, n)
		pad := strings.Repeat("p", rng.IntN(300))
		body := strings.Repeat("b", rng.IntN(3)*rng.IntN(2000))
		fmt.Fprintf(&script, "POST %s HTTP/1.1\r\nHost: a\r\nX: %s\r\nContent-Length: %d\r\n\r\n%s",
			path, pad, len(body), body)
		fmt.Fprintf(&want, "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: %d\r\n\r\n%s%s",
			len(path)+len(body), path, body)
		p.ends = append(p.ends, want.Len())
	}
	switch rng.IntN(6) {
	case 0, 1:
		p.events = 1 + rng.IntN(20)
		token := fmt.Sprint(i)
		s.byToken[token] = p
		fmt.Fprintf(&script, "GET /hold/%s HTTP/1.1\r\nHost: a\r\n\r\n", token)
		want.WriteString("HTTP/1.1 200 OK\r\nDate: today\r\nTransfer-Encoding: chunked\r\n\r\n")
		p.ends = append(p.ends, want.Len())
		for e := p.events - 1; e >= 0; e-- {
			text := fmt.Sprintf("event %d\n", e)
			fmt.Fprintf(&want, "%x\r\n%s\r\n", len(text), text)
			p.ends = append(p.ends, want.Len())
		}
		want.WriteString("0\r\n\r\n")
	case 2:
		p.talks = true
		scriptTalk(&script, &want, 1+rng.IntN(5000))
	}
	p.script, p.want = script.Bytes(), want.Bytes()
	if rng.IntN(4) == 0 {
		p.leaves, p.want = rng.IntN(30), nil
	}
	return p
}

// newSimRun makes the peers of a seed.
func newSimRun(seed uint64) *simRun {
	k := newSimKernel(seed)
	s := &simRun{k: k, byToken: map[string]*simPeer{}}
	for i := range 12 + k.rng.IntN(30) {
		p := s.newPeer(i, rand.New(rand.NewPCG(seed, uint64(i))))
		s.all = append(s.all, p)
		k.queue = append(k.queue, p)
	}
	k.peers = append(k.peers, s.all...)
	return s
}

// config is that of a Group over k. A handler is never late there.
func (s *simRun) config() Config {
	return Config{
		Handler: s, Kernel: s.k, NeverPool: true, Poll: time.Hour,
		HeadTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// live runs the loop until nothing will ever happen again.
func (s *simRun) live(t *testing.T) {
	t.Helper()
	var err error
	s.k.idle = func() { s.g.loops[0].post(note{kind: noteStop}) }
	if s.g, err = newGroup(s.config()); err != nil {
		t.Fatal(err)
	}
	s.g.loops[0].todo.push(note{kind: noteListen, fd: 3})
	s.g.start()
	s.g.ended.Wait()
	s.g.watchers.Wait()
}

func simulate(t *testing.T, seed uint64) (pauses int) {
	s := newSimRun(seed)
	s.live(t)
	// A full table costs connections, and so does a poller without memory.
	lost := int(s.g.Stats().DroppedDescriptors) + s.k.unwatched
	for i, p := range s.all {
		switch {
		case p.want == nil || bytes.Equal(p.got, p.want):
		case p.closed && len(p.got) == 0 && lost > 0:
			lost--
		default:
			t.Errorf("peer %d: got %d bytes, want %d; ends %.60q", i, len(p.got), len(p.want),
				p.got[max(0, len(p.got)-60):])
		}
	}
	s.check(t)
	for _, talk := range s.talks {
		pauses += talk.late
	}
	return pauses
}

// check wants what holds at the end of every run.
func (s *simRun) check(t *testing.T) {
	t.Helper()
	for i, src := range s.sources {
		if src.closed != 1 {
			t.Errorf("source %d: closed %d times, want once", i, src.closed)
		}
	}
	for i, talk := range s.talks {
		if talk.closed != 1 || talk.wrong != "" {
			t.Errorf("talk %d: closed %d times, want once; %s", i, talk.closed, talk.wrong)
		}
	}
	for fd, f := range s.k.fds {
		t.Errorf("descriptor %d (%s) is left open", fd, f.kind)
	}
	for _, bad := range s.k.bad {
		t.Error(bad)
	}
	if n := s.g.conns.Load(); n != 0 {
		t.Errorf("%d connections counted at the end", n)
	}
	if most := 400 * (len(s.all) + 1) * 10; s.k.turns > most {
		t.Errorf("%d turns, want at most %d: the loop spins", s.k.turns, most)
	}
}

// TestSimulation runs the real loop over a kernel that fails, from seeds.
func TestSimulation(t *testing.T) {
	pauses, runs := 0, 0
	seeds.Each(t, 2000, 100, func(seed uint64) { pauses += simulate(t, seed); runs++ })
	if pauses == 0 && runs >= 100 {
		t.Error("no conversation was paused: nothing was seen of it")
	}
}

// simDrainMax bounds a drain: a peer that stands still has the time of a head or
// of a write, and may linger.
const simDrainMax = 30*time.Second + 30*time.Second + 2*time.Second

// simulateDrain ends the service of a seed in the middle: what has begun is
// answered whole, streams end behind a whole frame, and it is over in time.
func simulateDrain(t *testing.T, seed uint64) (whole int) {
	s := newSimRun(seed)
	k := s.k
	begin := time.Duration(k.rng.IntN(300)) * time.Millisecond
	k.plan(begin, func() { s.g.Drain() })
	for after := time.Second; after < simDrainMax; after += time.Second { // as server does
		k.plan(begin+after, func() { s.g.CutHeld() })
	}
	k.plan(begin+simDrainMax, func() {
		if !s.g.Empty() {
			t.Errorf("the drain leaves %d connections after %v", s.g.conns.Load(), simDrainMax)
		}
	})
	s.live(t)
	for i, p := range s.all {
		got := bytes.ReplaceAll(p.got, []byte("Connection: close\r\n"), nil)
		ended := len(got) == 0 || slices.Contains(p.ends, len(got)) || len(got) == len(p.want)
		switch {
		case p.want == nil || len(p.fromServer) > 0:
		case !bytes.HasPrefix(p.want, got), !ended && !p.talks:
			t.Errorf("peer %d: got %d bytes, want the first answers of %d; ends %.60q", i, len(got),
				len(p.want), got[max(0, len(got)-60):])
		case len(got) > 0:
			whole++
		}
	}
	s.check(t)
	return whole
}

// TestSimulatedDrain runs drains of the real loop over a kernel that fails.
func TestSimulatedDrain(t *testing.T) {
	whole, runs := 0, 0
	seeds.Each(t, 2000, 100, func(seed uint64) { whole += simulateDrain(t, seed); runs++ })
	if whole < runs {
		t.Errorf("%d peers got answers in %d runs: nothing was seen of a drain", whole, runs)
	}
}
