// SPDX-License-Identifier: MIT

package clienttest

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRetryTable is the table of what the client does, row by row, as it was
// seen in a browser. A mode's letter stands where the client comes back.
func TestRetryTable(t *testing.T) {
	all := []Retry{RetryAuto, RetryError, RetryAlways, RetryNever}
	onStatus := []Retry{RetryError, RetryAlways}
	closing := streamHead + "Connection: close\r\n\r\n" + event("x")
	partial := streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("x"))
	for name, row := range map[string]struct {
		server step
		back   []Retry
		reason Reason
	}{
		"clean end":                {clean(event("x")), []Retry{RetryAlways}, EndClean},
		"clean end without chunks": {raw(closing), []Retry{RetryAlways}, EndClean},
		"cut by FIN":               {cut(event("x")), all, 0},
		"cut by RST":               {reset(partial), all, 0},
		"cut inside a chunk":       {raw(partial[:len(partial)-9]), all, 0},
		"no chunks, RST":           {reset(closing), all, 0},
		"no answer":                {raw(""), all, 0},
		"half a head":              {raw(streamHead), all, 0},
		"204":                      {status("204 No Content"), nil, EndStatus},
		"304":                      {status("304 Not Modified"), nil, EndStatus},
		"302 to nowhere":           {status("302 Found"), nil, EndStatus},
		"404":                      {status("404 Not Found"), onStatus, EndStatus},
		"503":                      {status("503 Busy"), onStatus, EndStatus},
		"202":                      {status("202 Accepted"), []Retry{RetryAlways}, EndStatus},
		"200 with a page": {raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" +
			"Content-Length: 1\r\n\r\nx"), nil, EndAnswer},
	} {
		for _, mode := range all {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				comesBack := make(chan struct{}, 1)
				tab := openTab(t, Config{
					URL: serve(t, row.server).url, Retry: mode,
					Sleep: func(ctx context.Context, _ time.Duration) {
						comesBack <- struct{}{}
						<-ctx.Done()
					},
				})
				stays := make(chan *EndError, 1)
				go func() {
					for {
						if _, err := tab.Next(context.Background()); err != nil {
							end, _ := err.(*EndError)
							stays <- end
							return
						}
					}
				}()
				want := slices.Contains(row.back, mode)
				select {
				case <-comesBack:
					if !want {
						t.Error("the client came back; want it to stay away")
					}
				case end := <-stays:
					if want || end.Reason != row.reason {
						t.Errorf("the client ended: %v, reason %d; want reason %d, came back %v",
							end, end.Reason, row.reason, want)
					}
				case <-time.After(patience):
					t.Fatal("the client neither came back nor ended")
				}
			})
		}
	}
}

// TestRefusedIsRetried: nobody listens at first, and then somebody does.
func TestRefusedIsRetried(t *testing.T) {
	addr := nobody(t)
	var s *scripted
	tab := openTab(t, Config{URL: "http://" + addr, Sleep: func(context.Context, time.Duration) {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Errorf("listen again: %v", err)
			return
		}
		s = serveOn(t, ln, clean(event("back")))
	}})
	if e := next(t, tab); e.Args["elements"] != "back" {
		t.Errorf("Next() = %+v; want the event of the server that came back", e)
	}
	if end := ended(t, tab); end.Reason != EndClean || len(tab.Waits()) != 1 || s == nil {
		t.Errorf("ended with %v after waits %v; want a clean end after one", end, tab.Waits())
	}
}

func seconds(s ...float64) (row []time.Duration) {
	for _, v := range s {
		row = append(row, time.Duration(v*float64(time.Second)))
	}
	return row
}

func TestBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   Config
		first []step // before the server is gone for good
		want  []time.Duration
	}{
		"181 seconds, then never again": {want: seconds(1, 2, 4, 8, 16, 30, 30, 30, 30, 30)},
		"options": {
			cfg:  Config{Interval: 2 * time.Second, Scaler: 3, MaxWait: 10 * time.Second, MaxCount: 4},
			want: seconds(2, 6, 10, 10),
		},
		"no retry at all": {cfg: Config{MaxCount: -1}},
		"an answer of 200 begins again": {
			first: []step{cut(""), cut(""), cut("")},
			want:  seconds(1, 1, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30),
		},
		"retry is the new base": {
			first: []step{cut("retry: 200\n\n"), cut("")},
			want:  seconds(.2, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30),
		},
		"what is no number is passed over": {
			first: []step{cut("retry: soon\nretry: -5\n\n")},
			want:  seconds(1, 2, 4, 8, 16, 30, 30, 30, 30, 30),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, append(c.first, raw(""))...)
			c.cfg.URL, c.cfg.Sleep = s.url, noSleep
			tab := openTab(t, c.cfg)
			end := ended(t, tab)
			if got := tab.Waits(); end.Reason != EndRetries || !slices.Equal(got, c.want) {
				t.Errorf("waits %v, then %v; want %v and the last retry", got, end, c.want)
			}
			if got := tab.Requests(); got != len(c.want)+1 {
				t.Errorf("%d requests; want one more than the %d waits", got, len(c.want))
			}
		})
	}
}

func TestStatusesAreCountedToo(t *testing.T) {
	s := serve(t, status("500 Oops"))
	tab := openTab(t, Config{URL: s.url, Retry: RetryError, Sleep: noSleep})
	if end := ended(t, tab); end.Reason != EndRetries || end.Status != 500 || len(tab.Waits()) != 10 {
		t.Errorf("ended with %+v after %d waits; want the last retry after 10, status 500",
			end, len(tab.Waits()))
	}
}

// TestLastEventID: what the second request carries after the first was cut.
func TestLastEventID(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"none":                     {event("x"), ""},
		"taken before the event":   {"event: datastar-patch-elements\nid: 9\ndata: elem", "9"},
		"line not complete":        {"id: 8\n\nid: 9", "8"},
		"block of its own":         {event("x") + "id: 9\n\n", "9"},
		"empty id takes it back":   {"id: 9\n\nid:\n\n", ""},
		"CR ends the line":         {"id: 9\r", "9"},
		"Latin-1 goes as bytes":    {"id: \u00e9\n\n", "\xe9"},
		"without the space":        {"id:9\n\n", "9"},
		"other fields are no ids":  {"id\nids: 5\n: id: 6\n\n", ""},
		"kept over an empty block": {"id: 9\n\n\n\n", "9"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, cut(c.stream), clean(""))
			tab := openTab(t, Config{URL: s.url, Sleep: noSleep})
			if first := field(s.head(t), "Last-Event-ID"); first != "" {
				t.Errorf("the first request carries id %q; want none", first)
			}
			if got := field(s.head(t), "Last-Event-ID"); got != c.want {
				t.Errorf("after %q the id is %q; want %q", c.stream, got, c.want)
			}
			ended(t, tab)
		})
	}
}

func TestIdThatNoHeaderCarriesKillsTheStream(t *testing.T) {
	s := serve(t, cut("id: \u0142\n\n"))
	tab := openTab(t, Config{URL: s.url, Sleep: noSleep})
	if end := ended(t, tab); end.Reason != EndRetries || tab.Requests() != 1 {
		t.Errorf("ended with %v after %d requests; want the last retry after 1", end, tab.Requests())
	}
}

func TestHiddenTab(t *testing.T) {
	left := make(chan struct{}, 4)
	s := serve(t, open(event("one")+"id: 1\n\n", left), open(event("two"), left))
	tab := openTab(t, Config{URL: s.url})
	s.head(t)
	next(t, tab)
	awaitID(t, tab, "1")
	for range 2 { // hiding twice is hiding once
		tab.Hide()
	}
	<-left
	if n := tab.Requests(); n != 1 {
		t.Fatalf("%d requests while hidden; want 1", n)
	}
	tab.Show()
	tab.Show()
	if id := field(s.head(t), "Last-Event-ID"); id != "1" {
		t.Errorf("shown again the tab asks with id %q; want 1", id)
	}
	if e := next(t, tab); e.Args["elements"] != "two" || len(tab.Waits()) != 0 {
		t.Errorf("Next() = %+v after waits %v; want the second event at once", e, tab.Waits())
	}
}

