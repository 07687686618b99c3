// SPDX-License-Identifier: MIT

package publish

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/server"
)

var httpKey = []byte("correct horse battery staple")

// a webSite is an HTTP door with a bus and an address of its own, and what the bus
// brought.
type webSite struct {
	*HTTPDoor
	addr   string
	frames chan bus.Frame
}

func openWeb(t *testing.T, c HTTPConfig, s server.Config) *webSite {
	t.Helper()
	if c.Bus == nil {
		c.Bus = bus.Local()
		t.Cleanup(c.Bus.Close)
	}
	c.Log = slog.New(slog.DiscardHandler)
	w := &webSite{HTTPDoor: NewHTTP(c), frames: make(chan bus.Frame, 4096)}
	if c.Bus.Index() >= 0 {
		c.Bus.Receive(func(f bus.Frame) { w.frames <- f })
	}
	if s.Handler == nil {
		s.Handler = w.HTTPDoor
	}
	s.Log = c.Log
	_, w.addr = both.Start(t, s)
	return w
}

// openDefault is a door that knows httpKey of iss m0.
func openDefault(t *testing.T) *webSite {
	return openWeb(t, HTTPConfig{Key: httpKey, Issuer: "m0"}, server.Config{})
}

// a talk is one connection of a publisher.
type talk struct {
	net.Conn
	in *bufio.Reader
}

func (w *webSite) dial(t *testing.T) *talk {
	t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &talk{c, bufio.NewReader(c)}
}

func (c *talk) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send of %d bytes: %v", len(text), err)
	}
}

// told is an answer.
type told struct {
	status int
	head   http.Header
	body   string
}

func (c *talk) answer(t *testing.T) told {
	t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatalf("read an answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the body of an answer: %v", err)
	}
	return told{resp.StatusCode, resp.Header, string(body)}
}

var bearer = "Authorization: Bearer " + grip.Sign(
	grip.Claims{Issuer: "m0", Expires: time.Now().Add(time.Hour)}, httpKey) + "\r\n"

// post is a request that publishes body, with fields beside the usual ones.
func post(body, fields string) string {
	return fmt.Sprintf("POST /publish/ HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s",
		fields, len(body), body)
}

// publish sends a body on a connection of its own.
func (w *webSite) publish(t *testing.T, body, fields string) told {
	t.Helper()
	c := w.dial(t)
	defer c.Close()
	c.send(t, post(body, fields))
	return c.answer(t)
}

// next is the next frame that the bus brought, as an item.
func (w *webSite) next(t *testing.T) grip.Item {
	t.Helper()
	select {
	case f := <-w.frames:
		it, err := grip.ParseItem(f.Body)
		if err != nil || f.Channel != ItemChannel {
			t.Fatalf("frame on %q is %.100q: %v; want an item", f.Channel, f.Body, err)
		}
		return it
	case <-time.After(patience):
		t.Fatal("waited in vain for an item")
	}
	panic("not reached")
}

// nothing fails when something was published since the last look: what is sent now
// would come behind it.
func (w *webSite) nothing(t *testing.T, after string) {
	t.Helper()
	const mark = `{"items":[{"channel":"mark","http-stream":{"content":"m"}}]}`
	if a := w.publish(t, mark, bearer); a.status != 200 {
		t.Fatalf("publish = %+v, want 200", a)
	}
	select {
	case f := <-w.frames:
		if it, _ := grip.ParseItem(f.Body); it.Channel != "mark" {
			t.Errorf("%s: %q was published to %q", after, f.Body, f.Channel)
			w.nothing(t, after)
		}
	case <-time.After(patience):
		t.Fatal("waited in vain for the mark")
	}
}

