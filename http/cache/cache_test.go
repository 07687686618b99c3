// SPDX-License-Identifier: MIT

package cache

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/middleware"
)

// An origin answers with its number of the call, and the fields that the test
// asks for in the query: "Name:value" each.
type origin struct {
	calls  atomic.Int64
	status int
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := o.calls.Add(1)
	for _, f := range r.URL.Query()["f"] {
		name, value, _ := strings.Cut(f, ":")
		w.Header().Add(name, value)
	}
	if o.status != 0 {
		w.WriteHeader(o.status)
	}
	fmt.Fprint(w, n)
}

// get asks h; fields are "Name: value", and a first one without a colon is the
// method.
func get(h http.Handler, target string, fields ...string) *httptest.ResponseRecorder {
	method := "GET"
	if len(fields) > 0 && !strings.Contains(fields[0], ":") {
		method, fields = fields[0], fields[1:]
	}
	r, w := httptest.NewRequest(method, target, nil), httptest.NewRecorder()
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.Header.Add(name, value)
	}
	h.ServeHTTP(w, r)
	return w
}

// target asks the origin for fields.
func target(fields ...string) string {
	t := "/?"
	for _, f := range fields {
		t += "f=" + url.QueryEscape(f) + "&"
	}
	return t
}

// TestWhatIsKept: a second request is answered from the cache, or not.
func TestWhatIsKept(t *testing.T) {
	const fresh = "Cache-Control:max-age=60"
	for _, c := range []struct {
		answer  []string
		request []string
		status  int
		kept    bool
	}{
		{[]string{fresh}, nil, 200, true},
		{[]string{"Cache-Control:public"}, nil, 200, false},
		{nil, nil, 200, false},
		{[]string{"Cache-Control:s-maxage=60"}, nil, 200, true},
		{[]string{"Cache-Control:max-age=60, s-maxage=0"}, nil, 200, false},
		{[]string{"Cache-Control:max-age=0, s-maxage=60"}, nil, 200, true},
		{[]string{`Cache-Control:max-age="60"`}, nil, 200, true},
		{[]string{"Cache-Control:max-age=99999999999999999999999"}, nil, 200, true},
		{[]string{"Cache-Control:max-age=6x"}, nil, 200, false},
		{[]string{"Cache-Control:max-age=60, max-age=0"}, nil, 200, false},
		{[]string{fresh, "Cache-Control:no-store"}, nil, 200, false},
		{[]string{fresh, "Cache-Control:NO-CACHE"}, nil, 200, false},
		{[]string{fresh, `Cache-Control:x="a,b", private`}, nil, 200, false},
		{[]string{fresh, `Cache-Control:private="a"`}, nil, 200, false},
		{[]string{fresh, `Cache-Control:x="a, no-store, private, b"`}, nil, 200, true},
		{[]string{fresh, "Set-Cookie:a=b"}, nil, 200, false},
		{[]string{fresh, "Vary:*"}, nil, 200, false},
		{[]string{fresh, "Vary:Accept, *"}, nil, 200, false},
		{[]string{fresh, "Vary:A,B,C,D,E,F,G,H"}, nil, 200, true},
		{[]string{fresh, "Vary:A,B,C,D,E,F,G,H,I"}, nil, 200, false},
		{[]string{fresh, "Content-Type:text/event-stream"}, nil, 200, false},
		{[]string{fresh, "Age:60"}, nil, 200, false},
		{[]string{fresh, "Age:59"}, nil, 200, true},
		{[]string{"Expires:Thu, 01 Jan 2099 00:00:00 GMT"}, nil, 200, true},
		{[]string{"Expires:0"}, nil, 200, false},
		{[]string{"Expires:0", fresh}, nil, 200, true},
		{[]string{"Expires:Thu, 01 Jan 2026 00:00:00 GMT",
			"Date:Thu, 01 Jan 2026 00:00:00 GMT"}, nil, 200, false},
		{[]string{"Expires:Thu, 01 Jan 1998 00:01:00 GMT",
			"Date:Thu, 01 Jan 1998 00:00:00 GMT"}, nil, 200, true},
		{[]string{fresh}, nil, 404, true},
		{[]string{fresh}, nil, 301, true},
		{[]string{fresh}, nil, 201, false},
		{[]string{fresh}, nil, 206, false},
		{[]string{fresh}, nil, 500, false},
		{[]string{fresh}, nil, 503, false},
		// Requests.
		{[]string{fresh}, []string{"Authorization: Bearer a"}, 200, false},
		{[]string{fresh, "Cache-Control:public"}, []string{"Authorization: Bearer a"}, 200, true},
		{[]string{fresh, "Cache-Control:must-revalidate"}, []string{"Authorization: Bearer a"},
			200, true},
		{[]string{"Cache-Control:s-maxage=60"}, []string{"Authorization: Bearer a"}, 200, true},
		{[]string{fresh}, []string{"Cookie: a=b"}, 200, true},
		{[]string{fresh}, []string{"Cache-Control: no-store"}, 200, false},
		{[]string{fresh}, []string{"Cache-Control: no-cache"}, 200, true},
		{[]string{fresh}, []string{"Range: bytes=0-0"}, 200, false},
		{[]string{fresh}, []string{"If-Match: *"}, 200, false},
		{[]string{fresh}, []string{"POST"}, 200, false},
		{[]string{fresh}, []string{"HEAD"}, 200, false},
		{[]string{fresh}, []string{"OPTIONS"}, 200, false},
	} {
		o := &origin{status: c.status}
		h := New(Config{}).Wrap(o)
		first := get(h, target(c.answer...), c.request...)
		second := get(h, target(c.answer...), c.request...)
		if kept := o.calls.Load() == 1; kept != c.kept {
			t.Errorf("%q to %q with %d is kept: %v; want %v", c.answer, c.request, c.status, kept, c.kept)
		}
		if c.kept && (second.Code != first.Code || second.Body.String() != first.Body.String()) {
			t.Errorf("%q: second answer %d %q; want %d %q",
				c.answer, second.Code, second.Body, first.Code, first.Body)
		}
	}
}

