// SPDX-License-Identifier: MIT

//go:build linux

package publishhttp

import (
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/rawhttp"
)

const form = "Content-Type: application/x-www-form-urlencoded"

// TestDoor: what is posted in either form reaches the streams of every worker, in
// order, whichever worker takes it.
func TestDoor(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	s.publish("an item", items(item("a", "one")), 200, "Published\n")
	want(t, streams, "one")
	formats := `{"channel":"a","formats":{"http-stream":{"content":"data: two\n\n"}}}`
	s.publish("formats", items(formats), 200, "Published\n", "Content-Type: application/json")
	want(t, streams, "two")
	s.publish("a batch", items(item("a", "three"), item("b", "not here"), item("a", "four")), 200, "")
	want(t, streams, "three")
	want(t, streams, "four")
	s.publish("JSON for JSON", items(item("a", "five")), 200, `{"message":"Published"}`,
		"Accept: application/json")
	want(t, streams, "five")
	s.publish("what curl calls a form", items(item("a", "six")), 200, "Published\n", form)
	want(t, streams, "six")
	s.publish("a form", "channel=a&data=seven%0Aand+more&event=note&id=x7", 200, "Published\n", form)
	for _, st := range streams {
		if e := st.Next(t); e.Name != "note" || e.ID != "x7" || e.Data != "seven\nand more" {
			t.Errorf("event of a form = %+v", e)
		}
	}
	if n := s.figure(`m0_http_published_total{kind="item"`); n != 7 {
		t.Errorf("%d items were counted, want 7", n)
	}
	if n := s.figure(`m0_http_published_total{kind="event"`); n != 1 {
		t.Errorf("%d events were counted, want 1", n)
	}
}

// TestConnections: pipelined requests are answered in order, bodies may come in
// chunks and drops, and one that is cut publishes nothing.
func TestConnections(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	c := s.dial()
	var all strings.Builder
	const n = 50
	for i := range n {
		all.WriteString(post(items(item("a", fmt.Sprint(i))), bearer(key)))
	}
	c.Send(all.String())
	for i := range n {
		s.read(c, fmt.Sprintf("request %d of a pipeline", i), 200, "Published")
	}
	for i := range n {
		want(t, streams, fmt.Sprint(i))
	}
	for _, b := range []byte(post(items(item("a", "drops")), bearer(key))) {
		c.Send(string(b))
	}
	s.read(c, "a request in drops", 200, "Published")
	want(t, streams, "drops")
	c.Send("POST /publish HTTP/1.1\r\nHost: a\r\n" + bearer(key) + "\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n")
	for _, part := range strings.SplitAfter(items(item("a", "chunks")), `"`) {
		c.Send(fmt.Sprintf("%x\r\n%s\r\n", len(part), part))
	}
	c.Send("0\r\n\r\n")
	s.read(c, "a request in chunks", 200, "Published")
	want(t, streams, "chunks")

	cut := s.dial()
	whole := post(items(item("a", "cut"), item("a", strings.Repeat("x", 100<<10))), bearer(key))
	cut.Send(whole[:len(whole)-2])
	if err := cut.Reset(); err != nil {
		t.Fatal(err)
	}
	slow := s.dial() // and one that only began holds up nobody
	slow.Send(whole[:len(whole)/2])
	s.publish("behind it", items(item("a", "behind")), 200, "Published")
	want(t, streams, "behind")
}

