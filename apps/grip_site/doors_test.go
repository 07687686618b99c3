// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// doors are the ways by which something is published.
var doorCases = []testCase{
	{name: "view-that-goes-on", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.posted(t, "/send/", "channel", c, "async", "1", "first", "1", "count", "100")
		f.wants(t, numbers(1, 100)...)
	}},
	{name: "management-command", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.manage(t, "send", c, "one", "two")
		got := f.wants(t, `{"text": "one"}`, `{"text": "two"}`)
		if got[1].ID != c+":2" {
			t.Errorf("id %q, want %s:2", got[1].ID, c)
		}
	}},
	{name: "gripcontrol", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.run(t, "testdata/publisher.py", c)
		var want strings.Builder
		for _, n := range numbers(1, 25) {
			want.WriteString("blocking " + n + "\n")
		}
		for _, n := range numbers(1, 200) {
			want.WriteString("batched " + n + "\n")
		}
		f.holds(t, "end\n")
		if got := f.body(); got != "[open]\n"+want.String()+"end\n" {
			t.Errorf("got %q, want 225 lines in order", short(got))
		}
	}},
	{name: "bytes", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.run(t, "-c", publisher+`
pub.publish_http_stream("`+c+`", HttpStreamFormat(b"\x00\xff\xfe;"), blocking=True)`)
		f.holds(t, "[open]\n\x00\xff\xfe;")
	}},
	{name: "many-at-once", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "count", "500", "size", "20")
		f.holds(t, "\n500 ")
		lines := strings.Fields(strings.ReplaceAll(f.body(), strings.Repeat("x", 20), ""))
		if want := append([]string{"[open]"}, numbers(1, 500)...); !slices.Equal(lines, want) {
			t.Errorf("got %d lines, want 500 in order: %q", len(lines)-1, short(fmt.Sprint(lines)))
		}
	}},
	{name: "nothing-but-the-door", run: doorDelivers},
	{name: "nobody-listens", run: func(t *testing.T, s *site) {
		s.posted(t, "/publish/", "channel", channelOf(t), "stream", "x")
		s.send(t, channelOf(t), "x")
	}},
	{name: "formats-inside", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.door(t, `{"items":[{"channel":"`+c+`","formats":{"http-stream":{"content":"inside;"}}}]}`, 200)
		s.door(t, `{"items":[{"channel":"`+c+`","http-stream":{"content":"beside;"}}]}`, 200)
		f.holds(t, "[open]\ninside;beside;")
	}},
	{name: "both-paths", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		body := `{"items":[{"channel":"` + c + `","http-stream":{"content":"%s;"}}]}`
		for _, path := range []string{"/publish", "/publish/"} {
			if a := s.knock(t, "POST", path, fmt.Sprintf(body, path)); a.status != 200 {
				t.Errorf("POST %s = %d %q, want 200", path, a.status, short(a.body))
			}
		}
		f.holds(t, "[open]\n/publish;/publish/;")
	}},
	{name: "wrong", run: doorWrong},
	{name: "all-or-nothing", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		good := `{"channel":"` + c + `","http-stream":{"content":"good;"}}`
		s.door(t, `{"items":[`+good+`,{"channel":"`+c+`","http-stream":{}}]}`, 400)
		s.door(t, `{"items":[`+good+`]}`, 200)
		f.holds(t, "[open]\ngood;")
		f.until(quiet, func() bool { return false })
		if got := f.body(); got != "[open]\ngood;" {
			t.Errorf("the stream got %q, want nothing of a batch that was refused", got)
		}
	}},
	{name: "method", run: func(t *testing.T, s *site) {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			if a := s.knock(t, method, "/publish/", ""); a.status != 405 {
				t.Errorf("%s /publish/ = %d %q, want 405", method, a.status, short(a.body))
			}
		}
	}},
	{name: "same-id", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		item := `{"items":[{"channel":"` + c + `","id":"a","http-stream":{"content":"once;"}}]}`
		s.door(t, item, 200)
		s.door(t, item, 200)
		s.door(t, strings.NewReplacer(`"a"`, `"b"`, "once", "next").Replace(item), 200)
		f.holds(t, "[open]\nonce;next;")
	}},
	{name: "order-of-ids", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		for _, n := range []int{1, 3, 4, 2, 5} {
			s.door(t, fmt.Sprintf(`{"items":[{"channel":"%s","id":"%d","prev-id":"%d",`+
				`"http-stream":{"content":"%d;"}}]}`, c, n, n-1, n), 200)
		}
		f.holds(t, "[open]\n1;2;3;4;5;")
	}},
	{name: "strangers", run: doorStrangers},
	{name: "reserved-channel", run: func(t *testing.T, s *site) {
		if onPushpin() {
			t.Skip("SKIPPED: pushpin reserves no names")
		}
		s.door(t, `{"items":[{"channel":"\u0001x","http-stream":{"content":"x"}}]}`, 400)
	}},
}