func TestFreshnessForTheSilent(t *testing.T) {
	for field, want := range map[string]int64{"": 1, "Cookie: a=b": 2, "Authorization: Basic x": 2} {
		o := &origin{}
		h := New(Config{Freshness: time.Minute}).Wrap(o)
		for range 2 {
			if field == "" {
				get(h, "/")
			} else {
				get(h, "/", field)
			}
		}
		if got := o.calls.Load(); got != want {
			t.Errorf("two requests with %q ran the handler %d times; want %d", field, got, want)
		}
	}
}

func TestAgeAndTheEndOfFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{}
		h := New(Config{}).Wrap(o)
		url := target("Cache-Control:max-age=60", "Age:10")
		get(h, url)
		time.Sleep(20*time.Second + 999*time.Millisecond)
		w := get(h, url)
		if got := w.Header()["Age"]; len(got) != 1 || got[0] != "30" {
			t.Errorf("Age after 20.999 s of one that was 10 s old = %q; want 30", got)
		}
		made, err := http.ParseTime(w.Header().Get("Date"))
		if err != nil || time.Since(made) < 30*time.Second {
			t.Errorf("Date = %q; want the moment it was made, 30 s ago", w.Header().Get("Date"))
		}
		time.Sleep(29 * time.Second)
		if w := get(h, url); w.Body.String() != "1" {
			t.Errorf("after 49.999 s got %q; want the first answer", w.Body)
		}
		time.Sleep(time.Millisecond)
		if w := get(h, url); w.Body.String() != "2" || w.Header().Get("Age") != "10" {
			t.Errorf("after 50 s got %q, Age %q; want a new one, as it came", w.Body, w.Header().Get("Age"))
		}
	})
}

