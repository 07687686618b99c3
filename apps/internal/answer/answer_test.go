// SPDX-License-Identifier: MIT

package answer

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPageOfAWorker(t *testing.T) {
	w := httptest.NewRecorder()
	Named(3, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Page(w, "default-src 'self'", []byte("<p>hello"))
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	want := http.Header{
		"X-Worker":                {"3"},
		"Content-Type":            {"text/html; charset=utf-8"},
		"Content-Security-Policy": {"default-src 'self'"},
		"Cache-Control":           {"no-store"},
	}
	same := func(x, y []string) bool { return len(x) == 1 && len(y) == 1 && x[0] == y[0] }
	if !maps.EqualFunc(w.Header(), want, same) || w.Body.String() != "<p>hello" {
		t.Errorf("a page of worker 3 = %v, %q; want %v", w.Header(), w.Body, want)
	}
}

func TestFileIsSentWhenItChanged(t *testing.T) {
	get := func(file http.Handler, known string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/x.css", nil)
		r.Header.Set("If-None-Match", known)
		file.ServeHTTP(w, r)
		return w
	}
	file := File("text/css", []byte("a{}"))
	first := get(file, "")
	if first.Code != 200 || first.Body.String() != "a{}" ||
		first.Header().Get("Content-Type") != "text/css" {
		t.Fatalf("first = %d %q %v; want the file", first.Code, first.Body, first.Header())
	}
	tag := first.Header().Get("Etag")
	if again := get(file, tag); again.Code != 304 || again.Body.Len() != 0 {
		t.Errorf("again = %d %q; want 304", again.Code, again.Body)
	}
	if other := get(File("text/css", []byte("b{}")), tag); other.Code != 200 {
		t.Errorf("another file = %d; want 200", other.Code)
	}
}
