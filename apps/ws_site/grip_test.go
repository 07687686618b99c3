// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/ws"
)

// startGrip serves the application with a door for GRIP, which makes the server speak
// WebSocket-over-HTTP.
func startGrip(t *testing.T) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	return start(t, 1, fmt.Sprint("--publish-http=127.0.0.1:", smoketest.FreePort(t)))
}

// events is the target of a socket whose opening is answered like that; see events.py.
func (s *site) events(parts ...string) string {
	q := url.Values{"id": {s.t.Name()}}
	for _, p := range parts {
		name, value, found := strings.Cut(p, "=")
		if !found || strings.Contains(name, ":") {
			name, value = "f", p
		}
		q.Add(name, value)
	}
	return "/events?" + q.Encode()
}

// An asked is a request that the view has got.
type asked struct {
	Body   string
	Fields map[string]string
}

// replayed is how many bytes the request says again.
func (a asked) replayed() string { return a.Fields["HTTP_CONTENT_BYTES_REPLAYED"] }

// asked waits until the view was asked so often, and gives the last request.
func (s *site) asked(times int) asked {
	s.t.Helper()
	var all []asked
	smoketest.Until(s.t, fmt.Sprint(times, " requests"), func() bool {
		text := s.do(200, "GET", "/asked?"+url.QueryEscape(s.t.Name()))
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			s.t.Fatalf("/asked = %q: %v", text, err)
		}
		return len(all) >= times
	})
	if len(all) != times {
		s.t.Fatalf("the view was asked %d times, want %d: %v", len(all), times, all)
	}
	return all[times-1]
}

// text is a TEXT event.
func text(content string) string {
	return string(grip.AppendEvent(nil, grip.Event{Type: grip.EventText, Content: []byte(content)}))
}

// onGrip accepts with the extension; list are further events.
func (s *site) onGrip(list ...string) string {
	return s.events("Sec-WebSocket-Extensions: grip", "body=OPEN\r\n"+strings.Join(list, ""))
}

// say sends a message whose answer has these events.
func (c *socket) say(list ...string) {
	c.t.Helper()
	var latin1 []rune // which is what JSON can hold
	for _, b := range []byte(strings.Join(list, "")) {
		latin1 = append(latin1, rune(b))
	}
	c.send(tell(map[string]any{"body": string(latin1)}))
}

// TestGripOpening: the opening is offered as events first; what is no such answer is
// followed by the GET.
func TestGripOpening(t *testing.T) {
	play(t, startGrip(t), []testCase{
		{"request", gripOpeningRequest},
		{"without-extension", func(_ *testing.T, s *site) {
			s.open(s.events("body=OPEN\r\n" + text("c:{}") + text("m:x"))).want("c:{}")
		}},
		{"in-our-words", func(_ *testing.T, s *site) { s.open(on("a", "body=hello")).want("hello") }},
		{"by-the-GET", func(_ *testing.T, s *site) {
			c := s.open(s.events("status=405 No", "get=200 OK", "getf=M0-Hold: websocket"))
			c.want("of the GET")
			c.send("a")
			c.want("echo a")
		}},
		{"refusal-of-the-POST", func(t *testing.T, s *site) {
			for _, get := range []string{"400 Bad", "404 No", "405 No"} {
				r := s.refused(403, s.events("status=403 No", "body=of the POST", "get="+get))
				if r.Body != "of the POST" {
					t.Errorf("refusal %q, want that of the POST", r.Body)
				}
			}
		}},
		{"refusal-of-the-GET", func(t *testing.T, s *site) {
			r := s.refused(401, s.events("status=403 No", "body=of the POST", "get=401 No"))
			if r.Body != "of the GET" {
				t.Errorf("refusal %q, want that of the GET", r.Body)
			}
		}},
		{"interval-alone", func(_ *testing.T, s *site) {
			s.open(s.events("body=", "Keep-Alive-Interval: 20")).silent()
		}},
		{"not-valid", func(_ *testing.T, s *site) {
			s.refused(502, s.events("body="))
			s.refused(502, s.events("body="+text("m:early")+"OPEN\r\n"))
			s.refused(502, s.events("body=OPEN\r\nnonsense"))
			s.refused(502, s.events("Keep-Alive-Interval: soon"))
		}},
		{"reserved-channel", func(_ *testing.T, s *site) { // contract row B4
			c := s.open(s.onGrip(text(`c:{"type":"subscribe","channel":"\u0001grip"}`)))
			_, _, err := c.Next(3 * time.Second)
			var closed *rawws.Closed
			if !errors.As(err, &closed) || closed.Code != ws.CodeInternal {
				s.t.Errorf("a reserved name is answered by %v, want 1011", err)
			}
		}},
		{"closed-at-once", func(_ *testing.T, s *site) {
			c := s.open(s.onGrip(text("m:bye"), "CLOSE 2\r\n\x0f\xa1\r\n"))
			c.want("bye")
			c.wantEnd(4001)
		}},
		{"forged", gripForged},
	})
}

