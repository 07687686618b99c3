// SPDX-License-Identifier: MIT

package compress

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"m0serve.dev/http/internal/both"
)

var long = strings.Repeat("a line of text that repeats itself\n", 100)

// decode undoes the coding of an answer.
func decode(coding string, r io.Reader) (string, error) {
	switch coding {
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return "", err
		}
		r = z
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", err
		}
		defer z.Close()
		r = z
	case "":
	default:
		return "", errors.New("unknown coding " + coding)
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

// said answers with these fields, name and value in turns, and body.
func said(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const html = "text/html; charset=utf-8"

// page answers with a long page and these fields.
func page(fields ...string) http.HandlerFunc {
	return said(200, long, append([]string{"Content-Type", html}, fields...)...)
}

func TestWhatIsCoded(t *testing.T) {
	const ae = "Accept-Encoding"
	short := long[:minBytesDefault-1]
	length := strconv.Itoa(len(long))
	kind := func(kind string) http.HandlerFunc { return said(200, long, "Content-Type", kind) }
	for name, c := range map[string]struct {
		accept            string
		handler           http.HandlerFunc
		coding, vary, tag string
	}{
		"gzip":         {"gzip", page(), "gzip", ae, ""},
		"zstd":         {"gzip, deflate, br, zstd", page(), "zstd", ae, ""},
		"weights":      {"zstd;q=0.5, gzip", page(), "gzip", ae, ""},
		"q=0":          {"zstd;q=0, gzip;q=0", page(), "", ae, ""},
		"star":         {"*", page(), "zstd", ae, ""},
		"star but":     {"zstd;q=0, *", page(), "gzip", ae, ""},
		"nothing said": {"-", page(), "", ae, ""},
		"nothing fits": {"identity;q=0, br", page(), "", ae, ""},
		"plain first":  {"identity, gzip;q=0.9", page(), "", ae, ""},
		"error":        {"gzip", said(404, long, "Content-Type", html), "gzip", ae, ""},
		"sniffed":      {"gzip", said(200, "<!DOCTYPE html>"+long), "gzip", ae, ""},
		"json":         {"gzip", kind("application/problem+json"), "gzip", ae, ""},
		"length said":  {"gzip", page("Content-Length", length), "gzip", ae, ""},
		"strong tag":   {"gzip", page("Etag", `"1"`), "gzip", ae, `W/"1"`},
		"weak tag":     {"gzip", page("Etag", `W/"1"`), "gzip", ae, `W/"1"`},
		"tag plain":    {"br", page("Etag", `"1"`), "", ae, `"1"`},
		"vary is there": {"gzip", page("Vary", "accept-encoding, Cookie"), "gzip",
			"accept-encoding, Cookie", ""},
		"short":          {"gzip", said(200, short, "Content-Type", html), "", ae, ""},
		"short, no else": {"gzip, identity;q=0", said(200, "a", "Content-Type", html), "gzip", ae, ""},
		"image, no else": {"gzip, *;q=0", kind("image/png"), "gzip", ae, ""},
		"empty":          {"gzip, identity;q=0", said(200, "", "Content-Type", html), "", ae, ""},
		"image":          {"gzip", kind("image/png"), "", "", ""},
		"coded already":  {"gzip", page("Content-Encoding", "br"), "br", "", ""},
		"no-transform":   {"gzip", page("Cache-Control", "no-transform"), "", "", ""},
		"part": {"gzip", said(206, long, "Content-Type", html, "Content-Range",
			"bytes 0-"+length+"/9999", "Etag", `"1"`), "", ae, `"1"`},
		"unmodified":      {"gzip", said(304, "", "Etag", `"1"`), "", ae, `W/"1"`},
		"unmodified, br":  {"br", said(304, "", "Etag", `"1"`), "", ae, `"1"`},
		"no content":      {"gzip", said(204, ""), "", "", ""},
		"stream":          {"gzip", kind("text/event-stream"), "", "", ""},
		"stream, charset": {"gzip", kind("text/event-stream;charset=utf-8"), "", "", ""},

		"HEAD": {"gzip", page(), "gzip", ae, ""},
		"HEAD, length": {"gzip", said(200, "", "Content-Type", html, "Content-Length", length),
			"gzip", ae, ""},
		"HEAD, short": {"gzip", said(200, short, "Content-Type", html), "", ae, ""},
	} {
		t.Run(name, func(t *testing.T) {
			method, _, _ := strings.Cut(name, ",")
			if method != "HEAD" {
				method = "GET"
			}
			both.Serve(t, func() http.Handler { return New(Config{}).Wrap(c.handler) },
				func(t *testing.T, url string) {
					checkCoded(t, method, url, c.accept, c.coding, c.vary, c.tag, c.handler)
				})
		})
	}
}

// checkCoded compares an answer with that of the handler alone.
func checkCoded(t *testing.T, method, url, accept, coding, vary, tag string, h http.Handler) {
	t.Helper()
	var fields []string
	if accept != "-" {
		fields = append(fields, "Accept-Encoding: "+accept)
	}
	resp, body := both.Ask(t, method, url, fields...)
	got := resp.Header
	if got.Get("Content-Encoding") != coding || got.Get("Vary") != vary || got.Get("Etag") != tag {
		t.Errorf("Content-Encoding, Vary, ETag = %q, %q, %q; want %q, %q, %q",
			got.Get("Content-Encoding"), got.Get("Vary"), got.Get("Etag"), coding, vary, tag)
	}
	bare := httptest.NewRecorder()
	h.ServeHTTP(bare, httptest.NewRequest(method, "/", nil))
	if resp.StatusCode != bare.Code {
		t.Errorf("status %d; want %d", resp.StatusCode, bare.Code)
	}
	ours := coding == Gzip || coding == Zstd
	kind := bare.Header().Get("Content-Type")
	if ours && kind != "" && got.Get("Content-Type") != kind {
		t.Errorf("Content-Type = %q; want %q", got.Get("Content-Type"), kind)
	}
	if method == "HEAD" {
		if ours && got.Get("Content-Length") != "" {
			t.Errorf("Content-Length = %q of a coded body", got.Get("Content-Length"))
		}
		return
	}
	if ours && bare.Body.Len() > minBytesDefault && len(body) >= bare.Body.Len() {
		t.Errorf("%d bytes of %d", len(body), bare.Body.Len())
	}
	if !ours {
		coding = ""
	}
	if text, err := decode(coding, strings.NewReader(body)); err != nil || text != bare.Body.String() {
		t.Errorf("body = %d bytes, %v; want %d", len(text), err, bare.Body.Len())
	}
}

// TestFieldsOfPlainBytes are not those of coded ones.
func TestFieldsOfPlainBytes(t *testing.T) {
	h := New(Config{}).Wrap(said(200, long, "Content-Type", html, "Accept-Ranges", "bytes",
		"Content-Md5", "x", "Digest", "x", "Content-Digest", "x", "Repr-Digest", "x", "X-Else", "kept"))
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(w, r)
	for _, name := range []string{"Accept-Ranges", "Content-MD5", "Digest", "Content-Digest",
		"Repr-Digest", "Content-Length"} {
		if got := w.Header().Get(name); got != "" {
			t.Errorf("%s = %q; want none", name, got)
		}
	}
	if w.Header().Get("X-Else") != "kept" {
		t.Error("another field is lost")
	}
}

// TestSmallPieces: an answer that is written byte by byte is one.
func TestSmallPieces(t *testing.T) {
	both.Serve(t, func() http.Handler {
		return New(Config{MinBytes: 100}).Wrap(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				for _, c := range []byte(long) {
					if _, err := w.Write([]byte{c}); err != nil {
						t.Errorf("Write: %v", err)
					}
				}
			}))
	}, func(t *testing.T, url string) {
		resp, body := both.Ask(t, "GET", url, "Accept-Encoding: gzip")
		text, err := decode(resp.Header.Get("Content-Encoding"), strings.NewReader(body))
		if err != nil || text != long || resp.Header.Get("Content-Encoding") != Gzip ||
			!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%v: %d bytes, %v; want %d", resp.Header, len(text), err, len(long))
		}
	})
}

// TestFlushGoesThrough: what was flushed is read before the handler goes on.
func TestFlushGoesThrough(t *testing.T) {
	for _, coding := range []string{Zstd, Gzip} {
		for _, kind := range []string{"text/plain", eventStream} {
			read := make(chan bool)
			both.Serve(t, func() http.Handler {
				return New(Config{Streams: true}).Wrap(http.HandlerFunc(
					func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", kind)
						rc := http.NewResponseController(w)
						for i := range 3 {
							fmt.Fprintf(w, "piece %d\n", i)
							if err := rc.Flush(); err != nil {
								t.Errorf("Flush: %v", err)
							}
							select {
							case <-read:
							case <-r.Context().Done():
							}
						}
					}))
			}, func(t *testing.T, url string) { readPieces(t, url, coding, read) })
			if t.Failed() {
				return // each failure waits
			}
		}
	}
}

func readPieces(t *testing.T, url, coding string, read chan<- bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	req.Header.Set("Accept-Encoding", coding)
	resp, err := both.Client().Do(req)
	if err != nil {
		t.Fatalf("GET, %s: %v; want a head at once", coding, err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Encoding"); got != coding {
		t.Fatalf("Content-Encoding = %q; want %q", got, coding)
	}
	var r io.Reader
	if coding == Gzip {
		r, err = gzip.NewReader(resp.Body)
	} else {
		r, err = zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len("piece 0\n"))
	for i := range 3 {
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != fmt.Sprintf("piece %d\n", i) {
			t.Fatalf("piece %d = %q, %v; want it as soon as it is flushed", i, buf, err)
		}
		read <- true
	}
	if n, err := r.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("behind the last piece: %d, %v; want the end", n, err)
	}
}

