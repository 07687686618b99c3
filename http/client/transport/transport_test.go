// SPDX-License-Identifier: MIT

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/client"
	"m0serve.dev/http/client/transport"
)

// site answers as the tests of net/http would have it.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprintf("%d %v %v %s %s", r.ContentLength,
			r.TransferEncoding, r.Header["A"], r.Trailer.Get("X-Sum"), r.Host))
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		http.Redirect(w, r, "/to?x=1", http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.URL)
	})
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "7")
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	return mux
}

func start(t *testing.T) (string, *http.Client, *client.Client) {
	srv := httptest.NewServer(site())
	t.Cleanup(srv.Close)
	c := client.New(client.Config{})
	t.Cleanup(c.Close)
	return srv.URL, &http.Client{Transport: transport.New(c)}, c
}

func read(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRoundTrip(t *testing.T) {
	url, web, c := start(t)
	resp, err := web.Get(url + "/from")
	if got := read(t, resp, err); got != "GET /to?x=1" {
		t.Errorf("behind a redirect: %q, want %q", got, "GET /to?x=1")
	}
	host := strings.TrimPrefix(url, "http://")
	for name, req := range map[string]struct {
		body io.Reader
		seen string
	}{
		"known length": {strings.NewReader("hello"), "5 [] [1 2]  " + host},
		"chunks":       {io.MultiReader(strings.NewReader("hello")), "-1 [chunked] [1 2]  " + host},
	} {
		r, _ := http.NewRequest("POST", url+"/echo", req.body)
		r.Header = http.Header{"A": {"1", "2"}, "Connection": {"x"}, "Te": {"trailers"}}
		resp, err := web.Do(r)
		if got := read(t, resp, err); got != "hello" || resp.Header.Get("X-Seen") != req.seen {
			t.Errorf("%s: %q, seen %q; want hello, %q", name, got, resp.Header.Get("X-Seen"), req.seen)
		}
	}
	r, _ := http.NewRequest("POST", url+"/echo", io.MultiReader(strings.NewReader("x")))
	r.Trailer = http.Header{"X-Sum": {"9"}}
	resp, err = web.Do(r)
	if read(t, resp, err); !strings.Contains(resp.Header.Get("X-Seen"), " 9 ") {
		t.Errorf("the server saw %q, want the trailer", resp.Header.Get("X-Seen"))
	}
	resp, err = web.Get(url + "/trailer")
	if got := read(t, resp, err); got != "body" || resp.Trailer.Get("X-Sum") != "7" {
		t.Errorf("trailer: %q and %v, want X-Sum: 7", got, resp.Trailer)
	}
	resp, err = web.Get(url + "/empty")
	if read(t, resp, err); resp.StatusCode != 204 || resp.Status != "204 No Content" {
		t.Errorf("status %d %q, want 204", resp.StatusCode, resp.Status)
	}
	resp, err = web.Head(url + "/to")
	if read(t, resp, err); resp.ContentLength != 8 {
		t.Errorf("HEAD: length %d, want 8", resp.ContentLength)
	}
	if s := c.Stats(); s.Dials != 1 {
		t.Errorf("%+v, want one connection for all", s)
	}
}

func TestRoundTripFails(t *testing.T) {
	url, web, c := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", url+"/hang", nil)
	if _, err := web.Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v, want the deadline", err)
	}
	resp, err := web.Get(url + "/cut")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body cut short: %v, want %v", err, io.ErrUnexpectedEOF)
	}
	resp.Body.Close()
	if _, err := web.Post(url, "text/plain\r\nEvil: 1", nil); err == nil {
		t.Errorf("a field with a line break was sent")
	}
	if s := c.Stats(); s.Open != 0 {
		t.Errorf("%+v, want none open", s)
	}
}

func Example() {
	srv := httptest.NewServer(site())
	defer srv.Close()
	c := client.New(client.Config{})
	defer c.Close()

	web := &http.Client{Transport: transport.New(c)}
	resp, err := web.Get(srv.URL + "/from") // net/http follows the redirect
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s %v\n", body, err)
	// Output: GET /to?x=1 <nil>
}
