// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
)

// An asker asks a server from inside and waits for the answer.
type asker struct{ ask func(server.Asking) error }

// want asks for a path and wants a status and a body.
func (a asker) want(t *testing.T, path, body string, status int, want string) {
	t.Helper()
	got := make(chan string, 1)
	err := a.ask(server.Asking{
		Raw: fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: inside\r\nContent-Length: %d\r\n\r\n%s",
			path, len(body), body),
		For: body,
		Done: func(x *server.Exchange) {
			got <- fmt.Sprintf("%d %s", x.Status(), x.AnswerBody())
		},
	})
	if err != nil {
		t.Fatalf("Ask for %s: %v", path, err)
	}
	select {
	case s := <-got:
		if w := fmt.Sprintf("%d %s", status, want); s != w {
			t.Errorf("Ask for %s: %q, want %q", path, s, w)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("Ask for %s: no answer", path)
	}
}

// insideHandler answers what Ask asks.
func insideHandler(t *testing.T, block func()) server.Handler {
	return server.HandlerFunc(func(x *server.Exchange) {
		body, _ := x.Body()
		what, inside := x.Asked()
		if text, _ := what.(string); !inside || text != string(body) {
			t.Errorf("Asked() = %v, %v for body %q", what, inside, body)
		}
		switch string(x.Request().Path) {
		case "/blocks":
			_, _ = x.WriteString("a")
			x.Offer()
			block()
			x.Offer()
			if err := x.Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			_, _ = x.WriteString("b")
		case "/long":
			if _, err := x.WriteString(strings.Repeat("l", 2<<20)); !errors.Is(err, loop.ErrTooBig) {
				t.Errorf("Write of 2 MiB: %v, want ErrTooBig", err)
			}
			x.Fail(507, "")
		case "/panics":
			panic("inside")
		case "/holds":
			if _, _, err := x.HoldConn(newFrames()); !errors.Is(err, loop.ErrNotHoldable) {
				t.Errorf("HoldConn: %v, want ErrNotHoldable", err)
			}
			if _, _, err := x.Hijack(); err == nil {
				t.Error("Hijack: no error")
			}
		default:
			_, _ = x.WriteString("got " + string(body))
		}
	})
}

// TestAsk: a request from inside is answered like any other, on a seat and on a
// goroutine, whether the loop is busy or asleep.
func TestAsk(t *testing.T) {
	var in interpreter
	seated, addr := startSeated(t, server.Config{Log: quietLog(), Handler: insideHandler(t, func() {
		in.blocks(20 * time.Millisecond)
	})}, &in, 1)
	plain, _ := start(t, server.Config{Log: quietLog(), Handler: insideHandler(t, func() {
		time.Sleep(20 * time.Millisecond)
	})})
	_ = addr
	for name, s := range map[string]*server.Server{"seat": seated, "goroutine": plain} {
		t.Run(name, func(t *testing.T) {
			a := asker{s.Ask}
			for i := range 300 {
				body := fmt.Sprint(i)
				a.want(t, "/", body, 200, "got "+body)
			}
			a.want(t, "/blocks", "x", 200, "ab")
			a.want(t, "/panics", "x", 500, `{"title":"Internal Server Error","status":500}`+"\n")
			a.want(t, "/long", "x", 507, `{"title":"Insufficient Storage","status":507}`+"\n")
			a.want(t, "/holds", "x", 200, "")
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() { a.want(t, "/", fmt.Sprint(i), 200, "got "+fmt.Sprint(i)) })
			}
			wg.Wait()
		})
	}
}

// TestAskRefuses: what is no whole request is refused, what is too much as well, and
// a server that has ended asks nobody.
func TestAskRefuses(t *testing.T) {
	var in interpreter
	release := make(chan struct{})
	s, _ := startSeated(t, server.Config{SeatedMax: 1, Handler: server.HandlerFunc(
		func(*server.Exchange) { <-release })}, &in, 1)
	done := make(chan struct{}, 1)
	const whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	ask := func(raw string) error {
		return s.Ask(server.Asking{Raw: []byte(raw), Done: func(*server.Exchange) { done <- struct{}{} }})
	}
	for _, raw := range []string{"", "GET / HTTP/1.1\r\nHost: a\r\n", "nonsense\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfour", whole + "more",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		if err := ask(raw); err == nil {
			t.Errorf("Ask(%q): no error", raw)
		}
	}
	if err := ask(whole); err != nil {
		t.Fatal(err)
	}
	if err := ask(whole); !errors.Is(err, loop.ErrBusy) {
		t.Errorf("Ask beyond the bound: %v, want ErrBusy", err)
	}
	close(release)
	<-done
	s.Close()
	if err := ask(whole); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("Ask of a server that has ended: %v, want ErrClosed", err)
	}
}