// TestShorterThanSaid: a body that ends early never looks whole.
func TestShorterThanSaid(t *testing.T) {
	both.Serve(t, func() http.Handler {
		return New(Config{}).Wrap(said(200, long, "Content-Type", html,
			"Content-Length", strconv.Itoa(len(long)+1)))
	}, func(t *testing.T, url string) {
		req, _ := http.NewRequest("GET", url, nil)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := both.Client().Do(req)
		if err != nil {
			return // broken off in the head
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%d bytes and a clean end; want an error", len(b))
		}
	})
}

func TestLongerThanSaid(t *testing.T) {
	var err error
	h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", html)
		w.Header().Set("Content-Length", strconv.Itoa(len(long)))
		_, _ = io.WriteString(w, long)
		_, err = io.WriteString(w, "more")
	}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if !errors.Is(err, http.ErrContentLength) {
		t.Errorf("Write beyond the length = %v; want http.ErrContentLength", err)
	}
}

// TestCodersAreBounded: what comes beyond the bound is sent plain, and counted; a
// handler that panics gives its coder back.
func TestCodersAreBounded(t *testing.T) {
	c := New(Config{Coders: 1})
	inner := ""
	var wrapped http.Handler
	wrapped = c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", html)
		_, _ = io.WriteString(w, long)
		if r.URL.Path == "/outer" {
			again := httptest.NewRecorder()
			r2 := r.Clone(r.Context())
			r2.URL.Path = "/inner"
			wrapped.ServeHTTP(again, r2)
			inner = again.Header().Get("Content-Encoding")
			panic(http.ErrAbortHandler)
		}
	}))
	r := httptest.NewRequest("GET", "/outer", nil)
	r.Header.Set("Accept-Encoding", "zstd")
	func() {
		defer func() { _ = recover() }()
		wrapped.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if got := c.Stats(); inner != "" || got != (Stats{Coded: 1, Full: 1}) {
		t.Errorf("the second is coded with %q, Stats = %+v; want none, {Coded:1 Full:1}", inner, got)
	}
	w := httptest.NewRecorder()
	r.URL.Path = "/"
	wrapped.ServeHTTP(w, r)
	if text, err := decode(w.Header().Get("Content-Encoding"), w.Body); err != nil || text != long ||
		c.Stats().Coded != 2 {
		t.Errorf("behind a panic: %d bytes, %v, %+v; want %d, coded", len(text), err, c.Stats(),
			len(long))
	}
}