// TestGripOfAnOperator: a GRIP_URL of the operator's says that GRIP is spoken like the one
// of our door, of sockets as of all other requests.
func TestGripOfAnOperator(t *testing.T) {
	s := startWith(t, pyserver.Config{Workers: 1, Threads: 1,
		Env: []string{"GRIP_URL=http://127.0.0.1:5561/?iss=m0&key=secret"}})
	gripForged(t, s)
	gripOpeningRequest(t, s)
}

func gripOpeningRequest(t *testing.T, s *site) {
	s.open(s.events("Sec-WebSocket-Extensions: grip"), "Cookie: a=b", "Meta-User: mine",
		"Connection-Id: mine", "Grip-Sig: mine", "Content-Bytes-Replayed: 7")
	got := s.asked(1)
	for name, want := range map[string]string{
		"REQUEST_METHOD": "POST", "PATH_INFO": "/events", "CONTENT_TYPE": grip.EventsType,
		"HTTP_ACCEPT": grip.EventsType, "HTTP_SEC_WEBSOCKET_EXTENSIONS": "grip", "HTTP_COOKIE": "a=b",
		"CONTENT_LENGTH": "6", "HTTP_META_USER": "", "HTTP_CONTENT_BYTES_REPLAYED": "",
		"HTTP_UPGRADE": "", "HTTP_SEC_WEBSOCKET_KEY": "",
	} {
		if got.Fields[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Fields[name], want)
		}
	}
	if got.Body != "OPEN\r\n" {
		t.Errorf("the body is %q", got.Body)
	}
	if id := got.Fields["HTTP_CONNECTION_ID"]; len(id) < 20 {
		t.Errorf("Connection-Id is %q", id)
	}
	if sig := got.Fields["HTTP_GRIP_SIG"]; strings.Count(sig, ".") != 2 || strings.Contains(sig, ",") {
		t.Errorf("Grip-Sig is %q, want one token", sig)
	}
}

// gripForged: nobody on the wire speaks as the server.
func gripForged(t *testing.T, s *site) {
	for _, kind := range []string{grip.EventsType, "Application/WebSocket-Events; a=b"} {
		resp, err := http.Post(s.URL+s.events(), kind, strings.NewReader("OPEN\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 415 {
			t.Errorf("POST of %s = %s %q, want 415", kind, resp.Status, body)
		}
	}
}

// TestGripTalk: events there and back.
func TestGripTalk(t *testing.T) {
	play(t, startGrip(t), []testCase{
		{"both-ways", func(t *testing.T, s *site) {
			c := s.open(s.onGrip())
			c.say(text("m:one"), text("lost"), "BINARY 4\r\nm:\x00\xff\r\n",
				"PONG 1\r\nx\r\n", text("m:two"))
			c.want("one")
			c.wantBinary("\x00\xff")
			if op, data, err := c.Next(rawws.Timeout); op != ws.OpPong || data != "x" || err != nil {
				t.Errorf("PONG is %d %q, %v", op, data, err)
			}
			c.want("two")
		}},
		{"prefix", func(_ *testing.T, s *site) {
			c := s.open(s.events(`Sec-WebSocket-Extensions: grip; message-prefix="say "`))
			c.say(text("m:lost"), text("say hello"))
			c.want("hello")
		}},
		{"meta", func(t *testing.T, s *site) {
			c := s.open(s.events("Set-Meta-User: ann", "Set-Meta-Room: a"))
			c.send(tell(map[string]any{"f": []string{"Set-Meta-Room: "}}))
			if f := s.asked(2).Fields; f["HTTP_META_USER"] != "ann" || f["HTTP_META_ROOM"] != "a" {
				t.Errorf("Meta-* of the second request: %v", f)
			}
			c.send("again")
			if f := s.asked(3).Fields; f["HTTP_META_USER"] != "ann" || f["HTTP_META_ROOM"] != "" {
				t.Errorf("Meta-* of the third request: %v", f)
			}
		}},
		{"accepted-in-part", gripAccepted},
		{"delayed", gripDelayed},
		{"keep-alive", gripKeepAlive},
		{"filters", gripFilters},
		{"items-for-all", func(_ *testing.T, s *site) {
			ours := s.open(on("mixed"))
			plain := s.open(s.onGrip(text(`c:{"type":"subscribe","channel":"mixed"}`)))
			s.item("mixed", "an item")
			s.publish("mixed", "an event")
			for _, c := range []*socket{ours, plain} {
				c.want("an item")
				c.want("an event")
			}
		}},
		{"client-closes", func(t *testing.T, s *site) {
			c := s.open(s.onGrip())
			c.send("last words")
			_ = c.CloseWith(4005, "off")
			c.wantEnd(4005)
			smoketest.Until(t, "the close", func() bool {
				return strings.Contains(s.do(200, "GET", "/asked?"+url.QueryEscape(t.Name())), "CLOSE 5")
			})
		}},
		{"client-is-gone", func(t *testing.T, s *site) {
			c := s.open(s.onGrip())
			c.Close()
			if got := s.asked(2).Body; got != "DISCONNECT\r\n" {
				t.Errorf("the view was told %q", got)
			}
		}},
	})
}

// TestGripFailures: what is no answer to events closes the socket with a code for it.
func TestGripFailures(t *testing.T) {
	s := startGrip(t)
	for name, c := range map[string]struct {
		told map[string]any
		code ws.Code
	}{
		"failed":      {map[string]any{"status": "500 No"}, ws.CodeInternal},
		"forbidden":   {map[string]any{"status": "403 No"}, ws.CodePolicy},
		"busy":        {map[string]any{"status": "503 No"}, ws.CodeOverload},
		"no-events":   {map[string]any{"f": []string{"Content-Type: text/html"}}, ws.CodeInternal},
		"bad-events":  {map[string]any{"body": "NONSENSE\r\n"}, ws.CodeInternal},
		"bad-control": {map[string]any{"body": text("c:{}")}, ws.CodeInternal},
		"close-code":  {map[string]any{"body": "CLOSE 2\r\n\x03\xee\r\n"}, ws.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{s.Process, t}
			w := s.open(s.onGrip())
			w.send(tell(c.told))
			w.wantEnd(c.code)
		})
	}
}