func TestHTTPPublishesItems(t *testing.T) {
	w := openDefault(t)
	a := w.publish(t, `{"items":[
		{"channel":"a","id":"2","prev-id":"1","formats":{"http-stream":{"content":"one"}}},
		{"channel":"b","http-stream":{"content-bin":"dHdv"},"ws-message":{"content":"two"}}]}`,
		bearer+"Content-Type: application/json\r\nAccept: */*\r\n")
	if a.status != 200 || a.body != "Published\n" ||
		a.head.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("publish = %+v, want 200 and Published in plain text", a)
	}
	one, two := w.next(t), w.next(t)
	if one.Channel != "a" || one.ID != "2" || one.PrevID != "1" ||
		string(one.Stream.Content) != "one" {
		t.Errorf("item with formats = %+v", one)
	}
	if two.Channel != "b" || string(two.Stream.Content) != "two" ||
		string(two.Message.Content) != "two" {
		t.Errorf("item with formats at its top = %+v", two)
	}
	a = w.publish(t, `{"items":[]}`, bearer+"Accept: application/json\r\n")
	if a.status != 200 || a.body != `{"message":"Published"}`+"\n" ||
		a.head.Get("Content-Type") != "application/json" {
		t.Errorf("publish with Accept: application/json = %+v, want JSON", a)
	}
	if s := w.Stats(); s.Items != 2 || s.Refused+s.Denied+s.Dropped+s.Nobody != 0 {
		t.Errorf("Stats = %+v, want two items and nothing else", s)
	}
}

// What curl sends without a word about it is called a form.
func TestHTTPTellsJSONFromAForm(t *testing.T) {
	w := openDefault(t)
	const form = bearerForm
	if a := w.publish(t, ` {"items":[{"channel":"a","http-stream":{"content":"x"}}]}`,
		bearer+form); a.status != 200 {
		t.Fatalf("JSON that is called a form = %+v, want 200", a)
	}
	if it := w.next(t); it.Channel != "a" {
		t.Errorf("item = %+v", it)
	}
	a := w.publish(t, "channel=n%C3%B6te&data=a%0Ab+c&event=note&id=7", bearer+form)
	if a.status != 200 || a.body != "Published\n" {
		t.Fatalf("a form = %+v, want 200", a)
	}
	f := <-w.frames
	if f.Channel != "nöte" || f.Kind != "note" ||
		string(f.Body) != "event: note\nid: 7\ndata: a\ndata: b c\n\n" {
		t.Errorf("frame of a form = %q %q on %q", f.Kind, f.Body, f.Channel)
	}
	a = w.publish(t, "channel=b", bearer+form+"Accept: application/json\r\n")
	f = <-w.frames
	if want := fmt.Sprintf(`{"message":"Published","id":"%d"}`+"\n", f.ID); a.body != want {
		t.Errorf("answer to a form = %q, want %q", a.body, want)
	}
	if s := w.Stats(); s.Events != 2 || s.Items != 1 {
		t.Errorf("Stats = %+v, want two events and an item", s)
	}
}

const bearerForm = "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"

// TestHTTPRefusesWhatIsWrong: whatever is wrong with a part, nothing is published
// (contract row B4 for the names).
func TestHTTPRefusesWhatIsWrong(t *testing.T) {
	const good = `{"channel":"a","http-stream":{"content":"x"}}`
	item := func(s string) string { return `{"items":[` + good + "," + s + `]}` }
	w := openDefault(t)
	for _, c := range []struct {
		body, fields string
		status       int
		why          string
	}{
		{"", "", 400, "Invalid format: "},
		{"hello", "", 400, "Invalid format: "},
		{`{"items":[` + good, "", 400, "Invalid format: "},
		{`{"item":[` + good + `]}`, "", 400, `want {"items": [...]}`},
		{item(`{"channel":"a"}`), "", 400, "items[1]"},
		{item(`{"channel":"\u0001g","http-stream":{"content":"x"}}`), "", 400, "reserved"},
		{item(`{"channel":"","http-stream":{"content":"x"}}`), "", 400, "items[1].channel"},
		{item(`{"channel":"a","http-stream":{"content-bin":"?"}}`), "", 400, "want base64"},
		{"channel=%01grip&data=x", bearerForm, 400, "reserved"},
		{"data=x", bearerForm, 400, "it is empty"},
		{"channel=a&channel=b", bearerForm, 400, "channel stands 2 times"},
		{"channel=a&text=b", bearerForm, 400, `not "text"`},
		{"channel=a&data=%zz", bearerForm, 400, "a form that is not valid"},
		{"channel=a&event=b%0Adata:c", bearerForm, 400, "control byte"},
		{"channel=a&id=b%0Ac", bearerForm, 400, "Invalid format: "},
		{good, "Content-Type: multipart/form-data; boundary=x\r\n", 415, "send JSON"},
		{`{"items":[` + good + `]}`, "Accept: image/png\r\n", 406, "text/plain or"},
		{`{"items":[` + good + `]}`, "Accept: */*;q=0\r\n", 406, "text/plain or"},
	} {
		before := w.Stats().Refused
		a := w.publish(t, c.body, bearer+c.fields)
		if a.status != c.status || !strings.Contains(a.body, c.why) {
			t.Errorf("%q with %q = %d %q, want %d and %q", c.body, c.fields, a.status, a.body,
				c.status, c.why)
		}
		if got := w.Stats().Refused - before; got != 1 {
			t.Errorf("%q counts as %d refused, want one", c.body, got)
		}
		w.nothing(t, c.body)
	}
	a := w.publish(t, "x", bearer+"Accept: application/json\r\n")
	if a.status != 400 || !strings.HasPrefix(a.body, `{"message":"Invalid format: `) {
		t.Errorf("a wrong body of somebody who wants JSON = %+v, want the reason in JSON", a)
	}
}

