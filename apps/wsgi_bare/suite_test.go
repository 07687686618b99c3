// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// What becomes of the connection behind an answer.
const (
	open   = "open"   // the next request is answered
	closed = "closed" // announced, then ended in order
	cut    = "cut"    // ended within the answer, so that the client sees it
	either = "either" // open, or announced and closed
	anyway = "anyway" // one of all of these behind a whole answer
)

// A kase is one request and everything that is promised about it.
type kase struct {
	name   string
	send   string // the bytes of the request, made by get, post and the like
	want   want
	strict *want // under wsgiref.validate, where that refuses what we allow; nil: the same
}

// A want is what has to come. Empty parts are not looked at.
type want struct {
	status  string   // "200 OK"; "" is that; alternatives stand between bars
	fields  []string // lines of the head, as sent
	absent  []string // names that the head does not hold
	framing string   // of rawhttp; not under validation, which hides sizes
	body    string   // the whole of it, when has is empty
	has     []string // parts of the body
	entries entries  // of a body that is JSON: key and value, "-" for not there
	after   string   // "" is open, or either with a 500
	log     string   // what the server has printed by now
	events  string   // what the application noted under the name of the case
}

// entries are keys of a JSON object with their values as JSON, or as /expression/.
type entries map[string]string

// failed is what a client sees of an application that failed before the head.
var failed = want{status: "500 Internal Server Error", after: either}

// broken is what it sees of one that failed behind it.
func broken(body string) want { return want{body: body, after: cut} }

// suite is a served application and its connection for questions about it.
type suite struct {
	p        *smoketest.Process
	validate bool
	prefix   string // of what is noted, so that two runs do not share it
}

// refused500 reports whether the answer is that of a failed application.
func (w *want) refused500() bool { return w.status == failed.status }

// run sends the request of k on a connection of its own and checks what comes.
func (s *suite) run(t *testing.T, k kase) {
	t.Helper()
	c, err := rawhttp.Dial(s.p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := k.want
	if s.validate && k.strict != nil {
		w = *k.strict
	}
	request := strings.ReplaceAll(k.send, "$ID", s.id(k.name))
	go c.Send(request)
	method, _, _ := strings.Cut(request, " ")
	r, err := c.Read(method)
	if r == nil {
		t.Fatalf("%q\ngot no answer: %v", first(request), err)
	}
	for _, fault := range s.check(r, err, &w) {
		t.Errorf("%q\n%s", first(request), fault)
	}
	for _, fault := range s.after(c, r, err, &w) {
		t.Errorf("%q\n%s", first(request), fault)
	}
	if !t.Failed() { // what follows may be long in coming
		s.checkNoted(t, k.name, &w)
	}
}

// id is the key under which the case of a name notes.
func (s *suite) id(name string) string {
	return s.prefix + strings.ReplaceAll(name, "/", "-")
}

// first shortens a request for a message.
func first(request string) string {
	if len(request) > 150 {
		return request[:150] + "…"
	}
	return request
}

// check compares an answer with what is wanted.
func (s *suite) check(r *rawhttp.Reply, err error, w *want) (faults []string) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf(format, args...))
	}
	status := orDefault(w.status, "200 OK")
	if !contains(strings.Split(status, "|"), r.Status) {
		fault("status %q, want %q; body %.200q", r.Status, status, r.Body)
	}
	if err != nil && (w.after != cut || !errors.Is(err, rawhttp.ErrCut)) {
		fault("read: %v (body %.60q)", err, r.Body)
	}
	for _, line := range w.fields {
		if !contains(r.Fields, line) {
			fault("no field %.100q in %.500q", line, r.Fields)
		}
	}
	for _, name := range w.absent {
		if all := r.All(name); len(all) > 0 {
			fault("field %s: %q, want none", name, all)
		}
	}
	if n := len(r.All("Date")); n > 1 || n == 0 && r.Status[0] != '5' {
		fault("%d fields Date, want 1", n)
	}
	if w.framing != "" && !s.validate && r.Framing != w.framing {
		fault("framing %s, want %s", r.Framing, w.framing)
	}
	return append(faults, s.checkBody(r, w)...)
}

func (s *suite) checkBody(r *rawhttp.Reply, w *want) (faults []string) {
	body := string(r.Body)
	switch {
	case w.refused500():
		if strings.Contains(body, "BARE") || strings.Contains(body, "Traceback") {
			faults = append(faults, fmt.Sprintf("the answer shows the inside: %.300q", body))
		}
	case len(w.has) == 0 && w.entries == nil && body != w.body:
		faults = append(faults, fmt.Sprintf("body %.200q (%d bytes), want %.200q (%d bytes)",
			body, len(body), w.body, len(w.body)))
	}
	for _, part := range w.has {
		if !strings.Contains(body, part) {
			faults = append(faults, fmt.Sprintf("body %.300q, want %q in it", body, part))
		}
	}
	if w.entries != nil {
		faults = append(faults, checkEntries(r.Body, w.entries)...)
	}
	return faults
}

// checkEntries compares entries of an object with what is wanted.
func checkEntries(body []byte, want entries) (faults []string) {
	var got map[string]json.RawMessage
	if err := json.Unmarshal(body, &got); err != nil {
		return []string{fmt.Sprintf("body is no object: %v: %.300q", err, body)}
	}
	for key, value := range want {
		have, there := got[key]
		pattern, isPattern := strings.CutPrefix(value, "/")
		switch {
		case value == "-" && there:
			faults = append(faults, fmt.Sprintf("%s is %s, want it not to be there", key, have))
		case value == "-":
		case isPattern && !regexp.MustCompile(strings.TrimSuffix(pattern, "/")).Match(have):
			faults = append(faults, fmt.Sprintf("%s is %s, want %s", key, have, value))
		case !isPattern && string(have) != value:
			faults = append(faults, fmt.Sprintf("%s is %s, want %s", key, have, value))
		}
	}
	return faults
}