// publisher opens a script that has gripcontrol's publisher as pub.
const publisher = `
import os
from gripcontrol import GripPubControl, HttpStreamFormat, parse_grip_uri
pub = GripPubControl(parse_grip_uri(os.environ["GRIP_URL"]))
`

// knock makes a request to the door, as gripcontrol signs it.
func (s *site) knock(t *testing.T, method, path, body string) answer {
	t.Helper()
	u, err := url.Parse(s.grip)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/") + path
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token := s.token(t); token != "" {
		req.Header.Set("Authorization", token)
	}
	return s.do(t, req)
}

// token is what gripcontrol sends with every publish.
func (s *site) token(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(s.run(t, "-W", "ignore", "-c", publisher+
		`print(pub.clients[0]._gen_auth_header() or "")`))
}

// door publishes a body as it is.
func (s *site) door(t *testing.T, body string, want int) {
	t.Helper()
	if a := s.knock(t, "POST", "/publish/", body); a.status != want {
		t.Fatalf("POST /publish/ %s = %d %q, want %d", short(body), a.status, short(a.body), want)
	}
}

// What is no publish is refused with 400 and a text.
func doorWrong(t *testing.T, s *site) {
	for name, body := range map[string]string{
		"no JSON":          `{"items":[`,
		"a list":           `[]`,
		"no items":         `{}`,
		"items of texts":   `{"items":["x"]}`,
		"no channel":       `{"items":[{"http-stream":{"content":"x"}}]}`,
		"channel a number": `{"items":[{"channel":1,"http-stream":{"content":"x"}}]}`,
		"no format":        `{"items":[{"channel":"x"}]}`,
		"no content":       `{"items":[{"channel":"x","http-stream":{}}]}`,
		"unknown action":   `{"items":[{"channel":"x","http-stream":{"action":"dance"}}]}`,
		"id a list":        `{"items":[{"channel":"x","id":[],"http-stream":{"content":"x"}}]}`,
	} {
		a := s.knock(t, "POST", "/publish/", body)
		if a.status != 400 || a.body == "" {
			t.Errorf("%s: %d %q, want 400 and why", name, a.status, short(a.body))
		}
	}
}

// Who does not have the key publishes nothing, and gripcontrol says so.
func doorStrangers(t *testing.T, s *site) {
	if onPushpin() {
		t.Skip("SKIPPED: pushpin takes whatever comes to its address")
	}
	c := channelOf(t)
	f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
	u, err := url.Parse(s.grip)
	if err != nil {
		t.Fatal(err)
	}
	door := u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
	body := `{"items":[{"channel":"` + c + `","http-stream":{"content":"forged"}}]}`
	for _, token := range []string{"", "Bearer x", "Bearer a.b.c", "Basic eDp5"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", door+"/publish/",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", token)
		}
		if a := s.do(t, req); a.status != 401 && a.status != 403 {
			t.Errorf("Authorization %q = %d %q, want 401 or 403", token, a.status, short(a.body))
		}
	}
	out, err := s.command(t, "-W", "ignore", "-c", `
from gripcontrol import GripPubControl
pub = GripPubControl({"control_uri": "`+door+`", "control_iss": "x", "key": "wrong"})
pub.publish_http_stream("`+c+`", "forged", blocking=True)`).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "failed to publish") {
		t.Errorf("gripcontrol with a wrong key: %v %s, want an error", err, short(string(out)))
	}
	if !t.Failed() {
		s.posted(t, "/publish/", "channel", c, "stream", "known")
		f.holds(t, "[open]\nknown")
	}
}

