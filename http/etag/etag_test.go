// SPDX-License-Identifier: MIT

package etag_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/etag"
	"m0serve.dev/http/internal/both"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		list, tag    string
		weak, strong bool
	}{
		{`"a"`, `"a"`, true, true},
		{`W/"a"`, `"a"`, true, false},
		{`"a"`, `W/"a"`, true, false},
		{`W/"a"`, `W/"a"`, true, false},
		{`"a"`, `"b"`, false, false},
		{`*`, `"b"`, true, true},
		{`*`, `W/"b"`, true, true},
		{`*, "a"`, `"a"`, false, false},
		{`"x", W/"y",, "a"`, `"a"`, true, true},
		{`"x,y"`, `"y"`, false, false},
		{`"x" "a"`, `"a"`, true, true},
		{`"x`, `"x"`, false, false},
		{`x, "a"`, `"a"`, false, false},
		{`w/"a"`, `"a"`, false, false},
		{`""`, `""`, true, true},
		{``, `"a"`, false, false},
		{`a`, `a`, false, false},
		{`"a"`, ``, false, false},
		{`""`, ``, false, false},
		{`W/`, `W/`, false, false},
	} {
		for strong, want := range map[bool]bool{false: c.weak, true: c.strong} {
			if got := etag.Match(c.list, c.tag, strong); got != want {
				t.Errorf("Match(%q, %q, %v) = %v; want %v", c.list, c.tag, strong, got, want)
			}
			if got := etag.Match([]byte(c.list), c.tag, strong); got != want {
				t.Errorf("Match([]byte(%q), %q, %v) = %v; want %v", c.list, c.tag, strong, got, want)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add(`"x", W/"a"`, "a")
	f.Add(`*`, "")
	f.Add(`"`, `"`)
	f.Fuzz(func(t *testing.T, list, opaque string) {
		tag := `"` + opaque + `"`
		weak, strong := etag.Match(list, tag, false), etag.Match(list, tag, true)
		if strong && !weak {
			t.Errorf("Match(%q, %q) is strong but not weak", list, tag)
		}
		if strings.Contains(opaque, `"`) {
			return
		}
		if weak && list != "*" && !strings.Contains(list, tag) {
			t.Errorf("Match(%q, %q) finds what is not there", list, tag)
		}
		if !etag.Match(`"`+strings.ReplaceAll(list, `"`, "")+`", W/`+tag, tag, false) {
			t.Errorf("Match does not find %q behind %q", tag, list)
		}
	})
}

const text = "the same bytes have the same tag"

// site answers in each way that matters.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/text", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain")
		h.Set("Content-Language", "en")
		h.Set("Cache-Control", "max-age=60")
		h.Set("Expires", "Thu, 01 Jan 2026 00:00:00 GMT")
		h.Set("Content-Location", "/text.txt")
		h.Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
		h.Set("Vary", "Accept")
		h.Set("X-Other", "stays")
		io.WriteString(w, text[:10])
		io.WriteString(w, text[10:])
	})
	mux.HandleFunc("/silent-head", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		if r.Method != "HEAD" {
			io.WriteString(w, text)
		}
	})
	mux.HandleFunc("/own", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		io.WriteString(w, strings.Repeat("x", 100<<10))
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Etag"] = nil
		io.WriteString(w, text)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		if code != 204 && code != 304 {
			io.WriteString(w, text)
		}
	})
	mux.HandleFunc("/no-store", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-store")
		io.WriteString(w, text)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			io.WriteString(w, strings.Repeat("x", 1024))
		}
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200) })
	return etag.Tagger{}.Wrap(mux)
}

func TestTagger(t *testing.T) {
	tag := etag.Of([]byte(text))
	both.Serve(t, site, func(t *testing.T, url string) {
		for _, c := range []struct {
			request string
			fields  string // lines joined by |
			status  int
			tag     string
			length  int // of the body, -1: not looked at
		}{
			{"GET /text", "", 200, tag, len(text)},
			{"HEAD /text", "", 200, tag, 0},
			{"GET /text", "If-None-Match: " + tag, 304, tag, 0},
			{"GET /text", "If-None-Match: " + tag[2:], 304, tag, 0},
			{"GET /text", `If-None-Match: "x", ` + tag, 304, tag, 0},
			{"GET /text", `If-None-Match: "x"|If-None-Match: ` + tag, 304, tag, 0},
			{"GET /text", "If-None-Match: *", 304, tag, 0},
			{"HEAD /text", "If-None-Match: " + tag, 304, tag, 0},
			{"GET /text", `If-None-Match: "x"`, 200, tag, len(text)},
			{"POST /text", "If-None-Match: " + tag, 200, "", len(text)},
			{"HEAD /silent-head", "", 200, "", 0},
			{"GET /silent-head", "", 200, tag, len(text)},
			{"GET /own", "", 200, `"v1"`, 100 << 10},
			{"GET /own", `If-None-Match: W/"v1"`, 304, `"v1"`, 0},
			{"HEAD /own", `If-None-Match: W/"v1"`, 304, `"v1"`, 0},
			{"GET /own", "If-None-Match: " + tag, 200, `"v1"`, 100 << 10},
			{"GET /none", "If-None-Match: *", 200, "", len(text)},
			{"GET /status/201", "If-None-Match: *", 201, "", len(text)},
			{"GET /status/204", "", 204, "", 0},
			{"GET /status/404", "If-None-Match: *", 404, "", len(text)},
			{"GET /status/500", "", 500, "", len(text)},
			{"GET /no-store", "If-None-Match: *", 200, "", len(text)},
			{"GET /long", "If-None-Match: *", 200, "", 100 << 10},
			{"GET /empty", "", 200, etag.Of(nil), 0},
		} {
			method, path, _ := strings.Cut(c.request, " ")
			var fields []string
			if c.fields != "" {
				fields = strings.Split(c.fields, "|")
			}
			res, body := both.Ask(t, method, url+path, fields...)
			if res.StatusCode != c.status || res.Header.Get("ETag") != c.tag || len(body) != c.length {
				t.Errorf("%s with %q = %d, tag %q, %d bytes; want %d, %q, %d", c.request, c.fields,
					res.StatusCode, res.Header.Get("ETag"), len(body), c.status, c.tag, c.length)
			}
		}
	})
}

func TestNotModifiedKeepsTheRightFields(t *testing.T) {
	both.Serve(t, site, func(t *testing.T, url string) {
		res, _ := both.Ask(t, "GET", url+"/text", "If-None-Match: "+etag.Of([]byte(text)))
		for name, want := range map[string]bool{
			"Cache-Control": true, "Content-Location": true, "Date": true, "Etag": true,
			"Expires": true, "Vary": true, "X-Other": true,
			"Content-Type": false, "Content-Length": false, "Content-Language": false,
			"Last-Modified": false, "Transfer-Encoding": false,
		} {
			if got := res.Header.Get(name) != ""; got != want {
				t.Errorf("304 has %s: %v; want %v", name, got, want)
			}
		}
		full, _ := both.Ask(t, "GET", url+"/text")
		head, _ := both.Ask(t, "HEAD", url+"/text")
		if full.ContentLength != int64(len(text)) || head.ContentLength != int64(len(text)) {
			t.Errorf("Content-Length of GET and HEAD = %d, %d; want %d",
				full.ContentLength, head.ContentLength, len(text))
		}
	})
}

// TestStreamsAreNotKeptBack: each part is read before the handler goes on.
func TestStreamsAreNotKeptBack(t *testing.T) {
	for name, begin := range map[string]func(w http.ResponseWriter){
		"flush": func(w http.ResponseWriter) {
			io.WriteString(w, "one\n")
			w.(http.Flusher).Flush()
		},
		"controller": func(w http.ResponseWriter) {
			io.WriteString(w, "one\n")
			http.NewResponseController(w).Flush()
		},
		"early": func(w http.ResponseWriter) {
			http.NewResponseController(w).Flush()
			io.WriteString(w, "one\n")
			http.NewResponseController(w).Flush()
		},
		"event stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			io.WriteString(w, "one\n")
			http.NewResponseController(w).Flush()
		},
		"hijack": func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\ntwo\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := make(chan bool, 2)
			handler := func() http.Handler {
				return etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					begin(w)
					select {
					case <-read:
					case <-time.After(10 * time.Second):
						t.Error("the first part was kept back")
					}
					io.WriteString(w, "two\n")
				}))
			}
			both.Serve(t, handler, func(t *testing.T, url string) {
				res, err := both.Client().Get(url)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				lines := bufio.NewReader(res.Body)
				for _, want := range []string{"one\n", "two\n"} {
					if got, err := lines.ReadString('\n'); got != want {
						t.Errorf("read %q, %v; want %q", got, err, want)
					}
					read <- true
				}
				if tag := res.Header.Get("ETag"); tag != "" {
					t.Errorf("a stream has the tag %q", tag)
				}
				<-read
			})
		})
	}
}

