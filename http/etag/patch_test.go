// SPDX-License-Identifier: MIT

package etag_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"m0serve.dev/http/etag"
	"m0serve.dev/http/internal/both"
)

func tagOf(n int) string { return fmt.Sprintf(`"v%d"`, n) }

// journal makes one whose patches 1 to n lead from version 0 to n.
func journal(cfg etag.PatchConfig, n int) *etag.PatchJournal {
	j := etag.NewPatchJournal(cfg, tagOf(0))
	for i := 1; i <= n; i++ {
		j.Append(tagOf(i), fmt.Appendf(nil, "+%d", i))
	}
	return j
}

func TestPatchJournalSince(t *testing.T) {
	undone := journal(etag.PatchConfig{}, 2)
	undone.Append(tagOf(1), []byte("-2"))
	reset := journal(etag.PatchConfig{}, 3)
	reset.Reset(tagOf(9))
	for _, c := range []struct {
		name  string
		j     *etag.PatchJournal
		lines string // joined by |
		want  string // patches, joined
		base  string
		known bool
	}{
		{"older", journal(etag.PatchConfig{}, 5), tagOf(2), "+3+4+5", tagOf(2), true},
		{"weak", journal(etag.PatchConfig{}, 5), "W/" + tagOf(2), "+3+4+5", tagOf(2), true},
		{"first", journal(etag.PatchConfig{}, 5), tagOf(0), "+1+2+3+4+5", tagOf(0), true},
		{"current", journal(etag.PatchConfig{}, 5), tagOf(5), "", tagOf(5), true},
		{"unknown", journal(etag.PatchConfig{}, 5), `"x"`, "", "", false},
		{"none", journal(etag.PatchConfig{}, 5), "", "", "", false},
		{"any", journal(etag.PatchConfig{}, 5), "*", "", "", false},
		{"newest of a list", journal(etag.PatchConfig{}, 5), `"x", "v1", "v4"`, "+5", tagOf(4), true},
		{"newest of lines", journal(etag.PatchConfig{}, 5), `"v4"|"v1"`, "+5", tagOf(4), true},
		{"bound of patches", journal(etag.PatchConfig{Patches: 2}, 5), tagOf(3), "+4+5", tagOf(3), true},
		{"beyond patches", journal(etag.PatchConfig{Patches: 2}, 5), tagOf(2), "", "", false},
		{"bound of bytes", journal(etag.PatchConfig{Bytes: 4}, 5), tagOf(3), "+4+5", tagOf(3), true},
		{"beyond bytes", journal(etag.PatchConfig{Bytes: 5}, 5), tagOf(2), "", "", false},
		{"none kept", journal(etag.PatchConfig{Patches: -1}, 5), tagOf(5), "", tagOf(5), true},
		{"none kept, older", journal(etag.PatchConfig{Patches: -1}, 5), tagOf(4), "", "", false},
		{"undone", undone, tagOf(1), "", tagOf(1), true},
		{"before undone", undone, tagOf(2), "-2", tagOf(2), true},
		{"reset", reset, tagOf(2), "", "", false},
		{"current of reset", reset, tagOf(9), "", tagOf(9), true},
		{"nothing yet", journal(etag.PatchConfig{}, 0), tagOf(0), "", tagOf(0), true},
	} {
		var lines []string
		if c.lines != "" {
			lines = strings.Split(c.lines, "|")
		}
		patches, base, tag, known := c.j.Since(lines...)
		got := ""
		for _, p := range patches {
			got += string(p)
		}
		if got != c.want || base != c.base || known != c.known || tag != c.j.Tag() {
			t.Errorf("%s: Since(%q) = %q from %q to %q, %v; want %q from %q to %q, %v",
				c.name, lines, got, base, tag, known, c.want, c.base, c.j.Tag(), c.known)
		}
	}
}

func TestPatchJournalIsBounded(t *testing.T) {
	j := journal(etag.PatchConfig{Bytes: 100}, 1000)
	if j.Len() > 64 || j.Bytes() > 100 {
		t.Errorf("after 1000 patches %d with %d bytes are kept; want at most 64 with 100",
			j.Len(), j.Bytes())
	}
	j.Append(tagOf(2000), make([]byte, 101))
	if j.Len() != 0 || j.Bytes() != 0 || j.Tag() != tagOf(2000) {
		t.Errorf("a patch beyond the bound: %d kept, %d bytes, tag %s; want none, and its tag",
			j.Len(), j.Bytes(), j.Tag())
	}
}

