// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"m0serve.dev/http/grip"
)

// A thing is a JSON object.
type thing = map[string]any

// startGrip serves the application with the HTTP door.
func startGrip(t *testing.T, workers int, args ...string) *site {
	t.Helper()
	s := start(t, workers, append(args, "--publish-http=127.0.0.1:0", metrics(t))...)
	u, err := grip.ParseURL(string(s.get("200 OK", "/variable?name=GRIP_URL").Body))
	if err != nil {
		t.Fatal(err)
	}
	s.door = u
	return s
}

// items publishes items of GRIP through the HTTP door.
func (s *site) items(items ...thing) {
	s.t.Helper()
	body, err := json.Marshal(thing{"items": items})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest("POST", s.door.Base+"/publish/", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+grip.Sign(grip.Claims{
		Issuer: s.door.Issuer, Expires: inAnHour()}, s.door.Key))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		s.t.Fatalf("publish %s: %s %s", body, resp.Status, text)
	}
}

// streamed is an item for streams; more are pairs of a key and its value.
func streamed(channel, content string, more ...any) thing {
	it := thing{"channel": channel, "http-stream": thing{"content": content}}
	for i := 0; i < len(more); i += 2 {
		it[more[i].(string)] = more[i+1]
	}
	return it
}

// stream is the target of a stream of GRIP in plain text, which begins with "hi".
func stream(parts ...string) string {
	return say(append(parts, "Grip-Hold: stream", "Content-Type: text/plain", "body=hi")...)
}

func TestItemsReachStreamsOfEveryKind(t *testing.T) {
	s := startGrip(t, 1)
	plain, _, _ := s.open(stream("Grip-Channel: a"))
	short, _, _ := s.open(say("M0-Channel: a", "body=: hi\n\n"))
	other, _, _ := s.open(stream("Grip-Channel: b"))
	s.items(streamed("a", "as it is"), streamed("c", "for nobody"))
	s.wantPiece(plain, "as it is")
	s.wantPiece(short, "as it is")
	id := s.publish("a", "an event\nof two lines", "event=note")
	s.wantPiece(plain, "an event\nof two lines")
	s.wantPiece(short, "event: note\nid: "+id+"\ndata: an event\ndata: of two lines\n\n")
	s.silent(other)
	s.items(thing{"channel": "a", "http-stream": thing{"content-bin": "AAEC/w=="}})
	s.wantPiece(plain, "\x00\x01\x02\xff")
}

func TestItemsReachEveryWorker(t *testing.T) {
	s := startGrip(t, 2)
	conns := s.eachWorker(2, stream("Grip-Channel: a"))
	for _, text := range []string{"one", "two", "three"} {
		s.items(streamed("a", text))
		for _, c := range conns {
			s.wantPiece(c, text)
		}
	}
}

func TestItemAnswersLongPolls(t *testing.T) {
	s := startGrip(t, 1)
	c := s.park("Grip-Hold: response", "Grip-Channel: a", "Content-Type: text/plain", "body=nothing")
	s.items(streamed("a", "not for polls"))
	s.items(thing{"channel": "a", "http-response": thing{"code": 201, "reason": "Made",
		"headers": thing{"X-Item": "yes", "Content-Length": "999"}, "body": "the item"}})
	r := s.read(c, "201 Made", "the poll")
	if string(r.Body) != "the item" || r.Get("X-Item") != "yes" || r.Get("Content-Type") != "" {
		t.Errorf("%v %q; want what the item says and no more", r.Fields, r.Body)
	}
}

func TestCloseEndsAStreamBehindWhatWaits(t *testing.T) {
	s := startGrip(t, 1)
	c, _, _ := s.open(stream("Grip-Channel: a"))
	s.items(streamed("a", "last words"),
		thing{"channel": "a", "http-stream": thing{"action": "close"}}, streamed("a", "too late"))
	s.wantPiece(c, "last words")
	s.wantPiece(c, "") // the last chunk
	s.nothingHeld()
}

func TestSameIDIsDeliveredOnce(t *testing.T) {
	s := startGrip(t, 1)
	c, _, _ := s.open(stream("Grip-Channel: a"))
	s.items(streamed("a", "once", "id", "1"))
	s.items(streamed("a", "once", "id", "1"), streamed("a", "then", "id", "2"))
	s.wantPiece(c, "once")
	s.wantPiece(c, "then")
}

func TestItemsComeInTheOrderOfTheirIDs(t *testing.T) {
	s := startGrip(t, 1)
	c, _, _ := s.open(stream("Grip-Channel: a"))
	s.items(streamed("a", "1", "id", "1"))
	s.items(streamed("a", "3", "id", "3", "prev-id", "2"))
	s.items(streamed("a", "2", "id", "2", "prev-id", "1"))
	for _, want := range []string{"1", "2", "3"} {
		s.wantPiece(c, want)
	}
}

// TestFilters is what django-eventstream says of a stream.
func TestFilters(t *testing.T) {
	s := startGrip(t, 1)
	link := "Grip-Link: </next>; rel=next"
	open := func(user string, channels ...string) *rawConn {
		parts := append([]string{"Grip-Hold: stream", "Content-Type: text/event-stream", link,
			`Grip-Set-Meta: id_format="a:%(a)s", user="` + user + `"`,
			"body=id: %I\n100%%\n\n"}, channels...)
		c, _, first := s.open(say(parts...))
		if first != "id: a:7\n100%\n\n" {
			t.Fatalf("the stream begins with %q, want the id in it", first)
		}
		return c
	}
	const all = "Grip-Channel: a; prev-id=7; filter=build-id; filter=skip-users; " +
		"filter=skip-self; filter=require-sub"
	ann := open("ann", all, "Grip-Channel: rights")
	bob := open("bob", all)
	item := func(id, prev string, meta thing, filters ...string) thing {
		it := streamed("a", "id: %I\ndata: 100%%\n\n", "id", id, "prev-id", prev, "meta", meta)
		if filters != nil {
			it["http-stream"].(thing)["content-filters"] = filters
		}
		return it
	}
	s.items(item("8", "7", nil, "build-id"))
	s.wantPiece(ann, "id: a:8\ndata: 100%\n\n")
	s.wantPiece(bob, "id: a:8\ndata: 100%\n\n")
	s.items(item("9", "8", thing{"skip_users": "x,bob"}), item("10", "9", thing{"sender": "bob"}),
		item("11", "10", thing{"require_sub": "rights"}), item("12", "11", nil, "var-subst"),
		item("13", "12", nil))
	for _, id := range []string{"9", "10", "11", "13"} {
		s.wantPiece(ann, "id: a:"+id+"\ndata: 100%\n\n")
	}
	s.wantPiece(bob, "id: a:13\ndata: 100%\n\n")
}

// TestSignatureIsTheServers is what django-grip looks for.
func TestSignatureIsTheServers(t *testing.T) {
	s := startGrip(t, 1)
	var saw map[string]string
	if err := json.Unmarshal(s.get("200 OK", "/seen", "Grip-Sig: forged").Body, &saw); err != nil {
		t.Fatal(err)
	}
	claims, err := grip.Verify(saw["HTTP_GRIP_SIG"], s.door.Key, now())
	if err != nil || claims.Issuer != s.door.Issuer {
		t.Errorf("Grip-Sig %q: %+v, %v; want it signed in the name of %q", saw["HTTP_GRIP_SIG"],
			claims, err, s.door.Issuer)
	}
	if got := saw["HTTP_GRIP_FEATURE"]; got != grip.Features {
		t.Errorf("Grip-Feature %q, want %q", got, grip.Features)
	}
}
