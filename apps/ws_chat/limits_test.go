// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

// refused reads until something is refused.
func (g *guest) refused(why string) heard {
	g.t.Helper()
	m := g.until("a refusal", func(m heard) bool { return m.T == "refused" })
	if m.Why != why || m.Text == "" {
		g.t.Errorf("refused with %q (%q), want %q and a text", m.Why, m.Text, why)
	}
	return m
}

func TestSmokeTooLong(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	ann, bob := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", "Bob")
	most := strings.Repeat("é", textMax)
	ann.say(most)
	bob.hears(most)
	ref := ann.say(most + "!")
	if m := ann.refused("long"); m.Ref != ref || !strings.Contains(m.Text, "1000") {
		t.Errorf("refused with %+v, want the ref and the bound", m)
	}
	ann.say(" \n\t ")
	ann.refused("empty")
	ann.say("short")
	bob.wants(most, "short")
	if s := statsNow(t, p); s.Long != 1 || s.Fast != 0 {
		t.Errorf("figures %+v; want one that was too long", s)
	}
	ann.say(strings.Repeat("x", messageBytes))
	if code, _, err := ann.End(); code != ws.CodeTooBig || err != nil {
		t.Errorf("a message beyond any: closed with %v, %v; want 1009", code, err)
	}
}

// TestSmokeTooFast: what is too fast is refused and counted, by any worker, and may be
// said again when the time is over; who goes on all the same is closed on.
func TestSmokeTooFast(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	ann, bob := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", "Bob")
	const said = talkBurst + 12 // in less time than 12 more are allowed in
	refused := 0
	began := time.Now()
	for n := range said {
		ann.say(fmt.Sprint(n))
	}
	for answered := 0; answered < said; {
		switch m := ann.next(); m.T {
		case "refused":
			refused++
			answered++
			if m.Why != "fast" || m.Wait <= 0 || m.Wait > talkEvery.Milliseconds()+1 || m.Ref == "" {
				t.Fatalf("refused with %+v; want fast, the ref and a time to wait", m)
			}
		case "message":
			answered++
		}
	}
	more := int(time.Since(began)/talkEvery) + 1
	if most, heard := talkBurst+more, len(ann.texts); heard < talkBurst || heard > most {
		t.Errorf("%d texts were taken, want %d to %d", heard, talkBurst, most)
	}
	bob.wants(ann.texts...)
	if s := statsNow(t, p); s.Fast != uint64(refused) || refused == 0 {
		t.Errorf("figures %+v; want %d that were too fast", s, refused)
	}
	for range 8 * refusalsMax { // faster than any time lets them through
		if ann.Send(ws.OpText, `{"t":"say","text":"again","ref":"again"}`) != nil {
			break
		}
	}
	if code, _, err := ann.End(); code != ws.CodePolicy || err != nil {
		t.Errorf("who goes on: closed with %v, %v; want 1008", code, err)
	}
	if s := statsNow(t, p); s.Cut != 1 {
		t.Errorf("figures %+v; want one socket that was cut", s)
	}
}

// TestSmokeTypingIsBounded: of many signs of typing few are sent.
func TestSmokeTypingIsBounded(t *testing.T) {
	p := start(t)
	ann, bob := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", "Bob")
	bob.send(request{T: "still"}) // answered behind his entering: from then on he hears all
	for m := bob.next(); m.T != "still"; m = bob.next() {
	}
	const signs = 50
	began := time.Now()
	for range signs {
		ann.send(request{T: "typing"})
	}
	ann.say("the end")
	ann.hears("the end")
	most, heard := typingBurst+int(time.Since(began)/typingEvery)+1, 0
	for len(bob.texts) == 0 {
		if m := bob.next(); m.T == "typing" {
			if heard++; m.Name != "Ann" || m.Who != ann.who {
				t.Errorf("%+v is typing, want Ann", m)
			}
		}
	}
	if heard < 1 || heard > most {
		t.Errorf("%d signs of typing came through, want 1 to %d", heard, most)
	}
	if s := statsNow(t, p); s.Typing != uint64(signs-heard) {
		t.Errorf("figures %+v; want %d that were passed over", s, signs-heard)
	}
}

// TestSmokeHostileTextStaysText: it comes as it was said, and nobody can pass for
// another or take over the room's own words.
func TestSmokeHostileTextStaysText(t *testing.T) {
	p := start(t)
	ann, bob := enter(t, p, "lobby", "Ann"), enter(t, p, "lobby", `<b>"Bob"</b>`)
	for i, text := range []string{
		`<script>alert(1)</script>`, `"},{"t":"here","count":0}`, "a\u2028b</textarea>",
		`\u003cimg src=x onerror=alert(1)\u003e`, "a\u202eb", "🫖 ok",
	} {
		bob.say(text)
		if m := ann.hears(text); m.Name != bob.name || m.Who != bob.who || m.Who == ann.who {
			t.Errorf("text %d is of %q (%s)", i, m.Name, m.Who)
		}
	}
	bob.say("line\r\nline\n\n\n\nline\x00\x1b[31m  \n")
	ann.hears("line\nline\n\nline[31m")
	if err := bob.Send(ws.OpText, `{"t":"say","text":"\ud800 half","ref":"half"}`); err != nil {
		t.Fatal(err)
	}
	ann.hears("\ufffd half")
}