// after checks what became of the connection.
func (s *suite) after(c *rawhttp.Conn, r *rawhttp.Reply, err error, w *want) []string {
	how := orDefault(w.after, open)
	closing := strings.EqualFold(r.Get("Connection"), "close") || r.Framing == rawhttp.Close
	if how == either {
		how = open
		if closing {
			how = closed
		}
	}
	switch {
	case how == cut && err == nil:
		return []string{fmt.Sprintf("the answer ends in order (%s, %.60q), want it cut",
			r.Framing, r.Body)}
	case how == cut, how == anyway:
		return nil
	case how == closed && !closing:
		return []string{"the end of the connection is not announced"}
	case how == closed:
		if err := c.Ended(); err != nil {
			return []string{err.Error()}
		}
		return nil
	case closing:
		return []string{fmt.Sprintf("the connection is to be closed, want open: %s", r.Fields)}
	}
	return alive(c)
}

// alive asks for one more answer on the connection.
func alive(c *rawhttp.Conn) []string {
	c.Send(get("/hello"))
	r, err := c.Read("GET")
	switch {
	case err != nil:
		return []string{fmt.Sprintf("the next request: %v", err)}
	case r.Status != "200 OK" || string(r.Body) != "hello":
		return []string{fmt.Sprintf("the next request: %s %.60q", r.Status, r.Body)}
	}
	return nil
}

// checkNoted waits for what the server prints and the application notes, which may
// come behind the answer.
func (s *suite) checkNoted(t *testing.T, name string, w *want) {
	t.Helper()
	if w.events != "" {
		s.waitEvents(t, s.id(name), w.events)
	}
	if w.log != "" {
		waitLog(t, s.p, w.log)
	}
}

// waitEvents waits until exactly the events, parted by commas, are noted under key.
func (s *suite) waitEvents(t *testing.T, key, events string) {
	t.Helper()
	got := ""
	deadline := time.Now().Add(rawhttp.Patience)
	for time.Now().Before(deadline) {
		if got = s.events(t, key); got == events {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Errorf("events of %q: %q, want %q", key, got, events)
}

// events returns what is noted under key, parted by commas.
func (s *suite) events(t *testing.T, key string) string {
	t.Helper()
	var list []string
	text := s.ask(t, "/events?id="+key)
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("events of %q: %v in %q", key, err, text)
	}
	return strings.Join(list, ",")
}

// ask gets the body of a path on a connection of its own.
func (s *suite) ask(t *testing.T, path string) string {
	t.Helper()
	r := s.answer(t, get(path, "Connection: close"))
	if r.Status != "200 OK" {
		t.Errorf("GET %s: %s %.200q", path, r.Status, r.Body)
	}
	return string(r.Body)
}

// answer sends a request on a connection of its own and reads the whole answer.
func (s *suite) answer(t *testing.T, request string) *rawhttp.Reply {
	t.Helper()
	c := s.dial(t)
	go c.Send(request)
	method, _, _ := strings.Cut(request, " ")
	r, err := c.Read(method)
	if err != nil {
		t.Fatalf("%q: %v", first(request), err)
	}
	_ = c.Close()
	return r
}

// dial opens a connection that ends with the test.
func (s *suite) dial(t *testing.T) *rawhttp.Conn {
	t.Helper()
	c, err := rawhttp.Dial(s.p.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// waitLog waits until the server has printed text.
func waitLog(t *testing.T, p *smoketest.Process, text string) {
	t.Helper()
	deadline := time.Now().Add(rawhttp.Patience)
	for !strings.Contains(p.Log(), text) {
		if time.Now().After(deadline) {
			t.Errorf("the log lacks %q", text)
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// read reads an answer that has to come whole.
func read(t *testing.T, c *rawhttp.Conn, method string) *rawhttp.Reply {
	t.Helper()
	r, err := c.Read(method)
	if err != nil && !(err == io.EOF && r != nil) {
		t.Fatalf("read: %v", err)
	}
	return r
}

// expect reads an answer and compares status and body.
func expect(t *testing.T, c *rawhttp.Conn, method, status, body string) *rawhttp.Reply {
	t.Helper()
	r := read(t, c, method)
	if r.Status != status || string(r.Body) != body {
		t.Fatalf("got %s %.200q, want %s %.200q", r.Status, r.Body, status, body)
	}
	return r
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// Requests. Fields are lines without their end.

func request(method, target, version string, fields []string, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", method, target, version)
	all := strings.ToLower(strings.Join(fields, "\n"))
	if version == "HTTP/1.1" && !strings.Contains(all, "host:") {
		b.WriteString("Host: bare.test\r\n")
	}
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

func get(target string, fields ...string) string {
	return request("GET", target, "HTTP/1.1", fields, "")
}

func head(target string, fields ...string) string {
	return request("HEAD", target, "HTTP/1.1", fields, "")
}

// old is a GET of HTTP/1.0.
func old(target string, fields ...string) string {
	return request("GET", target, "HTTP/1.0", fields, "")
}

func post(target, body string, fields ...string) string {
	fields = append([]string{fmt.Sprintf("Content-Length: %d", len(body))}, fields...)
	return request("POST", target, "HTTP/1.1", fields, body)
}

// chunks is a POST whose body comes in the pieces.
func chunks(target string, pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return encoded(target, b.String()+"0\r\n\r\n")
}

// encoded is a POST whose body is in chunks already, right or wrong.
func encoded(target, body string) string {
	return request("POST", target, "HTTP/1.1", []string{"Transfer-Encoding: chunked"}, body)
}

// servers builds m0serve once for all tests.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }
