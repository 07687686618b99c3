// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"m0serve.dev/http/client"
	"m0serve.dev/http/client/eventsource"
	"m0serve.dev/http/wire"
)

// A check asks the server at base and says what is wrong.
type check struct {
	name string
	run  func(ctx context.Context, web *client.Client, base string) error
}

// checks are in the order of the report; never written.
var checks = []check{
	{"any method, bodies of known length", checkMethods},
	{"a body that is streamed, with a trailer", checkStreamed},
	{"a long answer, whole and in pieces", checkLong},
	{"early hints, chunks and a trailer", checkPieces},
	{"a redirect is a response, 204 and 304 have no body", checkStatuses},
	{"a connection is kept, and given up when told", checkConnections},
	{"an answer cut short is loud", checkCut},
	{"a deadline ends a request at once", checkDeadline},
	{"many at a time within the bounds of the pool", checkMany},
	{"an event stream that comes back with its id", checkEvents},
}

// serveReport runs all checks against this service.
func serveReport(w http.ResponseWriter, r *http.Request, web *client.Client) {
	var report strings.Builder
	failed := 0
	for _, c := range checks {
		err := c.run(r.Context(), web, "http://"+r.Host)
		if err != nil {
			failed++
			fmt.Fprintf(&report, "FAIL %s: %v\n", c.name, err)
			continue
		}
		fmt.Fprintf(&report, "ok   %s\n", c.name)
	}
	fmt.Fprintf(&report, "%d of %d checks passed\n", len(checks)-failed, len(checks))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if failed > 0 {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.Write([]byte(report.String()))
}

func checkMethods(ctx context.Context, web *client.Client, base string) error {
	var resp client.Response
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "QUERY", "BREW"} {
		for _, n := range []int{0, 5, 200_000} {
			body := []byte(strings.Repeat("b", n))
			req := client.Request{Method: method, URL: base + "/echo", Body: body}
			if err := web.Do(ctx, &req, &resp); err != nil {
				return err
			}
			seen, _ := resp.Field("x-seen")
			if want := fmt.Sprintf("%s %d ", method, n); string(seen) != strings.TrimSpace(want) {
				return fmt.Errorf("the server saw %q, want %q", seen, want)
			}
			if string(resp.Body) != string(body) {
				return fmt.Errorf("%s: %d bytes came back of %d", method, len(resp.Body), n)
			}
		}
	}
	return nil
}

func checkStreamed(ctx context.Context, web *client.Client, base string) error {
	var resp client.Response
	text := strings.Repeat("stream ", 50_000)
	err := web.Do(ctx, &client.Request{Method: "POST", URL: base + "/echo",
		Stream:   strings.NewReader(text),
		Trailers: func() []client.Field { return []client.Field{{Name: "X-Sum", Value: "7"}} },
	}, &resp)
	if err != nil {
		return err
	}
	if seen, _ := resp.Field("x-seen"); string(seen) != "POST -1 7" || string(resp.Body) != text {
		return fmt.Errorf("%q and %d bytes, want %q and %d", seen, len(resp.Body), "POST -1 7", len(text))
	}
	return nil
}

func checkLong(ctx context.Context, web *client.Client, base string) error {
	resp, err := web.Get(ctx, base+"/long")
	if err != nil {
		return err
	}
	s, err := web.Open(ctx, &client.Request{URL: base + "/long"})
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	for {
		piece, err := s.Next()
		if n += len(piece); err != nil {
			break
		}
	}
	if len(resp.Body) != longBytes || n != longBytes {
		return fmt.Errorf("%d and %d bytes, want %d", len(resp.Body), n, longBytes)
	}
	return nil
}

func checkPieces(ctx context.Context, web *client.Client, base string) error {
	hints := ""
	var resp client.Response
	req := client.Request{URL: base + "/pieces", Interim: func(r *wire.Response) {
		link, _ := r.Field("link")
		hints += fmt.Sprint(r.Status, " ", string(link))
	}}
	if err := web.Do(ctx, &req, &resp); err != nil {
		return err
	}
	sum, _ := wire.Find(resp.Trailers, "x-sum")
	if string(resp.Body) != "one two three" || string(sum) != "3" || !resp.Chunked ||
		hints != "103 </style.css>; rel=preload" {
		return fmt.Errorf("%q, trailer %q, hints %q", resp.Body, sum, hints)
	}
	return nil
}

func checkStatuses(ctx context.Context, web *client.Client, base string) error {
	for _, status := range []int{200, 204, 302, 304, 307, 404, 503} {
		resp, err := web.Get(ctx, fmt.Sprintf("%s/status/%d", base, status))
		if err != nil {
			return err
		}
		if resp.Status != status || len(resp.Body) != 0 {
			return fmt.Errorf("status %d with %d bytes, want %d", resp.Status, len(resp.Body), status)
		}
	}
	return nil
}

// checkConnections asks on a client of its own, whose counts are its own.
func checkConnections(ctx context.Context, _ *client.Client, base string) error {
	web := client.New(client.Config{})
	defer web.Close()
	for _, path := range []string{"/echo", "/echo", "/close", "/echo"} {
		if _, err := web.Get(ctx, base+path); err != nil {
			return err
		}
	}
	if s := web.Stats(); s.Dials != 2 || s.Reused != 2 {
		return fmt.Errorf("%d connections, %d used again, want 2 and 2", s.Dials, s.Reused)
	}
	return nil
}

func checkCut(ctx context.Context, web *client.Client, base string) error {
	resp, err := web.Get(ctx, base+"/broken")
	var e *client.Error
	if !errors.As(err, &e) || e.Kind != client.Truncated {
		return fmt.Errorf("%q and %v, want half of it and %v", resp.Body, err, client.Truncated)
	}
	return nil
}

func checkDeadline(ctx context.Context, web *client.Client, base string) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := web.Get(ctx, base+"/hang"); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%v, want the deadline", err)
	}
	return nil
}

func checkMany(ctx context.Context, _ *client.Client, base string) error {
	const places, requests = 4, 200
	web := client.New(client.Config{PerHost: places})
	defer web.Close()
	failed := make(chan error, requests)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			text := fmt.Sprint("request ", i)
			resp, err := web.Post(ctx, base+"/echo", "text/plain", []byte(text))
			if err == nil && string(resp.Body) != text {
				err = fmt.Errorf("%q for %q", resp.Body, text)
			}
			if err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	if s := web.Stats(); s.Dials > places || s.Open > places {
		return fmt.Errorf("%d connections, want at most %d", s.Dials, places)
	}
	return nil
}

func checkEvents(ctx context.Context, web *client.Client, base string) error {
	src := eventsource.New(web, eventsource.Config{URL: base + "/events",
		RetryMin: time.Millisecond})
	got := ""
	for e := range src.Events(ctx) {
		got += e.ID + ":" + e.Data + " "
	}
	const want = "1:number 1 2:number 2 3:number 3 4:number 4 5:number 5 "
	if src.Err() != nil || got != want {
		return fmt.Errorf("%q, %w; want %q", got, src.Err(), want)
	}
	return nil
}
