// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

// TestSmokeKilledWorker: the sockets of a worker that died come back, to whichever
// worker, with what was said meanwhile, and what was not confirmed is said once.
func TestSmokeKilledWorker(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	guests := onBoth(t, p, "lobby")
	of(t, guests, 1).say("before")
	for _, g := range guests {
		g.hears("before")
	}
	stays := of(t, guests, 0)
	var lost []*guest
	for _, g := range guests {
		if g.worker == 1 {
			lost = append(lost, g)
		}
	}
	smoketest.Kill(t, p.Workers(t)[1], syscall.SIGKILL)
	for _, g := range lost {
		if code, _, err := g.End(); err != nil && code != 0 || code == ws.CodeNormal {
			t.Errorf("a socket of a killed worker ended with %v, %v", code, err)
		}
	}
	stays.say("meanwhile")
	stays.hears("meanwhile")
	p.AwaitAnswer(t, "/stats", 1)
	for _, g := range lost {
		g.back(p)
		g.wants("before", "meanwhile")
	}
	lost[0].send(request{T: "say", Text: "before", Ref: "ref-1"}) // not confirmed, he thinks
	if m := lost[0].hears("before"); m.ID >= lost[0].last || m.Ref != "ref-1" {
		t.Errorf("said again: %+v; want the one of then", m)
	}
	lost[0].say("after") // "ref-1" of then was another's
	for _, g := range guests {
		g.wants("before", "meanwhile", "after")
	}
	for worker := 0; worker < 2; { // the new worker knows it all
		if g := enter(t, p, "lobby", "new"); g.worker == worker {
			g.wants("before", "meanwhile", "after")
			worker++
		}
	}
	if s := statsNow(t, p); s.Again != 1 {
		t.Errorf("figures %+v; want one text that was known", s)
	}
}

// TestSmokeStop: a stop closes sockets with 1012, and what was said outlives it.
func TestSmokeStop(t *testing.T) {
	db := "M0_DB=" + t.TempDir() + "/chat.db"
	p := start(t, "M0_WORKERS=2", db)
	guests := onBoth(t, p, "lobby")
	guests[0].say("kept")
	for _, g := range guests {
		g.hears("kept")
	}
	p.Signal(t, syscall.SIGTERM)
	for _, g := range guests {
		if code, _, err := g.End(); code != ws.CodeRestart || err != nil {
			t.Errorf("%s on worker %d: closed with %v, %v; want 1012", g.name, g.worker, code, err)
		}
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	p = start(t, "M0_WORKERS=2", db)
	g := guests[1]
	g.back(p)
	g.wants("kept") // and not again
	late := enter(t, p, "lobby", "Late")
	late.wants("kept")
	late.Close()
	if fmt.Sprint(g.people) != "["+g.name+"]" {
		t.Errorf("behind a restart %q are here, want %s alone", g.people, g.name)
	}
	g.say("goes on")
	g.wants("kept", "goes on")
}

// TestSmokeRollingRestart: both workers are replaced while people talk and come back
// when they are sent away; nobody misses anything.
func TestSmokeRollingRestart(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	old := p.Workers(t)
	ann, bob := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", "Bob")
	p.Signal(t, syscall.SIGHUP)
	replaced := func() bool {
		now := p.Workers(t)
		return len(now) == 2 && now[0] != old[0] && now[1] != old[1]
	}
	var said []string
	for more := 4; more > 0; {
		text := fmt.Sprint("text ", len(said))
		said = append(said, text)
		ann.sayForSure(p, text)
		if replaced() {
			more--
		}
		time.Sleep(talkEvery) // what a person may say in the long run
	}
	for len(bob.texts) < len(said) {
		if _, err := bob.read(); err != nil {
			bob.sentAway(p, err)
		}
	}
	ann.wants(said...)
	bob.wants(said...)
	if p.AwaitAnswer(t, "/stats", 1); len(said) < 5 {
		t.Errorf("vacuous: %d texts", len(said))
	}
}

// sayForSure says a text until it comes back.
func (g *guest) sayForSure(p *smoketest.Process, text string) {
	g.t.Helper()
	g.said++
	r := request{T: "say", Text: text, Ref: fmt.Sprint("ref-", g.said)}
	g.send(r)
	for deadline := time.Now().Add(smoketest.Patience); len(g.texts) < g.said; {
		if time.Now().After(deadline) {
			g.t.Fatalf("%q never came back", text)
		}
		if _, err := g.read(); err != nil {
			if g.sentAway(p, err); len(g.texts) < g.said {
				g.send(r)
			}
		}
	}
}

// sentAway comes back from a close for a restart.
func (g *guest) sentAway(p *smoketest.Process, err error) {
	g.t.Helper()
	var closed *rawws.Closed
	if !errors.As(err, &closed) || closed.Code != ws.CodeRestart {
		g.t.Fatalf("%s lost its socket: %v; want a close with 1012", g.name, err)
	}
	g.Close()
	g.back(p)
}