// TestRefused: a request with something wrong in it is refused whole, with the reason.
func TestRefused(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	good := item("a", "not to be seen")
	huge := items(good, item("a", strings.Repeat("x", 1_000_000)))
	for _, c := range []struct {
		what, body string
		status     int
		part       string
		fields     string
	}{
		{"no JSON", "hello", 400, "Invalid format: ", "Accept: */*"},
		{"half of JSON", `{"items":[` + good, 400, "Invalid format: ", "Accept: */*"},
		{"a bad item", items(good, `{"channel":"a"}`), 400, "items[1]", "Accept: */*"},
		{"a huge body", huge, 413, "at most 1000000 bytes", "Accept: */*"},
		{"image/png", items(good), 406, "text/plain or application/json", "Accept: image/png"},
		{"multipart", items(good), 415, "send JSON", "Content-Type: multipart/form-data"},
		{"a form with a typo", "chanel=a&data=x", 400, `not "chanel"`, form},
	} {
		s.publish(c.what, c.body, c.status, c.part, c.fields)
	}
	c := s.dial()
	c.Send("GET /publish/ HTTP/1.1\r\nHost: a\r\n" + bearer(key) + "\r\n\r\n")
	r := s.read(c, "GET", 405, "POST")
	if r.Get("Allow") != "POST" {
		t.Errorf("GET: Allow %q, want POST", r.Get("Allow"))
	}
	s.publish("behind all this", items(item("a", "good")), 200, "Published")
	want(t, streams, "good")
	if n := s.figure(`m0_http_publish_refused_total{cause="format"`); n < 6 {
		t.Errorf("%d refused requests were counted, want 6 at least", n)
	}
}

// TestReservedNames is contract row B4 for the HTTP door: no spelling of a name of the
// server gets in, in any place where a name can stand.
func TestReservedNames(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	const stream = `"http-stream":{"content":"data: forged\n\n"}`
	for what, c := range map[string][2]string{
		"an item":            {items(`{"channel":"\u0001grip",` + stream + `}`), ""},
		"an item of a batch": {items(item("a", "no"), `{"channel":"\u0001",`+stream+`}`), ""},
		"an item with formats": {
			items(`{"channel":"\u0001journal","formats":{` + stream + `}}`), ""},
		"a raw byte":            {items("{\"channel\":\"\x01grip\"," + stream + "}"), ""},
		"the name twice":        {items(`{"channel":"a","channel":"\u0001grip",` + stream + `}`), ""},
		"a form":                {"channel=%01grip&data=forged", form},
		"a form with bytes":     {"channel=\x01grip&data=forged", form},
		"a form with two names": {"channel=a&channel=%01grip&data=forged", form},
		"a name in escapes":     {"%63hannel=%01&data=forged", form},
	} {
		fields := []string{"Accept: text/plain"}
		if c[1] != "" {
			fields = append(fields, c[1])
		}
		s.publish(what, c[0], 400, "Invalid format: ", fields...)
	}
	s.publish("behind all this", items(item("a", "good")), 200, "Published")
	want(t, streams, "good")
}

// TestAuthorization: nothing is published for somebody without the key, who is told
// what is missing, and not what the key is.
func TestAuthorization(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	body := items(item("a", "forged"))
	c := s.dial() // all on one connection, which goes on
	for what, field := range map[string]string{
		"Authorization is missing": "X-Nothing: 1",
		"not of this key":          bearer("another"),
		"want three parts":         "Authorization: Bearer x",
		"wants NAME:KEY":           "Authorization: Basic eA==",
	} {
		c.Send(post(body, field))
		r := s.read(c, what, 401, what)
		if !strings.HasPrefix(r.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: WWW-Authenticate %q", what, r.Get("WWW-Authenticate"))
		}
		if strings.Contains(string(r.Body), key) {
			t.Errorf("%s: the answer tells the key", what)
		}
	}
	if n := s.figure(`m0_http_publish_refused_total{cause="key"`); n != 4 {
		t.Errorf("%d denied requests were counted, want 4", n)
	}
	c.Send(post(items(item("a", "good")), bearer(key)))
	s.read(c, "with the key", 200, "Published")
	want(t, streams, "good")
	if strings.Contains(s.Log(), key) {
		t.Error("the log tells the key")
	}
	big := s.dial() // nobody's body is read before he is believed
	big.Send("POST /publish/ HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n")
	r, err := big.Read("POST")
	if err != nil || !strings.HasPrefix(r.Status, "401 ") || r.Framing != rawhttp.Length {
		t.Errorf("a body of nobody = %+v, %v; want 401 before it comes", r, err)
	}
}