func TestVary(t *testing.T) {
	o := &origin{}
	h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Vary", "accept , Accept-Language")
		o.ServeHTTP(w, r)
	}))
	seen := map[string]string{}
	for _, fields := range [][]string{
		nil, {"Accept: a"}, {"Accept: a", "Accept-Language: b"}, {"Accept: "}, {"Accept: a,b"},
		{"Accept: b", "Accept-Language: a"}, {"Accept-Language: a"},
	} {
		one, two := get(h, "/", fields...), get(h, "/", fields...)
		if one.Body.String() != two.Body.String() {
			t.Errorf("with %q two answers: %q, %q", fields, one.Body, two.Body)
		}
		if other, taken := seen[one.Body.String()]; taken {
			t.Errorf("with %q the answer to %s", fields, other)
		}
		seen[one.Body.String()] = fmt.Sprintf("%q", fields)
		if v := two.Header()["Vary"]; len(v) != 1 || v[0] != "Accept, Accept-Language" {
			t.Errorf("Vary = %q; want both names in one", v)
		}
	}
	one, two := get(h, "/", "Accept: a,b"), get(h, "/", "Accept: a ", "Accept: b")
	if one.Body.String() != "5" || two.Body.String() != "5" {
		t.Errorf("the same list in one and in two lines = %q, %q; want one answer, 5", one.Body, two.Body)
	}
}

// TestVaryThatGrows: an answer that says later that it depends on more does not
// reach who differs in it.
func TestVaryThatGrows(t *testing.T) {
	o := &origin{}
	h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		if r.Header.Get("A") != "" {
			w.Header().Set("Vary", "A, B")
		} else {
			w.Header().Set("Vary", "A")
		}
		o.ServeHTTP(w, r)
	}))
	for i, c := range []struct {
		a, b, want string
	}{
		{"", "", "1"}, {"", "x", "1"}, {"1", "x", "2"}, {"1", "y", "3"}, {"1", "x", "2"}, {"1", "y", "3"},
	} {
		var fields []string
		for name, v := range map[string]string{"A": c.a, "B": c.b} {
			if v != "" {
				fields = append(fields, name+": "+v)
			}
		}
		if w := get(h, "/", fields...); w.Body.String() != c.want {
			t.Errorf("request %d with %q = %s; want %s", i, fields, w.Body, c.want)
		}
	}
}

func TestHEADFromGET(t *testing.T) {
	o := &origin{}
	h := New(Config{}).Wrap(o)
	url := target("Cache-Control:max-age=60", "X-A:b")
	get(h, url)
	w := get(h, url, "HEAD")
	if o.calls.Load() != 1 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "1" ||
		w.Header().Get("X-A") != "b" {
		t.Errorf("HEAD behind GET = %q %v after %d calls; want the header alone, kept",
			w.Body, w.Header(), o.calls.Load())
	}
}

func TestConditionsAreAnsweredByTheCache(t *testing.T) {
	const date = "Thu, 01 Jan 2026 00:00:00 GMT"
	url := target("Cache-Control:max-age=60", `ETag:"v"`, "Last-Modified:"+date)
	for _, c := range []struct {
		field string
		want  int
	}{
		{`If-None-Match: "v"`, 304},
		{`If-None-Match: W/"v"`, 304},
		{`If-None-Match: "w"`, 200},
		{`If-None-Match: *`, 304},
		{"If-Modified-Since: " + date, 304},
		{"If-Modified-Since: Fri, 02 Jan 2026 00:00:00 GMT", 304},
		{"If-Modified-Since: Wed, 31 Dec 2025 00:00:00 GMT", 200},
		{"If-Modified-Since: yesterday", 200},
	} {
		o := &origin{}
		h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
				t.Errorf("the handler was asked on a condition: %v", r.Header)
			}
			o.ServeHTTP(w, r)
		}))
		for _, when := range []string{"first", "kept"} {
			w := get(h, url, c.field)
			if w.Code != c.want || w.Code == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != `"v"`) {
				t.Errorf("%s with %s = %d %q %v; want %d", when, c.field, w.Code, w.Body, w.Header(), c.want)
			}
		}
		if o.calls.Load() != 1 {
			t.Errorf("with %s the handler ran %d times; want once", c.field, o.calls.Load())
		}
	}
}

