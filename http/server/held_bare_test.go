// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
)

// A bare is a server whose handler holds every exchange bare.
type bare struct {
	addr   string
	opened chan *frames
	keeps  chan bool // what Keeps said of each
}

// startBare wants to keep the connections where keeps says so.
func startBare(t *testing.T, keeps bool, cfg server.Config) *bare {
	t.Helper()
	b := &bare{opened: make(chan *frames, 4), keeps: make(chan bool, 4)}
	cfg.Handler = server.HandlerFunc(func(x *server.Exchange) {
		f := newFrames()
		held, err := x.HoldBare(f, keeps)
		if err != nil {
			t.Errorf("HoldBare = %v", err)
			return
		}
		f.held = held
		b.keeps <- x.Keeps()
		b.opened <- f
	})
	_, b.addr = start(t, cfg)
	return b
}

const bareRequest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// next is the exchange that is held next.
func (b *bare) next(t *testing.T, keeps bool) *frames {
	t.Helper()
	select {
	case f := <-b.opened:
		if got := <-b.keeps; got != keeps {
			t.Errorf("Keeps = %v, want %v", got, keeps)
		}
		return f
	case <-time.After(5 * time.Second):
		t.Fatal("no exchange is held")
		return nil
	}
}

// answer answers f, and wants the answer at the peer, which reads from r.
func (b *bare) answer(t *testing.T, f *frames, r io.Reader, text string) {
	t.Helper()
	f.put(text)
	f.held.Close(loop.EndClean)
	got := make([]byte, len(text))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("the answer is %q, %v; want %q", got, err, text)
	}
	f.wantClosed(t, loop.ClosedByServer)
}

// TestHoldBare: of a bare hold the engine sends nothing of its own: the source gives
// head and body when it has them, and the connection ends behind them.
func TestHoldBare(t *testing.T) {
	for name, c := range map[string]struct {
		keeps   bool // what the handler wants
		request string
		known   bool // what Keeps says
	}{
		"no wish":  {false, bareRequest, true},
		"HTTP/1.0": {true, "GET / HTTP/1.0\r\n\r\n", false},
		"close":    {true, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := startBare(t, c.keeps, server.Config{})
			conn, r := dial(t, b.addr)
			send(t, conn, c.request)
			b.answer(t, b.next(t, c.known), r, "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n")
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("behind the answer came %q, %v; want the end", rest, err)
			}
		})
	}
}

// TestHoldBareKeepsTheConnection: behind an answer that can be told apart the
// connection goes on, and what the peer sent meanwhile is its next request.
func TestHoldBareKeepsTheConnection(t *testing.T) {
	const answer = "HTTP/1.1 204 No Content\r\n\r\n"
	half := len(bareRequest) / 2
	for name, parts := range map[string][3]string{ // at once, while it is held, behind the answer
		"behind the answer": {bareRequest, "", bareRequest},
		"at once":           {bareRequest + bareRequest, "", ""},
		"meanwhile":         {bareRequest, bareRequest, ""},
		"in pieces": {bareRequest + bareRequest[:3], bareRequest[3:half],
			bareRequest[half:]},
		"more than is read at once": {bareRequest, strings.Replace(bareRequest, "Host",
			"X: "+strings.Repeat("x", 6<<10)+"\r\nHost", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := startBare(t, true, server.Config{})
			conn, r := dial(t, b.addr)
			send(t, conn, parts[0])
			first := b.next(t, true)
			send(t, conn, parts[1])
			b.answer(t, first, r, answer)
			send(t, conn, parts[2])
			b.answer(t, b.next(t, true), r, answer)
			send(t, conn, bareRequest)
			b.answer(t, b.next(t, true), r, answer)
			if len(first.got) > 0 {
				t.Errorf("the source got %q of the next request", first.got)
			}
		})
	}
}

// TestHoldBareThatKeepsNoticesItsEnd: of a peer that leaves, of a shutdown, and of a peer
// that asks for nothing more.
func TestHoldBareThatKeepsNoticesItsEnd(t *testing.T) {
	b := startBare(t, true, server.Config{IdleTimeout: 50 * time.Millisecond})
	conn, _ := dial(t, b.addr)
	send(t, conn, bareRequest)
	f := b.next(t, true)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	f.wantClosed(t, loop.ClosedByPeer)

	conn, r := dial(t, b.addr)
	send(t, conn, bareRequest)
	b.answer(t, b.next(t, true), r, "HTTP/1.1 204 No Content\r\n\r\n")
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("an idle peer got %q, %v; want the end", rest, err)
	}

	conn, r = dial(t, b.addr)
	send(t, conn, bareRequest)
	b.next(t, true).held.Close(loop.EndCut)
	if rest, err := io.ReadAll(r); len(rest) > 0 || err == nil {
		t.Errorf("a hold that is cut ends with %q, %v; want a reset", rest, err)
	}
}