// What reaches a stream comes by the door: django-eventstream holds none itself, and a
// publisher that does not find the door says so.
func doorDelivers(t *testing.T, s *site) {
	c := channelOf(t)
	f := s.open(t, "/events/"+c+"/").opened(t)
	s.manage(t, "send", c, "by the door")
	f.wants(t, `{"text": "by the door"}`)
	for range 8 { // of both workers, most likely
		if a := s.get(t, "/listeners/"); a.body != `{"listeners": 0}` {
			t.Errorf("/listeners/ = %d %q, want none", a.status, short(a.body))
		}
	}
	elsewhere := *s
	elsewhere.grip = fmt.Sprintf("http://127.0.0.1:%d", smoketest.FreePort(t))
	out, err := elsewhere.command(t, "manage.py", "send", c, "beside the door").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "failed to publish") {
		t.Errorf("publishing where nobody listens: %v %s, want an error", err, short(string(out)))
	}
	f.still(t, quiet)
	s.manage(t, "send", c, "by the door again")
	f.wants(t, `{"text": "beside the door"}`, `{"text": "by the door again"}`) // it was stored
}

// TestPublishWithoutADoor: where nobody takes publishes, a view that publishes fails
// loudly, and nothing is delivered behind its back. The same steps with the door
// succeed in TestSite.
func TestPublishWithoutADoor(t *testing.T) {
	s := start(t, launch{workers: 1, shut: true})
	c := channelOf(t)
	f := s.open(t, "/stream/?channel="+c)
	for path, values := range map[string]url.Values{
		"/send/":    form("channel", c, "data", "lost"),
		"/publish/": form("channel", c, "stream", "lost"),
	} {
		if a := s.post(t, path, values); a.status != 500 {
			t.Errorf("POST %s = %d %q, want 500", path, a.status, short(a.body))
		}
	}
	f.until(time.Second, func() bool { return false })
	if got := f.body(); (f.status != 200 || got != "[open]\n") && f.status != 501 {
		t.Errorf("the stream is %d %q, want nothing but its head, or a refusal", f.status, got)
	}
	logged := ""
	for _, p := range s.all {
		logged += p.Log()
	}
	if !strings.Contains(logged, "failed to publish") {
		t.Errorf("nothing in the log says that a publish failed: %s", short(logged))
	}
}

// TestChosenKey: where the operator has chosen a key, gripcontrol can do without the
// name of an issuer: it sends the key itself then.
func TestChosenKey(t *testing.T) {
	s := start(t, launch{workers: 1, key: "a key of 32 bytes or more, in text"})
	c := channelOf(t)
	f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
	s.run(t, "-c", `
import os
from gripcontrol import GripPubControl, parse_grip_uri
known = parse_grip_uri(os.environ["GRIP_URL"])
key = known["key"] if isinstance(known["key"], str) else known["key"].decode()
pub = GripPubControl({"control_uri": known["control_uri"], "key": key})
pub.publish_http_stream("`+c+`", "by the key", blocking=True)`)
	f.holds(t, "[open]\nby the key")
	if got := s.told(t); !got.Signed {
		t.Errorf("the project takes requests for %+v, want signed", got)
	}
}

// TestOneThread: a view that waits for its publish holds the only thread of the only
// worker, and the door answers all the same.
func TestOneThread(t *testing.T) {
	s := start(t, launch{workers: 1, threads: 1})
	c := channelOf(t)
	f := s.open(t, "/events/"+c+"/").opened(t)
	w := s.dial(t, "/socket/?room="+c)
	w.settled(t)
	s.sendMany(t, c, 1, 20)
	f.wants(t, numbers(1, 20)...)
	for _, text := range numbers(1, 20) {
		w.send(opText, text) // its view publishes, and waits
	}
	w.wants(t, numbers(1, 20)...)
}