func TestOnlyIfCached(t *testing.T) {
	o := &origin{}
	h := New(Config{}).Wrap(o)
	url := target("Cache-Control:max-age=60")
	if w := get(h, url, "Cache-Control: only-if-cached"); w.Code != 504 || o.calls.Load() != 0 {
		t.Errorf("only-if-cached of nothing = %d, handler ran %d times; want 504, 0", w.Code,
			o.calls.Load())
	}
	get(h, url)
	if w := get(h, url, "Cache-Control: only-if-cached"); w.Code != 200 {
		t.Errorf("only-if-cached of what is kept = %d; want 200", w.Code)
	}
}

// TestOuterFieldsAreNotKept: what outer handlers say is theirs, each time.
func TestOuterFieldsAreNotKept(t *testing.T) {
	o := &origin{}
	cached := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Connection", "x-hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Cache-Tag", "a")
		middleware.AddVary(w.Header(), "Accept")
		r.Pattern = "/inner"
		o.ServeHTTP(w, r)
	}))
	n := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("X-Request-Id", fmt.Sprint(n))
		w.Header().Set("Vary", "Origin")
		cached.ServeHTTP(w, r)
		if r.Pattern != "/inner" {
			t.Errorf("request %d: outside the pattern is %q; want that of the route", n, r.Pattern)
		}
	})
	for want := 1; want <= 2; want++ {
		h := get(h, "/").Header()
		if h.Get("X-Request-Id") != fmt.Sprint(want) || len(h["Vary"]) != 1 || len(h["Cache-Tag"]) != 0 ||
			!strings.Contains(h.Get("Vary"), "Origin") || !strings.Contains(h.Get("Vary"), "Accept") {
			t.Errorf("answer %d has %v; want its own id, one Vary of both, no tags", want, h)
		}
		if kept := h.Get("X-Hop") == ""; kept != (want == 2) {
			t.Errorf("answer %d: a field of one hop is left out: %v", want, kept)
		}
	}
}

func TestInvalidation(t *testing.T) {
	const base = "http://example.com"
	for name, by := range map[string]struct {
		drop func(c *Cache, h http.Handler) int
		want int // entries that go
	}{
		"key": {func(c *Cache, _ http.Handler) int {
			return c.Invalidate(base+"/a/1", base+"/none")
		}, 1},
		"prefix": {func(c *Cache, _ http.Handler) int { return c.InvalidatePrefix(base + "/a/1") }, 1},
		"tag":    {func(c *Cache, _ http.Handler) int { return c.InvalidateTag("t1", "none") }, 1},
		"PUT":    {func(_ *Cache, h http.Handler) int { get(h, "/a/1", "PUT"); return 1 }, 1},
		"error":  {func(_ *Cache, h http.Handler) int { get(h, "/a/1", "PUT", "Fail: 1"); return 0 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{}
			c := New(Config{})
			h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Header.Get("Fail") != "":
					w.WriteHeader(500)
				case r.Method == "GET":
					w.Header().Set("Cache-Control", "max-age=60")
					w.Header().Set("Cache-Tag", "all, t"+r.URL.Path[3:])
					o.ServeHTTP(w, r)
				}
			}))
			get(h, "/a/1")
			get(h, "/a/2")
			took, counted := by.drop(c, h), c.Stats().Invalidated
			if took != by.want || counted != uint64(by.want) {
				t.Errorf("%s took %d out, counted %d; want %d", name, took, counted, by.want)
			}
			if got := get(h, "/a/2").Body.String(); got != "2" {
				t.Errorf("the other answer became %s", got)
			}
			again := get(h, "/a/1").Body.String()
			if (again == "3") != (by.want == 1) {
				t.Errorf("behind the invalidation by %s came %s", name, again)
			}
		})
	}
}