// TestLengthSaidIsNotKeptBack: what says that it is long goes out at once.
func TestLengthSaidIsNotKeptBack(t *testing.T) {
	w := httptest.NewRecorder()
	etag.Tagger{MaxBytes: 4}.Wrap(http.HandlerFunc(func(cw http.ResponseWriter, _ *http.Request) {
		cw.Header().Set("Content-Length", "5")
		io.WriteString(cw, "ab")
		if w.Body.String() != "ab" {
			t.Errorf("of 5 bytes with a bound of 4 %q went out; want the first two", w.Body)
		}
		io.WriteString(cw, "cde")
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Body.String() != "abcde" || w.Header().Get("ETag") != "" {
		t.Errorf("answer %q with tag %q; want all of it without", w.Body, w.Header().Get("ETag"))
	}
}

// TestPanicSendsNothing: half an answer is none.
func TestPanicSendsNothing(t *testing.T) {
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }()
		etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			panic("boom")
		})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	}()
	if w.Body.Len() != 0 {
		t.Errorf("a handler that panicked sent %q; want nothing", w.Body)
	}
}

func TestPasses(t *testing.T) {
	for _, c := range []struct {
		method, fields string
		tags           []string
		want           int // 0: goes on
	}{
		{"PUT", "", []string{`"1"`}, 0},
		{"PUT", `If-Match: "1"`, []string{`"1"`}, 0},
		{"PUT", `If-Match: "1-html"`, []string{`"1"`, `"1-html"`}, 0},
		{"PUT", `If-Match: "1"`, []string{`"2"`}, 412},
		{"PUT", `If-Match: W/"1"`, []string{`"1"`}, 412},
		{"PUT", `If-Match: W/"1"`, []string{`W/"1"`}, 412},
		{"PUT", `If-Match: *`, []string{`"1"`}, 0},
		{"PUT", `If-Match: *`, nil, 412},
		{"PUT", `If-None-Match: *`, nil, 0},
		{"PUT", `If-None-Match: *`, []string{`"1"`}, 412},
		{"DELETE", `If-None-Match: W/"1"`, []string{`"1"`}, 412},
		{"GET", `If-None-Match: W/"1"`, []string{`"1"`}, 304},
		{"HEAD", `If-None-Match: "1"`, []string{`W/"1"`}, 304},
		{"GET", `If-Match: "1"|If-None-Match: "1"`, []string{`"1"`}, 304},
		{"GET", `If-Match: "2"|If-None-Match: "1"`, []string{`"1"`}, 412},
		{"GET", `If-Match: "2"|If-Match: "1"`, []string{`"1"`}, 0},
	} {
		r, w := httptest.NewRequest(c.method, "/", nil), httptest.NewRecorder()
		for line := range strings.SplitSeq(c.fields, "|") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				r.Header.Add(name, value)
			}
		}
		got := 0
		if !etag.Passes(w, r, c.tags...) {
			got = w.Code
		}
		if got != c.want {
			t.Errorf("Passes(%s with %q, %q) = %d; want %d", c.method, c.fields, c.tags, got, c.want)
		}
		if got == 412 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("Passes(%s with %q): 412 is %q; want a problem", c.method, c.fields, w.Body)
		}
	}
}

func TestStated(t *testing.T) {
	r, w := httptest.NewRequest("PUT", "/", nil), httptest.NewRecorder()
	if etag.Stated(w, r) || w.Code != 428 {
		t.Errorf("Stated of a bare PUT = %d; want 428", w.Code)
	}
	r.Header.Set("If-None-Match", "*")
	if !etag.Stated(httptest.NewRecorder(), r) {
		t.Errorf("Stated of a PUT with If-None-Match = false")
	}
}

// A still writer keeps nothing, so that its allocations are not counted.
type still struct{ h http.Header }

func (s *still) Header() http.Header         { return s.h }
func (s *still) Write(b []byte) (int, error) { return len(b), nil }
func (s *still) WriteHeader(int)             {}

func TestNoAllocation(t *testing.T) {
	missing := etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
	}))
	w := &still{http.Header{}}
	for _, method := range []string{"GET", "POST"} {
		r := httptest.NewRequest(method, "/", nil)
		if n := testing.AllocsPerRun(100, func() { missing.ServeHTTP(w, r) }); n != 0 {
			t.Errorf("%s that gets no tag allocates %v times; want 0", method, n)
		}
	}
	body := make([]byte, 100)
	tagged := etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(body)
	}))
	r := httptest.NewRequest("GET", "/", nil)
	if n := testing.AllocsPerRun(100, func() { clear(w.h); tagged.ServeHTTP(w, r) }); n > 2 {
		t.Errorf("a tag allocates %v times; want text and values, once each", n)
	}
}

func BenchmarkTagger(b *testing.B) {
	body := make([]byte, 2048)
	h := etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(body)
	}))
	r := httptest.NewRequest("GET", "/", nil)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(&still{http.Header{}}, r)
	}
}