// TestHijack: the connection is reachable, and nothing is written behind it.
func TestHijack(t *testing.T) {
	both.Serve(t, func() http.Handler {
		return New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Errorf("Hijack: %v", err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_ = conn.Close()
		}))
	}, func(t *testing.T, url string) {
		if _, body := both.Ask(t, "GET", url, "Accept-Encoding: gzip"); body != "ok" {
			t.Errorf("body = %q; want ok", body)
		}
	})
}

func TestUnknownCodingPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `"br" is no coding`) {
			t.Errorf("New panics with %q", got)
		}
	}()
	New(Config{Codings: []string{"br"}})
}

// TestTypes: what the configuration names is what is coded.
func TestTypes(t *testing.T) {
	c := Config{Types: []string{"text/", "application/x-mine"}}
	for kind, want := range map[string]bool{
		"text/plain": true, "TEXT/HTML; charset=utf-8": true, "application/x-mine;a=b": true,
		"application/json": false, "": false, "text/event-stream": false,
	} {
		if got := c.isWorthIt(kind); got != want {
			t.Errorf("isWorthIt(%q) = %v; want %v", kind, got, want)
		}
	}
}

// FuzzWrites: however an answer is written and flushed, it reads as it was written, by
// coders that have coded others before.
func FuzzWrites(f *testing.F) {
	f.Add([]byte(long), []byte{10, 255, 0, 200}, false)
	f.Add([]byte("a"), []byte{0}, true)
	var body, cuts []byte
	h := New(Config{MinBytes: 64}).Wrap(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", html)
			rest := body
			for _, cut := range cuts {
				n := min(int(cut), len(rest))
				_, _ = w.Write(rest[:n])
				if rest = rest[n:]; cut%3 == 0 {
					w.(http.Flusher).Flush()
				}
			}
			_, _ = w.Write(rest)
		}))
	f.Fuzz(func(t *testing.T, whole, pieces []byte, gz bool) {
		body, cuts = whole, pieces
		coding := Zstd
		if gz {
			coding = Gzip
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", coding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got, err := decode(w.Header().Get("Content-Encoding"), w.Body)
		if err != nil || got != string(body) {
			t.Errorf("%q, %v; want %q", got, err, body)
		}
	})
}

// BenchmarkAnswer compares codings with plain bytes.
func BenchmarkAnswer(b *testing.B) {
	for _, accept := range []string{"identity", Gzip, Zstd} {
		b.Run(accept, func(b *testing.B) {
			h := New(Config{}).Wrap(said(200, long, "Content-Type", html))
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept-Encoding", accept)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// TestCoderMemory holds what the documentation says of it.
func TestCoderMemory(t *testing.T) {
	for coding, most := range map[string]uint64{Gzip: 5 << 18, Zstd: 5 << 19} {
		const n = 16
		coders := make([]coder, n)
		before := heap()
		for i := range coders {
			coders[i] = newPool(coding).get(io.Discard)
			_, _ = io.WriteString(coders[i], long)
			_ = coders[i].Flush()
		}
		each := (heap() - before) / n
		t.Logf("%s: %d KiB", coding, each>>10)
		if each > most {
			t.Errorf("a coder of %s has %d KiB; want %d at most", coding, each>>10, most>>10)
		}
		runtime.KeepAlive(coders)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
