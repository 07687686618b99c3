// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

func start(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, env...)
}

// A heard is any message of the server.
type heard struct {
	T, Who, Name, Room, Text, Ref, Why string
	ID, Wait                           int64
	Worker, Count                      int
	Gap                                bool
	Messages                           []message
	People                             []person
}

// A guest is a client: it keeps what a page would keep.
type guest struct {
	*rawws.Conn
	t                    *testing.T
	name, room, who, key string
	worker               int
	last                 int64    // id of the last message
	texts                []string // that were said, in the order in which they came
	people               []string // as the room last said
	welcome              heard
	said                 int
}

// dial opens a socket that has not entered.
func dial(t *testing.T, p *smoketest.Process, lines ...string) *rawws.Conn {
	t.Helper()
	c, err := rawws.Dial(p.URL, "/socket", lines...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// enter brings somebody into a room.
func enter(t *testing.T, p *smoketest.Process, room, name string) *guest {
	t.Helper()
	g := &guest{t: t, name: name, room: room, key: fmt.Sprintf("%-16s", name+" of "+room)}
	g.back(p)
	return g
}

// back enters, again too, and asks for what was missed.
func (g *guest) back(p *smoketest.Process) {
	g.t.Helper()
	g.Conn = dial(g.t, p)
	g.send(request{T: "enter", Room: g.room, Name: g.name, Key: g.key, Since: g.last})
	m := g.next()
	if m.T != "welcome" || m.Room != g.room || m.Name != g.name {
		g.t.Fatalf("%s enters %s: %+v, want a welcome", g.name, g.room, m)
	}
	g.welcome, g.who, g.worker = m, m.Who, m.Worker
	g.here(m.People)
	for i := range m.Messages {
		if id := m.Messages[i].ID; id <= g.last {
			g.t.Fatalf("%s is told of message %d behind %d", g.name, id, g.last)
		}
		g.take(m.Messages[i].ID, m.Messages[i].Text)
	}
}

func (g *guest) send(r request) {
	g.t.Helper()
	doc, err := json.Marshal(r)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.Send(ws.OpText, string(doc)); err != nil {
		g.t.Fatalf("%s sends: %v", g.name, err)
	}
}

// say says a text with a ref of its own.
func (g *guest) say(text string) (ref string) {
	g.t.Helper()
	g.said++
	ref = fmt.Sprint("ref-", g.said)
	g.send(request{T: "say", Text: text, Ref: ref})
	return ref
}

// read is the next message, or the error that ended the socket.
func (g *guest) read() (m heard, err error) {
	text, err := g.Text()
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		g.t.Errorf("%s gets %q: %v", g.name, text, err)
	}
	switch m.T {
	case "message":
		g.take(m.ID, m.Text)
	case "here":
		g.here(m.People)
	}
	return m, nil
}

func (g *guest) next() heard {
	g.t.Helper()
	m, err := g.read()
	if err != nil {
		g.t.Fatalf("%s on worker %d: %v; heard %q", g.name, g.worker, err, g.texts)
	}
	return m
}

func (g *guest) take(id int64, text string) {
	if id > g.last { // as the protocol has it
		g.last = id
		g.texts = append(g.texts, text)
	}
}

func (g *guest) here(people []person) {
	g.people = nil
	for _, p := range people {
		g.people = append(g.people, p.Name)
	}
}

// until reads until a message is ok.
func (g *guest) until(what string, ok func(heard) bool) heard {
	g.t.Helper()
	deadline := time.Now().Add(smoketest.Patience)
	for {
		m, err := g.read()
		if err == nil && ok(m) {
			return m
		}
		if err != nil || time.Now().After(deadline) {
			g.t.Fatalf("%s on worker %d waits for %s: %v", g.name, g.worker, what, err)
		}
	}
}

// hears reads until it has heard a text.
func (g *guest) hears(text string) heard {
	g.t.Helper()
	return g.until(fmt.Sprintf("the text %q", text), func(m heard) bool {
		return m.T == "message" && m.Text == text
	})
}

// wants compares all that was said.
func (g *guest) wants(texts ...string) {
	g.t.Helper()
	for len(g.texts) < len(texts) {
		g.next()
	}
	if fmt.Sprint(g.texts) != fmt.Sprint(texts) {
		g.t.Errorf("%s on worker %d heard %q, want %q", g.name, g.worker, g.texts, texts)
	}
}

// onBoth enters until both workers have two guests.
func onBoth(t *testing.T, p *smoketest.Process, room string) (guests []*guest) {
	t.Helper()
	var held [2]int
	for i := range 64 {
		g := enter(t, p, room, fmt.Sprint("guest ", i))
		guests = append(guests, g)
		held[g.worker]++
		if held[0] >= 2 && held[1] >= 2 {
			return guests
		}
	}
	t.Fatalf("vacuous: 64 sockets are with workers %v", held)
	return nil
}

// of is one of those that a worker has.
func of(t *testing.T, guests []*guest, worker int) *guest {
	t.Helper()
	for _, g := range guests {
		if g.worker == worker {
			return g
		}
	}
	t.Fatalf("nobody is with worker %d", worker)
	return nil
}

func statsNow(t *testing.T, p *smoketest.Process) (s stats) {
	t.Helper()
	doc, _ := p.Get(t, "/stats")
	if err := json.Unmarshal([]byte(doc), &s); err != nil {
		t.Fatalf("figures %q: %v", doc, err)
	}
	return s
}

// TestSmokeOnceAndInOrder: what people at both workers say at the same time comes to
// every socket of the room once, in one order, with ids that grow.
func TestSmokeOnceAndInOrder(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	guests := onBoth(t, p, "lobby")
	const each = 6
	two := []*guest{of(t, guests, 0), of(t, guests, 1)}
	for n := range each {
		for i, g := range two {
			g.say(fmt.Sprintf("%d-%d", i, n))
		}
	}
	var order []string
	for _, g := range guests {
		ids := make(map[int64]bool)
		for last := int64(0); len(ids) < 2*each; {
			m := g.next()
			if m.T != "message" {
				continue
			}
			if m.ID <= last || ids[m.ID] {
				t.Fatalf("%s on worker %d: id %d behind %d", g.name, g.worker, m.ID, last)
			}
			last, ids[m.ID] = m.ID, true
		}
		if order == nil {
			order = g.texts
		}
		g.wants(order...)
	}
	for i := range two {
		n := 0
		for _, text := range order {
			if text == fmt.Sprintf("%d-%d", i, n) {
				n++
			}
		}
		if n != each {
			t.Errorf("guest %d was heard as %q, want its %d texts in order", i, order, each)
		}
	}
	guests[0].say("the end") // nothing comes twice behind
	for _, g := range guests {
		g.wants(append(order[:2*each:2*each], "the end")...)
	}
}

func TestSmokeARoomHearsNothingOfAnother(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	lobby, tea := onBoth(t, p, "lobby"), onBoth(t, p, "tea")
	of(t, lobby, 0).say("said in the lobby")
	of(t, tea, 1).say("said at tea")
	for _, g := range tea {
		g.wants("said at tea")
	}
	of(t, tea, 1).send(request{T: "typing"})
	for _, g := range tea {
		g.until("typing", func(m heard) bool { return m.T == "typing" && m.Who != "" })
	}
	of(t, lobby, 1).say("last in the lobby")
	for _, g := range lobby {
		for len(g.texts) < 2 {
			if m := g.next(); m.T == "typing" {
				t.Errorf("%s hears who types elsewhere: %+v", g.name, m)
			}
		}
		g.wants("said in the lobby", "last in the lobby")
	}
}

// TestSmokeHistory: who comes late is told what was said, as much as is kept; who comes
// back, what came behind what he knows, or that this is not to be had any more.
func TestSmokeHistory(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	ann, early := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", "Early")
	ann.say("the first")
	ann.hears("the first")
	early.hears("the first")
	early.Close()
	say := func(from, to int) {
		t.Helper()
		for i := from; i < to; i += talkBurst { // a person of its own each time: none is too fast
			g := enter(t, p, "lobby", fmt.Sprint("talker ", i))
			for n := i; n < min(i+talkBurst, to); n++ {
				g.say(fmt.Sprint("text ", n))
				g.hears(fmt.Sprint("text ", n))
			}
			g.Close()
		}
	}
	say(1, 4)
	for range 4 { // of whichever worker
		late := enter(t, p, "lobby", "Late")
		late.wants("the first", "text 1", "text 2", "text 3")
		if late.welcome.Gap {
			t.Error("somebody new is told of a gap")
		}
	}
	early.back(p)
	if early.wants("the first", "text 1", "text 2", "text 3"); early.welcome.Gap {
		t.Error("a gap where all is kept")
	}
	early.Close()
	knows := early.last
	say(4, historyMax+6)
	late := enter(t, p, "lobby", "Late")
	first, last := late.texts[0], late.texts[len(late.texts)-1]
	if len(late.texts) != historyMax || first != "text 6" || last != "text 105" {
		t.Errorf("history of %d texts, %q to %q; want %d, text 6 to text 105",
			len(late.texts), first, last, historyMax)
	}
	early.last = knows
	if early.back(p); !early.welcome.Gap {
		t.Error("texts 4 and 5 were missed and are not kept: want a gap")
	}
}

// TestSmokeWhoIsHere: people are counted over both workers and once each; those who
// leave, also by dying with their worker, are gone.
func TestSmokeWhoIsHere(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	guests := onBoth(t, p, "lobby")
	count := func(g *guest, n int) {
		t.Helper()
		g.until(fmt.Sprintf("a count of %d", n), func(m heard) bool {
			return m.T == "here" && m.Count == n
		})
		if len(g.people) != n {
			t.Errorf("%d are here and called %q", n, g.people)
		}
	}
	for _, g := range guests {
		if g != guests[len(guests)-1] { // the last was told when it came
			count(g, len(guests))
		}
	}
	again := &guest{t: t, name: "again", room: "lobby", key: guests[0].key}
	again.back(p)
	if n := again.welcome.Count; again.who != guests[0].who || n != len(guests) {
		t.Fatalf("a second tab is %s, of %d; want %s, counted once of %d",
			again.who, n, guests[0].who, len(guests))
	}
	again.Close()
	stays, n := of(t, guests, 0), len(guests)
	guest := enter(t, p, "lobby", "for a moment")
	count(stays, n+1)
	guest.Close()
	count(stays, n)
	for _, g := range guests {
		if g.worker == 1 {
			n--
		}
	}
	smoketest.Kill(t, p.Workers(t)[1], syscall.SIGKILL)
	count(stays, n)
}
