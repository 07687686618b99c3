// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"encoding/binary"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// stopSoon bounds a stop that nothing holds up, on a machine that is busy.
const stopSoon = 4 * time.Second

// both runs a test for the signal of a manager and for that of a terminal.
func both(t *testing.T, test func(*testing.T, syscall.Signal)) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{
		"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sig)
		})
	}
}

func TestStopIdle(t *testing.T) {
	both(t, func(t *testing.T, sig syscall.Signal) {
		p := site{args: []string{"--workers", "2"}}.start(t)
		c := dial(t, p)
		answer(t, c, get("/hello"))
		stop(t, p, sig, 0, stopSoon)
		if err := c.Ended(); err != nil {
			t.Error(err)
		}
	})
}

// A view that is under way is answered first.
func TestStopWaitsForAView(t *testing.T) {
	for _, app := range []string{wsgiApp, asgiApp} {
		t.Run(app, func(t *testing.T) {
			both(t, func(t *testing.T, sig syscall.Signal) {
				p := site{app: app}.start(t)
				c := dial(t, p)
				c.Send(get("/sleep?s=1"))
				logs(t, p, "OPS sleeps", 1)
				p.Signal(t, sig)
				r, err := c.Read("GET")
				if err != nil || !strings.HasPrefix(string(r.Body), "slept") ||
					r.Get("Connection") != "close" {
					t.Errorf("a view at a stop: %+v, %v; want its answer and the connection's end",
						r, err)
				}
				left(t, p, nil, time.Now(), 0, stopSoon)
			})
		})
	}
}

// A view that outlasts --graceful-timeout is left, and its client sees that.
func TestStopLeavesALongView(t *testing.T) {
	for _, view := range []string{"sleep", "spin", "hold"} {
		t.Run(view, func(t *testing.T) {
			both(t, func(t *testing.T, sig syscall.Signal) {
				p := site{args: []string{"--graceful-timeout", "1"}}.start(t)
				c := dial(t, p)
				c.Send(get("/" + view + "?s=60"))
				logs(t, p, "OPS "+view, 1)
				begin := time.Now()
				stop(t, p, sig, 1, stopSoon)
				if took := time.Since(begin); took < 900*time.Millisecond {
					t.Errorf("left after %v, want the 1 s of --graceful-timeout", took)
				}
				if r, err := c.Read("GET"); err == nil {
					t.Errorf("the view was answered %s %q", r.Status, r.Body)
				}
			})
		})
	}
}

// With --graceful-timeout 0 nothing is waited for; a service at rest ends in order.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	for _, app := range []string{wsgiApp, asgiApp} {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			idle := site{app: app, args: []string{"--graceful-timeout", "0"}}.start(t)
			if got := ask(t, idle, "/hello"); got != "hello" {
				t.Errorf("GET /hello = %q", got)
			}
			stop(t, idle, syscall.SIGTERM, 0, stopSoon)
			busy := site{app: app, args: []string{"--graceful-timeout", "0"}}.start(t)
			c := dial(t, busy)
			c.Send(get("/sleep?s=60"))
			logs(t, busy, "OPS sleep", 1)
			stop(t, busy, syscall.SIGTERM, 1, stopSoon)
			if r, err := c.Read("GET"); err == nil {
				t.Errorf("the view was answered %s %q", r.Status, r.Body)
			}
		})
	}
}

// An answer that is being streamed is finished; one that would not end is cut, so
// that the client sees that it is not whole.
func TestStopWhileAnAnswerIsStreamed(t *testing.T) {
	for _, app := range []string{wsgiApp, asgiApp} {
		t.Run(app, func(t *testing.T) {
			both(t, func(t *testing.T, sig syscall.Signal) {
				p := site{app: app}.start(t)
				c := dial(t, p)
				c.Send(get("/stream?n=10&s=0.1"))
				logs(t, p, "OPS streams", 1)
				p.Signal(t, sig)
				r, err := c.Read("GET")
				if err != nil || strings.Count(string(r.Body), "piece") != 10 {
					t.Errorf("a short stream at a stop: %+v, %v; want 10 pieces and the end", r, err)
				}
				left(t, p, nil, time.Now(), 0, stopSoon)
			})
		})
	}
}

func TestStopCutsAnAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, app := range []string{wsgiApp, asgiApp} {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			p := site{app: app, args: []string{"--graceful-timeout", "1"}}.start(t)
			c := dial(t, p)
			c.Send(get("/stream?n=6000&s=0.01"))
			logs(t, p, "OPS streams", 1)
			stop(t, p, syscall.SIGTERM, 1, 5*time.Second)
			if r, err := c.Read("GET"); err != rawhttp.ErrCut {
				t.Errorf("a stream without end: %+v, %v; want it cut", r.Status, err)
			}
		})
	}
}

// A WebSocket is closed with 1012, service restart, and the lifespan is ended.
func TestStopClosesWebSockets(t *testing.T) {
	both(t, func(t *testing.T, sig syscall.Signal) {
		p := site{app: asgiApp}.start(t)
		c := dial(t, p)
		c.Send(get("/ws", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
		if r, err := c.ReadHead("GET"); err != nil || !strings.HasPrefix(r.Status, "101 ") {
			t.Fatalf("handshake: %+v, %v; want 101", r, err)
		}
		p.Signal(t, sig)
		if code := closeCode(t, c); code != 1012 {
			t.Errorf("close code %d, want 1012", code)
		}
		c.Send("\x88\x82\x00\x00\x00\x00\x03\xf4") // the close frame's answer, masked
		left(t, p, nil, time.Now(), 0, stopSoon)
		for _, want := range []string{"OPS disconnect 1012", "OPS lifespan.shutdown"} {
			if !strings.Contains(p.Log(), want) {
				t.Errorf("the log has no %q", want)
			}
		}
	})
}

// closeCode reads a close frame.
func closeCode(t *testing.T, c *rawhttp.Conn) int {
	t.Helper()
	frame := make([]byte, 4)
	if err := c.SetReadDeadline(time.Now().Add(rawhttp.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c.Conn, frame); err != nil {
		t.Fatalf("a close frame: %v", err)
	}
	if frame[0] != 0x88 || frame[1] < 2 {
		t.Fatalf("got frame % x, want a close frame with a code", frame)
	}
	return int(binary.BigEndian.Uint16(frame[2:]))
}

// A second signal ends everything at once.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := site{args: []string{"--graceful-timeout", "60"}}.start(t)
	c := dial(t, p)
	c.Send(get("/sleep?s=60"))
	logs(t, p, "OPS sleeps", 1)
	workers := p.Workers(t)
	p.Signal(t, syscall.SIGTERM)
	smoketest.Until(t, "the listener to close", func() bool {
		c, err := rawhttp.Dial(p.URL)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	begin := time.Now()
	p.Signal(t, syscall.SIGINT)
	left(t, p, workers, begin, 1, stopSoon)
}
