// SPDX-License-Identifier: MIT

package sse

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
)

const patience = 10 * time.Second

// servers are the two kinds that a handler may find itself on.
func servers() map[string]func(*testing.T, http.Handler) string {
	return map[string]func(*testing.T, http.Handler) string{
		"net/http": func(t *testing.T, h http.Handler) string {
			ts := httptest.NewServer(h)
			t.Cleanup(func() {
				ts.CloseClientConnections()
				ts.Close()
			})
			return ts.Listener.Addr().String()
		},
		"server": serveLoop,
	}
}

func serveLoop(t *testing.T, h http.Handler) string {
	t.Helper()
	srv, err := server.New(server.Config{HTTP: h, DrainTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Logf("Shutdown: %v", err)
		}
		<-served
	})
	return ln.Addr().String()
}

// onBoth runs the test on each kind of server.
func onBoth(t *testing.T, run func(t *testing.T, serve func(*testing.T, http.Handler) string)) {
	for name, serve := range servers() {
		t.Run(name, func(t *testing.T) { run(t, serve) })
	}
}

// dial sends a request and returns the raw connection.
func dial(t *testing.T, addr, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

func get(t *testing.T, addr, header string) (net.Conn, *bufio.Reader) {
	t.Helper()
	return dial(t, addr, "GET /s HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
}

// until reads to the first occurrence of mark.
func until(t *testing.T, r *bufio.Reader, mark string) string {
	t.Helper()
	var b strings.Builder
	for !strings.HasSuffix(b.String(), mark) {
		c, err := r.ReadByte()
		if err != nil {
			t.Fatalf("read %q, then %v; want %q", b.String(), err, mark)
		}
		b.WriteByte(c)
	}
	return b.String()
}

func TestHoldHeader(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(*testing.T, http.Handler) string) {
		addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-App", "1")
			slot := NewSlot(nil, 0, nil)
			slot.Push(frame(1, "c", "", "data: hi\n\n"))
			if err := Hold(w, r, slot); err != nil {
				t.Errorf("Hold: %v", err)
			}
		}))
		_, r := get(t, addr, "")
		head := until(t, r, "\r\n\r\n")
		for _, want := range []string{"HTTP/1.1 200 OK\r\n", "Content-Type: text/event-stream\r\n",
			"Cache-Control: no-cache\r\n", "X-Accel-Buffering: no\r\n",
			"Transfer-Encoding: chunked\r\n", "X-App: 1\r\n"} {
			if !strings.Contains(strings.ToLower(head), strings.ToLower(want)) {
				t.Errorf("head lacks %q:\n%s", want, head)
			}
		}
		if body := until(t, r, "\n\n"); body != "a\r\ndata: hi\n\n" {
			t.Errorf("first chunk = %q; want the event", body)
		}
	})
}

func TestHoldHEADEndsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(*testing.T, http.Handler) string) {
		closed := make(chan loop.Reason, 1)
		addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := Hold(w, r, NewSlot(nil, 0, func(why loop.Reason) { closed <- why })); err != nil {
				t.Errorf("Hold: %v", err)
			}
		}))
		_, r := dial(t, addr, "HEAD /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		all, err := io.ReadAll(r)
		if err != nil || !strings.HasSuffix(string(all), "\r\n\r\n") ||
			!strings.Contains(strings.ToLower(string(all)), "text/event-stream") {
			t.Errorf("HEAD = %q, %v; want a head and nothing behind it", all, err)
		}
		<-closed
	})
}

func TestHoldEndings(t *testing.T) {
	for _, c := range []struct {
		name, version string
		how           loop.Ending
		wantEnd       string // what the wire ends with
	}{
		{"clean chunked", "1.1", loop.EndClean, "\n\n\r\n0\r\n\r\n"},
		{"cut chunked", "1.1", loop.EndCut, "\n\n\r\n"},
		{"clean close-delimited", "1.0", loop.EndClean, "\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, serve func(*testing.T, http.Handler) string) {
				slots, closed := make(chan *Slot, 1), make(chan loop.Reason, 1)
				addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					slot := NewSlot(nil, 0, func(why loop.Reason) { closed <- why })
					slot.Push(frame(1, "c", "", "data: hi\n\n"))
					slots <- slot
					if err := Hold(w, r, slot); err != nil {
						t.Errorf("Hold: %v", err)
					}
				}))
				_, r := dial(t, addr, "GET /s HTTP/"+c.version+"\r\nHost: a\r\n\r\n")
				until(t, r, "\r\n\r\n")
				body := until(t, r, "hi\n\n")
				(<-slots).Close(c.how)
				rest, err := io.ReadAll(r)
				if body += string(rest); !strings.HasSuffix(body, c.wantEnd) ||
					c.how == loop.EndCut && strings.Contains(body, "\r\n0\r\n") {
					t.Errorf("body = %q, %v; want it to end with %q", body, err, c.wantEnd)
				}
				if why := <-closed; why != loop.ClosedByServer {
					t.Errorf("Closed(%v); want ClosedByServer", why)
				}
			})
		})
	}
}