func TestSmokeWrongMessagesCloseTheSocket(t *testing.T) {
	p := start(t)
	for text, want := range map[string]ws.Code{
		`hello`: ws.CodeUnsupported, `[]`: ws.CodeUnsupported, `{"t":1}`: ws.CodeUnsupported,
		`{"t":"dance"}`:               ws.CodePolicy,
		`{"t":"say","text":"no ref"}`: ws.CodePolicy,
		`{"t":"enter","room":"tea"}`:  ws.CodePolicy, // once
	} {
		g := enter(t, p, "lobby", "Ann")
		if err := g.Send(ws.OpText, text); err != nil {
			t.Fatal(err)
		}
		if code, _, err := g.End(); code != want || err != nil {
			t.Errorf("%s: closed with %v, %v; want %v", text, code, err, want)
		}
	}
	c := dial(t, p)
	_ = c.Send(ws.OpText, `{"t":"say","text":"a","ref":"a"}`)
	if code, _, err := c.End(); code != ws.CodePolicy || err != nil {
		t.Errorf("who has not entered says something: closed with %v, %v; want 1008", code, err)
	}
}

// TestSmokeTheDoor: what is no name, room or key is refused with a reason, and the next
// try may be right; who does not try is closed on.
func TestSmokeTheDoor(t *testing.T) {
	p := start(t)
	silent := dial(t, p)
	g := &guest{t: t, name: "Ann", Conn: dial(t, p)}
	key := strings.Repeat("k", keyLeast)
	for _, c := range []struct{ why, name, room, key string }{
		{"name", "", "lobby", key}, {"name", " \u200b\u202e\n", "lobby", key},
		{"name", strings.Repeat("n", nameMax+1), "lobby", key},
		{"room", "Ann", "", key}, {"room", "Ann", "Tea", key}, {"room", "Ann", "a/b", key},
		{"room", "Ann", "\x01ws", key}, {"room", "Ann", strings.Repeat("r", nameMax+1), key},
		{"key", "Ann", "lobby", key[1:]}, {"key", "Ann", "lobby", strings.Repeat("k", keyMax+1)},
	} {
		g.send(request{T: "enter", Name: c.name, Room: c.room, Key: c.key})
		g.refused(c.why)
	}
	g.send(request{T: "enter", Name: "  Ann\u202e of\n Tea ", Room: "tea-2", Key: key})
	if m := g.next(); m.T != "welcome" || m.Name != "Ann of Tea" {
		t.Errorf("%+v, want a welcome to Ann of Tea", m)
	}
	_, _, err := silent.Next(enterWait + rawws.Timeout)
	var closed *rawws.Closed
	if !errors.As(err, &closed) || closed.Code != ws.CodePolicy {
		t.Errorf("who does not enter: %v, want a close with 1008", err)
	}
}

func TestSmokeForeignOrigin(t *testing.T) {
	p := start(t)
	addr := strings.TrimPrefix(p.URL, "http://")
	for _, origin := range []string{
		"https://evil.example", "http://" + addr + ".evil.example", "null",
	} {
		c, err := rawws.Dial(p.URL, "/socket", "Origin: "+origin)
		var refused *rawws.Refused
		if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("Origin %s: %v; want 403", origin, err)
		}
		if err == nil {
			c.Close()
		}
	}
	if s := statsNow(t, p); s.Foreign != 3 {
		t.Errorf("figures %+v; want 3 that were refused", s)
	}
	dial(t, p, "Origin: http://"+addr)
}

// TestSmokeCompression: what is long enough is compressed with whoever offers it.
func TestSmokeCompression(t *testing.T) {
	p := start(t)
	plain := dial(t, p)
	packed := dial(t, p, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
	if got := plain.Head.Header.Get("Sec-Websocket-Extensions"); got != "" {
		t.Errorf("nobody offered compression, and %q was agreed on", got)
	}
	got := packed.Head.Header.Get("Sec-Websocket-Extensions")
	if !strings.HasPrefix(got, "permessage-deflate") {
		t.Errorf("agreed on %q, want permessage-deflate", got)
	}
	_ = packed.Send(ws.OpText, `{"t":"enter","room":"tea","name":"Ann","key":"0123456789abcdef"}`)
	first := make([]byte, 2)
	_ = packed.SetReadDeadline(time.Now().Add(rawws.Timeout))
	if _, err := io.ReadFull(packed.Conn, first); err != nil || first[0] != 0xc1 {
		t.Errorf("the welcome begins with %x, %v; want a compressed text (c1)", first, err)
	}
}

// TestSmokePage: all that the page loads is there, and its policy allows no more.
func TestSmokePage(t *testing.T) {
	p := start(t)
	p.CheckPage(t, 5)
}

// TestSmokeRefusesAFileThatIsNone: the start ends with 78.
func TestSmokeRefusesAFileThatIsNone(t *testing.T) {
	for _, workers := range []string{"1", "2"} {
		smoketest.Refused(t, bin, `M0_DB: sqlite: open "/nowhere/chat.db"`,
			"M0_WORKERS="+workers, "M0_DB=/nowhere/chat.db")
	}
}