func TestHTTPOtherPathsAndMethods(t *testing.T) {
	w := openDefault(t)
	for _, c := range []struct {
		line   string
		status int
		allow  string
	}{
		{"GET /", 200, ""}, {"GET /publish", 405, "POST"}, {"PUT /publish/", 405, "POST"},
		{"HEAD /publish/", 405, "POST"}, {"OPTIONS /publish/", 405, "POST"},
		{"POST /publish/x", 404, ""}, {"POST /Publish/", 404, ""}, {"POST /recover", 404, ""},
		{"GET /subscriptions/stream/", 404, ""},
	} {
		conn := w.dial(t)
		conn.send(t, c.line+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+bearer+"\r\n")
		resp, err := http.ReadResponse(conn.in, &http.Request{Method: strings.Fields(c.line)[0]})
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		if resp.StatusCode != c.status || resp.Header.Get("Allow") != c.allow {
			t.Errorf("%s = %d, Allow %q; want %d, %q", c.line, resp.StatusCode,
				resp.Header.Get("Allow"), c.status, c.allow)
		}
	}
	if a := w.publish(t, `{"items":[]}`, bearer); a.status != 200 {
		t.Errorf("POST /publish/ = %+v, want 200", a)
	}
}

// TestHTTPSaysWhatNobodyTook: a worker that is full loses, which the answer says; when
// all are, nothing more is published.
func TestHTTPSaysWhatNobodyTook(t *testing.T) {
	b, channels := halfRead(t)
	w := openWeb(t, HTTPConfig{Bus: b, Key: httpKey}, server.Config{})
	content := strings.Repeat("x", 50<<10)
	items := fmt.Sprintf(`{"items":[{"channel":"a","http-stream":{"content":"%s"}},`+
		`{"channel":"a","http-stream":{"content":"%s"}}]}`, content, content)
	var a told
	for a.status != 200 || a.body == "Published\n" {
		channels.Discard(0) // worker 0 reads, worker 1 does not
		a = w.publish(t, items, bearer)
		if a.status != 200 {
			t.Fatalf("publish with a worker that reads = %.200v, want 200", a)
		}
	}
	if !strings.HasPrefix(a.body, "Published, but a worker did not take ") || w.Stats().Dropped == 0 {
		t.Errorf("publish with a worker that is full = %q, %+v", a.body, w.Stats())
	}
	form := "channel=a&data=" + content
	for _, body := range []string{items, form} {
		fields := bearer
		if body == form {
			fields += bearerForm
		}
		for range 1000 {
			if a = w.publish(t, body, fields); a.status != 200 {
				break
			}
		}
		if a.status != 503 || !strings.Contains(a.body, "no worker took it") {
			t.Errorf("publish with no worker that reads = %.200v, want 503", a)
		}
	}
	if w.Stats().Nobody != 2 {
		t.Errorf("Stats = %+v, want two that reached nobody", w.Stats())
	}
}