func TestHoldCutsCloseDelimitedByReset(t *testing.T) {
	slots := make(chan *Slot, 1)
	addr := serveLoop(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slot := NewSlot(nil, 0, nil)
		slot.Push(frame(1, "c", "", "data: hi\n\n"))
		slots <- slot
		if err := Hold(w, r, slot); err != nil {
			t.Errorf("Hold: %v", err)
		}
	}))
	_, r := dial(t, addr, "GET /s HTTP/1.0\r\n\r\n")
	until(t, r, "hi\n\n")
	(<-slots).Close(loop.EndCut)
	if rest, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("after the cut: %q, %v; want a reset, since a FIN is a clean end", rest, err)
	}
}

func TestHoldNoticesThePeerLeaving(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(*testing.T, http.Handler) string) {
		r := NewRegistry(-1)
		closed := make(chan loop.Reason, 1)
		addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			slot := NewSlot(nil, 0, func(why loop.Reason) { closed <- why })
			if err := r.Add(slot, "c"); err != nil {
				t.Error(err)
			}
			slot.Push(frame(1, "c", "", "data: hi\n\n"))
			if err := Hold(w, req, slot); err != nil {
				t.Errorf("Hold: %v", err)
			}
		}))
		c, rd := get(t, addr, "")
		until(t, rd, "hi\n\n")
		c.Close()
		select {
		case why := <-closed:
			if why != loop.ClosedByPeer {
				t.Errorf("Closed(%v); want ClosedByPeer", why)
			}
		case <-time.After(patience):
			t.Fatal("the stream does not notice that its peer left")
		}
		if n := r.Len(); n != 0 {
			t.Errorf("%d slots registered after the end; want 0", n)
		}
	})
}

// TestStalledReadersDelayNobody: five peers read nothing while one reads all.
func TestStalledReadersDelayNobody(t *testing.T) {
	const frames, size = 1500, 20_000
	for _, policy := range []Policy{Disconnect, DropOldest} {
		t.Run(policy.String(), func(t *testing.T) {
			onBoth(t, func(t *testing.T, serve func(*testing.T, http.Handler) string) {
				r := NewRegistry(-1)
				joined := make(chan *Slot, 6)
				addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					slot := NewSlot(&Limits{Policy: policy}, 0, nil)
					if err := r.Add(slot, "news"); err != nil {
						t.Error(err)
					}
					joined <- slot
					if err := Hold(w, req, slot); err != nil {
						t.Errorf("Hold: %v", err)
					}
				}))
				for range 5 {
					get(t, addr, "") // and never read
					<-joined
				}
				_, rd := get(t, addr, "")
				healthy := <-joined
				until(t, rd, "\r\n\r\n")
				go publishTo(healthy, r, frames, size)
				for i := 1; i <= frames; i++ {
					if got := until(t, rd, fmt.Sprintf("#%d.\n\n\r\n", i)); len(got) > size+100 {
						t.Fatalf("before frame %d came %d bytes: frames are missing", i, len(got))
					}
				}
				if d := r.Stats().Drops["news"]; d.Frames[policy] < 5 {
					t.Errorf("drops of the stalled = %+v; want some for each of 5", d)
				}
			})
		})
	}
}

// publishTo sends frames as fast as the healthy stream takes them.
func publishTo(healthy *Slot, r *Registry, frames, size int) {
	pad := strings.Repeat("x", size)
	for i := 1; i <= frames; i++ {
		for {
			if waiting, _ := healthy.queued(); waiting < 16 {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		r.Deliver(frame(uint64(i), "news", "", fmt.Sprintf("data: %s #%d.\n\n", pad, i)))
	}
}