// gripAccepted: what the application does not accept is said again: at once where it
// has accepted something, else with what is new.
func gripAccepted(t *testing.T, s *site) {
	c := s.open(s.onGrip())
	c.send(tell(map[string]any{"f": []string{"Content-Bytes-Accepted: 4"}}))
	got := s.asked(3)
	rest := tell(map[string]any{"f": []string{"Content-Bytes-Accepted: 4"}})[4:]
	if n := got.replayed(); got.Body != text(rest) || n != fmt.Sprint(len(rest)) {
		t.Errorf("behind 4 accepted bytes came %q, replayed %s; want %q", got.Body, n, rest)
	}
	order := tell(map[string]any{"f": []string{"Content-Bytes-Accepted: 0"}})
	c.send(order)
	if got := s.asked(4); got.Body != text(order) || got.replayed() != "" {
		t.Errorf("behind what was accepted came %q %v, want the next alone", got.Body, got.Fields)
	}
	c.silent()
	s.asked(4) // nothing was accepted, and nothing is new
	c.send("x")
	got = s.asked(5)
	n := got.replayed()
	if got.Body != text(order)+text("x") || n != fmt.Sprint(len(order)) {
		t.Errorf("behind no accepted byte came %q, replayed %s; want it again and x", got.Body, n)
	}
}

// gripDelayed: a delayed message waits, the next takes its place, and a flush sends it.
func gripDelayed(t *testing.T, s *site) {
	c := s.open(s.onGrip())
	began := time.Now()
	c.say(text(`c:{"type":"send-delayed","content":"first","timeout":60}`),
		text(`c:{"type":"send-delayed","content":"second","timeout":1}`), text("m:now"))
	c.want("now")
	c.want("second")
	if took := time.Since(began); took < time.Second {
		t.Errorf("a message that was to wait a second came after %v", took)
	}
	c.say(text(`c:{"type":"send-delayed","content":"third","timeout":60}`),
		text(`c:{"type":"flush-delayed"}`), text(`c:{"type":"flush-delayed"}`), text("m:behind"))
	c.want("third")
	c.want("behind")
}

// gripKeepAlive: a client that hears nothing is told something.
func gripKeepAlive(t *testing.T, s *site) {
	c := s.open(s.onGrip())
	c.say(text(`c:{"type":"keep-alive","content":"still here","timeout":1}`))
	c.want("still here")
	c.want("still here")
	c.say(text(`c:{"type":"keep-alive","content":"p","message-type":"ping","timeout":1}`))
	if op, data, err := c.Next(rawws.Timeout); op != ws.OpPing || data != "p" || err != nil {
		t.Errorf("the keep-alive is %d %q, %v; want a ping", op, data, err)
	}
	c.say(text(`c:{"type":"keep-alive"}`), text("m:over"))
	c.want("over")
	if err := c.Silent(1300 * time.Millisecond); err != nil {
		t.Error(err)
	}
}

// gripFilters: the filters of a subscription, and the metadata that they look at.
func gripFilters(_ *testing.T, s *site) {
	join := text(`c:{"type":"subscribe","channel":"filtered","filters":["skip-self"]}`)
	ann := s.open(s.onGrip(join, text(`c:{"type":"set-meta","name":"user","value":"ann"}`)))
	bob := s.open(s.onGrip(join, text(`c:{"type":"set-meta","name":"user","value":"bob"}`)))
	s.item("filtered", "of ann", "sender=ann")
	s.item("filtered", "of bob", "sender=bob")
	ann.want("of bob")
	bob.want("of ann")
	ann.silent()
}

// item publishes an item of GRIP through the HTTP door.
func (s *site) item(channel, data string, meta ...string) {
	s.t.Helper()
	s.do(200, "GET", "/item?"+url.Values{"channel": {channel}, "data": {data}, "meta": meta}.Encode())
}
