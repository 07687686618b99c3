// SPDX-License-Identifier: MIT

// Package both runs a test against a handler on each server it has to work on:
// that of this module, and net/http's.
package both

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// Each runs test twice. serve serves a handler until the end of the run.
func Each(t *testing.T, test func(t *testing.T, serve func(http.Handler) (addr string))) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		test(t, func(h http.Handler) string { return Loop(t, h) })
	})
	t.Run("net/http", func(t *testing.T) {
		test(t, func(h http.Handler) string { return Std(t, h) })
	})
}

// Serve is Each for one handler: newHandler makes that of each run.
func Serve(t *testing.T, newHandler func() http.Handler, test func(t *testing.T, url string)) {
	t.Helper()
	Each(t, func(t *testing.T, serve func(http.Handler) string) {
		test(t, "http://"+serve(newHandler()))
	})
}

// Std serves h by net/http until the end of the test.
func Std(t testing.TB, h http.Handler) (addr string) {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.Listener.Addr().String()
}

// Loop serves h by the server of this module until the end of the test.
func Loop(t testing.TB, h http.Handler) (addr string) {
	t.Helper()
	_, addr = Start(t, server.Config{HTTP: h})
	return addr
}

// Start serves cfg until the end of the test.
func Start(t testing.TB, cfg server.Config) (s *server.Server, addr string) {
	t.Helper()
	s, err := server.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; !errors.Is(err, server.ErrClosed) {
			t.Errorf("Serve = %v, want ErrClosed", err)
		}
	})
	return s, ln.Addr().String()
}

// Client follows no redirect, asks for no gzip and has a connection for each
// request.
func Client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       20 * time.Second,
	}
}

// Ask sends a request by Client; fields are "Name: value".
func Ask(t testing.TB, method, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	res, err := Client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", method, url, err)
	}
	return res, string(body)
}