// TestBounds: neither bytes nor entries outgrow their bounds, and what is left
// is whole.
func TestBounds(t *testing.T) {
	for _, cfg := range []Config{
		{MaxBytes: 64 << 10, MaxBody: 4 << 10}, {MaxEntries: 20}, {MaxEntries: 1}, {MaxBytes: 1},
	} {
		c := New(cfg)
		h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Cache-Tag", "t"+r.URL.Path[1:])
			w.Header().Set("Vary", "A")
			_, _ = io.WriteString(w, strings.Repeat("x", 1000+len(r.URL.Path)))
		}))
		for i := range 2000 {
			path := fmt.Sprintf("/%d", i*i%997)
			if w := get(h, path, fmt.Sprintf("A: %d", i%3)); w.Body.Len() != 1000+len(path) {
				t.Fatalf("GET %s = %d bytes; want %d", path, w.Body.Len(), 1000+len(path))
			}
			s := c.Stats()
			if s.Bytes > c.cfg.MaxBytes || s.Entries > c.cfg.MaxEntries {
				t.Fatalf("after %d requests %d bytes, %d entries; want at most %d, %d",
					i+1, s.Bytes, s.Entries, c.cfg.MaxBytes, c.cfg.MaxEntries)
			}
		}
		s := c.Stats()
		if s.Evictions == 0 || c.store.resources.count > s.Entries || len(c.store.tagged) > s.Entries ||
			liveGhosts(c) > c.cfg.MaxEntries || runs(c) != 0 {
			t.Errorf("with %+v: %+v, %d resources, %d tags, %d ghosts, %d flights; "+
				"want no more than entries",
				cfg, s, c.store.resources.count, len(c.store.tagged), liveGhosts(c),
				runs(c))
		}
		if n := c.InvalidatePrefix(""); n != s.Entries || c.Stats().Bytes != 0 {
			t.Errorf("InvalidatePrefix took out %d of %d, %d bytes are left", n, s.Entries, c.Stats().Bytes)
		}
	}
}

// liveGhosts counts what the cache remembers of entries that have left.
func liveGhosts(c *Cache) (n int) {
	for _, g := range c.store.ghosts.slots {
		if g.at != 0 && c.store.ghosts.has(g.hash) {
			n++
		}
	}
	return n
}

// runs counts the answers that are being made.
func runs(c *Cache) (n int) {
	for f := c.running; f != nil; f = f.next {
		n++
	}
	return n
}

// TestCrawlerDoesNotEmptyTheCache: what is used stays while a thousand others
// are asked for once.
func TestCrawlerDoesNotEmptyTheCache(t *testing.T) {
	o := &origin{}
	c := New(Config{MaxEntries: 100})
	h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		o.ServeHTTP(w, r)
	}))
	for round := range 3 {
		for i := range 20 {
			get(h, fmt.Sprintf("/hot/%d", i))
		}
		for i := range 60 {
			get(h, fmt.Sprintf("/warm/%d/%d", round, i))
		}
	}
	for i := range 1000 {
		get(h, fmt.Sprintf("/once/%d", i))
	}
	before := o.calls.Load()
	for i := range 20 {
		get(h, fmt.Sprintf("/hot/%d", i))
	}
	if missed := o.calls.Load() - before; missed > 2 {
		t.Errorf("of 20 answers that are used, a crawler pushed out %d; want at most 2", missed)
	}
}

func TestOnBothServers(t *testing.T) {
	var calls atomic.Int64
	handler := func() http.Handler {
		calls.Store(0)
		return New(Config{Log: slog.New(slog.DiscardHandler)}).Wrap(http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "max-age=60")
				fmt.Fprintf(w, "%s %d", r.URL.Path, calls.Add(1))
			}))
	}
	both.Serve(t, handler, func(t *testing.T, url string) {
		for i, want := range []string{"/a 1", "/a 1", "/b 2", "/a 1"} {
			path := "/" + want[1:2]
			res, body := both.Ask(t, "GET", url+path)
			if body != want || len(res.Header["Date"]) != 1 ||
				(res.Header.Get("Age") != "") != (i == 1 || i == 3) {
				t.Errorf("request %d = %q, %v; want %q", i, body, res.Header, want)
			}
		}
	})
}
