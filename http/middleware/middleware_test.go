// SPDX-License-Identifier: MIT

package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

func TestWriteProblem(t *testing.T) {
	for _, c := range []struct {
		problem Problem
		status  int
		want    string
	}{
		{Problem{}, 500, `{"status":500,"title":"Internal Server Error"}`},
		{Problem{Status: 404, Detail: "no \"todo\" 7\n"}, 404,
			`{"detail":"no \"todo\" 7\n","status":404,"title":"Not Found"}`},
		{Problem{Type: "https://e.example/x", Title: "Out", Status: 507, Instance: "/a",
			Extra: map[string]any{"left": 3, "status": 1, "type": "no"}}, 507,
			`{"instance":"/a","left":3,"status":507,"title":"Out","type":"https://e.example/x"}`},
		{Problem{Status: 400, Extra: map[string]any{"bad": func() {}}}, 400,
			`{"status":400,"title":"Bad Request"}`},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Content-Length", "999")
		w.Header().Set("Vary", "Accept")
		WriteProblem(w, httptest.NewRequest("GET", "/", nil), c.problem)
		h := w.Result().Header
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("WriteProblem(%+v) = %d %s; want %d %s", c.problem, w.Code, w.Body, c.status, c.want)
		}
		if h.Get("Content-Type") != "application/problem+json" || h.Get("Etag") != "" ||
			h.Get("Vary") != "Accept" || h.Get("Content-Length") == "999" {
			t.Errorf("WriteProblem(%+v) header = %v", c.problem, h)
		}
	}
}

func TestHealthNeverShadowsTheApplication(t *testing.T) {
	app := http.NewServeMux()
	app.HandleFunc("/health/live", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the application's own")
	})
	h := Health{Ready: func(context.Context) error { return errors.New("no database") }}.Wrap(app)
	if got := get(h, "/health/live"); got.Code != 200 || got.Body.String() != "the application's own" {
		t.Errorf("GET /health/live = %d %q; want the application's own answer", got.Code, got.Body)
	}
	got := get(h, "/health/ready")
	if got.Code != 503 || !strings.Contains(got.Body.String(), "no database") {
		t.Errorf("GET /health/ready = %d %q; want 503 with the reason", got.Code, got.Body)
	}
	if got := get(h, "/other"); got.Code != 404 {
		t.Errorf("GET /other = %d; want the application's 404", got.Code)
	}
}

func TestHealthAnswers(t *testing.T) {
	h := Health{LivePath: "/up", ReadyPath: "-"}.Wrap(http.NotFoundHandler())
	got := get(h, "/up")
	if got.Code != 200 || got.Body.String() != "ok\n" ||
		got.Result().Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("GET /up = %d %q %v; want 200 ok", got.Code, got.Body, got.Result().Header)
	}
	for _, path := range []string{"/health/ready", "/-"} {
		if got := get(h, path); got.Code != 404 {
			t.Errorf("GET %s = %d; want 404", path, got.Code)
		}
	}
}

func TestAccessLogWritesOneJSONLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		status  float64
		bytes   float64
	}{
		{"silent", func(http.ResponseWriter, *http.Request) {}, 200, 0},
		{"body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("abc")) }, 200, 3},
		{"error", func(w http.ResponseWriter, r *http.Request) {
			WriteProblem(w, r, Problem{Status: 404})
		}, 404, 34},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("boom") }, 500, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			h := AccessLog(slog.New(slog.NewJSONHandler(&out, nil)), c.handler)
			panicked := func() (p any) {
				defer func() { p = recover() }()
				get(h, "/a?secret=1")
				return nil
			}()
			var line map[string]any
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("AccessLog wrote %q: %v; want one JSON line", out.String(), err)
			}
			if line["status"] != c.status || line["bytes"] != c.bytes || line["path"] != "/a" {
				t.Errorf("AccessLog wrote %v; want status %v, bytes %v, path /a", line, c.status, c.bytes)
			}
			if strings.Contains(out.String(), "secret") {
				t.Errorf("AccessLog wrote the query: %s", out.String())
			}
			if (panicked != nil) != (c.name == "panic") {
				t.Errorf("panic behind AccessLog = %v", panicked)
			}
		})
	}
}

func TestWritersStayReachable(t *testing.T) {
	flushed := false
	h := AccessLog(slog.New(slog.DiscardHandler), http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush through AccessLog: %v", err)
			}
			_, flushed = w.(http.Flusher)
		}))
	if w := get(h, "/"); !w.Flushed || !flushed {
		t.Errorf("flushed = %v, Flusher by assertion = %v; want both", w.Flushed, flushed)
	}
}