func TestPatchJournalServe(t *testing.T) {
	handler := func() http.Handler {
		plain := journal(etag.PatchConfig{ContentType: "text/plain"}, 5)
		named := journal(etag.PatchConfig{Name: "diff"}, 5)
		mux := http.NewServeMux()
		whole := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tagOf(5))
			io.WriteString(w, "whole")
		}
		mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
			plain.Serve(w,
				r, whole)
		})
		mux.HandleFunc("/named", func(w http.ResponseWriter, r *http.Request) {
			named.Serve(w,
				r, whole)
		})
		return mux
	}
	both.Serve(t, handler, func(t *testing.T, url string) {
		for _, c := range []struct {
			request, fields string
			status          int
			body, base      string
		}{
			{"GET /plain", "", 200, "whole", ""},
			{"GET /plain", `If-None-Match: "v3"`, 226, "+4+5", `"v3"`},
			{"HEAD /plain", `If-None-Match: "v3"`, 226, "", `"v3"`},
			{"GET /plain", `If-None-Match: "v5"`, 304, "", ""},
			{"GET /plain", `If-None-Match: "x"`, 200, "whole", ""},
			{"POST /plain", `If-None-Match: "v3"`, 200, "whole", ""},
			{"GET /named", `If-None-Match: "v3"`, 200, "whole", ""},
			{"GET /named", `If-None-Match: "v3"|A-IM: vcdiff, DIFF;q=0.5`, 226, "+4+5", `"v3"`},
			{"GET /named", `If-None-Match: "v3"|A-IM: diff; q=0.0`, 200, "whole", ""},
			{"GET /named", `If-None-Match: "v3"|A-IM: differ`, 200, "whole", ""},
			{"GET /named", `If-None-Match: "v5"`, 304, "", ""},
			{"GET /named", `A-IM: diff`, 200, "whole", ""},
		} {
			method, path, _ := strings.Cut(c.request, " ")
			var fields []string
			if c.fields != "" {
				fields = strings.Split(c.fields, "|")
			}
			res, body := both.Ask(t, method, url+path, fields...)
			h := res.Header
			if res.StatusCode != c.status || body != c.body || h.Get("Delta-Base") != c.base ||
				h.Get("ETag") != tagOf(5) {
				t.Errorf("%s with %q = %d %q %v; want %d %q from %s to %s",
					c.request, fields, res.StatusCode, body, h, c.status, c.body, c.base, tagOf(5))
			}
			if c.status == 226 && (h.Get("Cache-Control") != "no-store" ||
				(h.Get("IM") == "diff") != (path == "/named")) {
				t.Errorf("%s: 226 has %v; want no-store, and IM where it has a name", c.request, h)
			}
			if named := path == "/named"; (h.Get("Vary") == "A-IM") != named {
				t.Errorf("%s: Vary = %q", c.request, h.Get("Vary"))
			}
		}
	})
}

// TestPatchJournalIsOfOnePiece: whoever applies what it gets has the version that
// its tag names, however the changes come between.
func TestPatchJournalIsOfOnePiece(t *testing.T) {
	const last = 2000
	j := etag.NewPatchJournal(etag.PatchConfig{Patches: 8}, tagOf(0))
	asked := make(chan struct{}) // one change for each question, at about the same time
	var patched atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(asked)
		for i := 1; i <= last; i++ {
			asked <- struct{}{}
			j.Append(tagOf(i), []byte{'x'})
		}
	})
	for range 4 {
		wg.Go(func() {
			for version := 0; version < last; {
				<-asked
				patches, _, tag, known := j.Since(tagOf(version))
				next := 0
				if _, err := fmt.Sscanf(tag, `"v%d"`, &next); err != nil {
					t.Errorf("tag %s: %v", tag, err)
				}
				if known && version+len(patches) != next {
					t.Errorf("%d patches from %d to %d", len(patches), version, next)
				}
				patched.Add(int64(len(patches)))
				version = next
			}
		})
	}
	wg.Wait()
	if patched.Load() == 0 {
		t.Error("vacuous: nobody got a patch")
	}
}

func ExamplePatchJournal() {
	text := "a"
	j := etag.NewPatchJournal(etag.PatchConfig{}, `"1"`)
	serve := func(w http.ResponseWriter, r *http.Request) {
		j.Serve(w, r, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", j.Tag())
			fmt.Fprint(w, text)
		})
	}
	text += "b"
	j.Append(`"2"`, []byte("append b\n"))
	text += "c"
	j.Append(`"3"`, []byte("append c\n"))

	for _, held := range []string{`"1"`, `"3"`, `"0"`} {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", held)
		serve(w, r)
		fmt.Printf("%s: %d %q\n", held, w.Code, w.Body)
	}
	// Output:
	// "1": 226 "append b\nappend c\n"
	// "3": 304 ""
	// "0": 200 "abc"
}

func ExampleTagger() {
	h := etag.Tagger{}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	h.ServeHTTP(w, r)
	tag := w.Header().Get("ETag")
	fmt.Println(w.Code, tag)

	r.Header.Set("If-None-Match", tag)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output:
	// 200 W/"l8a8u0vgmher-5"
	// 304
}

func ExamplePasses() {
	version := 7
	put := func(w http.ResponseWriter, r *http.Request) {
		if !etag.Stated(w, r) || !etag.Passes(w, r, fmt.Sprintf(`"%d"`, version)) {
			return // answered 428 or 412
		}
		version++
		w.WriteHeader(http.StatusNoContent)
	}
	for _, match := range []string{"", `"7"`, `"7"`} {
		r, w := httptest.NewRequest("PUT", "/", nil), httptest.NewRecorder()
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		put(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 428
	// 204
	// 412
}
