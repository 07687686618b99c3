// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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
				h.held.Close(EndClean)
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
	switch p.rng.IntN(2) {
	case 0:
		p.reset, p.gone = true, true
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
	}
	switch rng.IntN(6) {
	case 0, 1:
		p.events = 1 + rng.IntN(20)
		token := fmt.Sprint(i)
		s.byToken[token] = p
		fmt.Fprintf(&script, "GET /hold/%s HTTP/1.1\r\nHost: a\r\n\r\n", token)
		want.WriteString("HTTP/1.1 200 OK\r\nDate: today\r\nTransfer-Encoding: chunked\r\n\r\n")
		for e := p.events - 1; e >= 0; e-- {
			text := fmt.Sprintf("event %d\n", e)
			fmt.Fprintf(&want, "%x\r\n%s\r\n", len(text), text)
		}
		want.WriteString("0\r\n\r\n")
	case 2:
		scriptTalk(&script, &want, 1+rng.IntN(5000))
	}
	p.script, p.want = script.Bytes(), want.Bytes()
	if rng.IntN(4) == 0 {
		p.leaves, p.want = rng.IntN(30), nil
	}
	return p
}

func simulate(t *testing.T, seed uint64) (pauses int) {
	k := newSimKernel(seed)
	s := &simRun{k: k, byToken: map[string]*simPeer{}}
	var all []*simPeer
	for i := range 12 + k.rng.IntN(30) {
		p := s.newPeer(i, rand.New(rand.NewPCG(seed, uint64(i))))
		all = append(all, p)
		k.queue = append(k.queue, p)
	}
	k.peers = append(k.peers, all...)
	var g *Group
	stopped := false
	k.idle = func() {
		if !stopped {
			stopped = true
			g.loops[0].post(note{kind: noteStop})
		}
	}
	var err error
	g, err = newGroup(Config{
		Handler: s, Kernel: k, NeverPool: true, Poll: time.Hour,
		HeadTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	g.loops[0].todo.push(note{kind: noteListen, fd: 3})
	g.start()
	g.ended.Wait()
	g.watchers.Wait()
	refused := int(g.Stats().DroppedDescriptors)
	for i, p := range all {
		whole := bytes.Equal(p.got, p.want)
		switch {
		case p.want == nil || whole:
		case p.harmed && len(p.got) == 0 && refused > 0:
			refused--
		default:
			t.Errorf("seed %d peer %d: got %d bytes, want %d; ends %.60q", seed, i, len(p.got), len(p.want),
				p.got[max(0, len(p.got)-60):])
		}
	}
	for i, src := range s.sources {
		if src.closed != 1 {
			t.Errorf("seed %d source %d: closed %d times, want once", seed, i, src.closed)
		}
	}
	for i, talk := range s.talks {
		pauses += talk.late
		if talk.closed != 1 || talk.wrong != "" {
			t.Errorf("seed %d talk %d: closed %d times, want once; %s", seed, i, talk.closed, talk.wrong)
		}
	}
	for fd, f := range k.fds {
		t.Errorf("seed %d: descriptor %d (%s) is left open", seed, fd, f.kind)
	}
	for _, bad := range k.bad {
		t.Errorf("seed %d: %s", seed, bad)
	}
	if g.conns.Load() != 0 {
		t.Errorf("seed %d: %d connections counted at the end", seed, g.conns.Load())
	}
	if most := 400 * (len(all) + 1) * 10; k.turns > most {
		t.Errorf("seed %d: %d turns, want at most %d: the loop spins", seed, k.turns, most)
	}
	return pauses
}

// TestSimulation runs the real loop over a kernel that fails, from seeds.
func TestSimulation(t *testing.T) {
	pauses, seeds := 0, uint64(1000)
	if testing.Short() {
		seeds = 150
	}
	for seed := range seeds {
		pauses += simulate(t, seed)
		if t.Failed() {
			return
		}
	}
	if pauses == 0 {
		t.Error("no conversation was paused: nothing was seen of it")
	}
}
