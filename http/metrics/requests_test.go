// SPDX-License-Identifier: MIT

package metrics

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/route"
	"m0serve.dev/http/sse"
)

// newService is a router with one of each answer, counted.
func newService(r *Registry, hub *sse.Hub) http.Handler {
	rt := route.New()
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	rt.HandleFunc("GET /todos/:id", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	})
	rt.HandleFunc("/any/*rest", answer(http.StatusTeapot))
	rt.HandleFunc("GET /moved", answer(http.StatusFound))
	rt.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("on purpose") })
	rt.HandleFunc("GET /abort", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	rt.HandleFunc("GET /stream", func(w http.ResponseWriter, req *http.Request) {
		_ = hub.Hold(w, req, sse.HoldOptions{Channels: []string{"a"}})
	})
	rt.HandleFunc("GET /taken", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			_ = conn.Close()
		}
	})
	return NewRequests(r).Wrap(rt)
}

// do sends raw and returns the first line of the answer, "" when there is none.
func do(t *testing.T, addr, method, path string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", method, path)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestRequests(t *testing.T) {
	var reg *Registry
	var hub *sse.Hub
	both.Serve(t, func() http.Handler {
		b := bus.Local()
		t.Cleanup(b.Close)
		reg, hub = New(), sse.NewHub(sse.HubConfig{Bus: b})
		hub.Start()
		return newService(reg, hub)
	}, func(t *testing.T, url string) {
		addr := strings.TrimPrefix(url, "http://")
		for _, c := range [][2]string{
			{"GET", "/todos/1"}, {"GET", "/todos/2?secret=1"}, {"HEAD", "/todos/3"},
			{"FROB", "/any/x"}, {"GET", "/any/y"}, {"GET", "/moved"}, {"GET", "/lost/1"},
			{"GET", "/lost/2"}, {"PUT", "/moved"}, {"GET", "/panic"}, {"GET", "/abort"},
			{"GET", "/taken"}, {"GET", "/stream"},
		} {
			do(t, addr, c[0], c[1])
		}
		hub.Drain(0, 0) // over net/http the stream ends before it is counted
		got := untilCounted(t, reg, 13)
		wants(t, got, map[string]float64{
			`http_requests_total{method="GET",code="2xx",route="/todos/:id"}`:                 2,
			`http_requests_total{method="HEAD",code="2xx",route="/todos/:id"}`:                1,
			`http_requests_total{method="other",code="4xx",route="/any/*rest"}`:               1,
			`http_requests_total{method="GET",code="4xx",route="/any/*rest"}`:                 1,
			`http_requests_total{method="GET",code="3xx",route="/moved"}`:                     1,
			`http_requests_total{method="GET",code="4xx",route="unmatched"}`:                  2,
			`http_requests_total{method="PUT",code="4xx",route="unmatched"}`:                  1,
			`http_requests_total{method="GET",code="5xx",route="/panic"}`:                     1,
			`http_requests_total{method="GET",code="0xx",route="/abort"}`:                     1,
			`http_requests_total{method="GET",code="1xx",route="/taken"}`:                     1,
			`http_requests_total{method="GET",code="2xx",route="/stream"}`:                    1,
			`http_request_duration_seconds_count{method="GET",code="2xx",route="/todos/:id"}`: 2,
			`http_request_duration_seconds_count{method="GET",code="5xx",route="/panic"}`:     1,
			`http_requests_in_flight`: 0,
		})
		for name := range got {
			if strings.HasPrefix(name, "http_request_duration") &&
				(strings.Contains(name, "/stream") || strings.Contains(name, "/taken")) ||
				strings.Contains(name, "lost") || strings.Contains(name, "secret") {
				t.Errorf("%s is shown", name)
			}
		}
	})
}

// untilCounted waits for the counters of the last requests: an answer may be read
// before its handler has returned.
func untilCounted(t *testing.T, reg *Registry, requests float64) map[string]float64 {
	t.Helper()
	var got map[string]float64
	until(t, func() bool {
		got = parse(t, reg)
		sum := -got["http_requests_in_flight"]
		for name, n := range got {
			if strings.HasPrefix(name, "http_requests_total") {
				sum += n
			}
		}
		return sum == requests
	})
	return got
}

// TestRequestsPassPanicsOn: who recovers further out sees what was thrown.
func TestRequestsPassPanicsOn(t *testing.T) {
	h := NewRequests(New()).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic("on purpose")
	}))
	defer func() {
		if got := recover(); got != "on purpose" {
			t.Errorf("recover() = %v; want what the handler panicked with", got)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}