func awaitID(t *testing.T, tab *Tab, id string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tab.LastEventID() != id {
		if time.Now().After(deadline) {
			t.Fatalf("LastEventID() = %q; want %q", tab.LastEventID(), id)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHiddenTabThatStaysOpen(t *testing.T) {
	left := make(chan struct{}, 4)
	s := serve(t, open(event("one"), left))
	tab := openTab(t, Config{URL: s.url, OpenWhenHidden: true})
	tab.Hide()
	next(t, tab)
	tab.Show()
	if n := tab.Requests(); n != 1 {
		t.Errorf("%d requests; want 1", n)
	}
}

// TestHiddenWhileItWaits: the wait is over, and nothing is asked until Show.
func TestHiddenWhileItWaits(t *testing.T) {
	waiting := make(chan struct{})
	s := serve(t, raw(""), clean(event("two")))
	tab := openTab(t, Config{URL: s.url, Sleep: func(ctx context.Context, _ time.Duration) {
		close(waiting)
		<-ctx.Done()
	}})
	<-waiting
	tab.Hide()
	if n := tab.Requests(); n != 1 {
		t.Errorf("%d requests while hidden; want 1", n)
	}
	tab.Show()
	if e := next(t, tab); e.Args["elements"] != "two" {
		t.Errorf("Next() = %+v; want the second answer", e)
	}
}

func TestEndedTabIsNotShownAgain(t *testing.T) {
	s := serve(t, clean(""))
	tab := openTab(t, Config{URL: s.url})
	ended(t, tab)
	tab.Hide()
	tab.Show()
	if n := tab.Requests(); n != 1 {
		t.Errorf("%d requests of a tab that has ended; want 1", n)
	}
}

func TestEvents(t *testing.T) {
	const stream = ": comment\n\n" +
		"event: datastar-patch-elements\ndata: mode append\ndata: elements <p>\n" +
		"data: elements \ndata: elements </p>\nid: 5\n\n" +
		"event: other\ndata: elements no\n\n" +
		"data: elements no name\n\n" +
		"event: datastar-patch-signals\r\ndata: signals {\"a\":1}\r\rdata: x\n\n" +
		"event:datastar-patch-elements\ndata:elements\n\n" +
		"event: datastar-patch-elements\ndata: elements never whole\n"
	tab := openTab(t, Config{URL: serve(t, clean(stream)).url})
	for _, want := range []Event{
		{"datastar-patch-elements", map[string]string{"mode": "append", "elements": "<p>\n\n</p>"}, "5"},
		{"datastar-patch-signals", map[string]string{"signals": `{"a":1}`}, "5"},
		{"datastar-patch-elements", map[string]string{"element": "elements"}, "5"},
	} {
		got := next(t, tab)
		if got.Type != want.Type || got.LastEventID != want.LastEventID ||
			!mapsEqual(got.Args, want.Args) {
			t.Errorf("Next() = %+v; want %+v", got, want)
		}
	}
	if end := ended(t, tab); end.Reason != EndClean {
		t.Errorf("ended with %v; want a clean end", end)
	}
}

func mapsEqual(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func TestRequest(t *testing.T) {
	s := serve(t, clean(""))
	openTab(t, Config{URL: s.url + "/s?since=5", Signals: `{"a":"b c"}`})
	head := s.head(t)
	if line, _, _ := strings.Cut(head, "\r\n"); line !=
		"GET /s?since=5&datastar=%7B%22a%22%3A%22b+c%22%7D HTTP/1.1" {
		t.Errorf("request line %q", line)
	}
	for name, want := range map[string]string{
		"Accept": "text/event-stream, text/html, application/json", "Datastar-Request": "true",
	} {
		if got := field(head, name); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

// TestRedirectIsFollowed: by fetch itself, with the id.
func TestRedirectIsFollowed(t *testing.T) {
	s := serve(t, cut("id: 4\n\n"),
		raw("HTTP/1.1 307 Moved\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
		clean(event("there")))
	tab := openTab(t, Config{URL: s.url, Sleep: noSleep})
	if e := next(t, tab); e.Args["elements"] != "there" {
		t.Errorf("Next() = %+v; want the event behind the redirect", e)
	}
	s.head(t)
	s.head(t)
	if head := s.head(t); !strings.HasPrefix(head, "GET /there ") ||
		field(head, "Last-Event-ID") != "4" {
		t.Errorf("the request behind the redirect is %q; want /there with id 4", head)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	left := make(chan struct{}, 1)
	tab := openTab(t, Config{URL: serve(t, open("", left)).url})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tab.Next(ctx); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("Next(cancelled) = %v; want the error of the context", err)
	}
	tab.Close()
	if end := ended(t, tab); end.Reason != EndClosed {
		t.Errorf("after Close: %v; want closed", end)
	}
}
