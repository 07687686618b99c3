// SPDX-License-Identifier: MIT

package sse

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
)

// patience bounds one conversation; the longest takes some milliseconds.
const patience = 5 * time.Second

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
		piece, err := r.ReadBytes(mark[len(mark)-1])
		b.Write(piece)
		if err != nil {
			t.Fatalf("read %q, then %v; want %q", b.String(), err, mark)
		}
	}
	return b.String()
}

func TestHoldHeader(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		addr := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		closed := make(chan loop.Reason, 1)
		addr := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

func readAll(r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	return string(b), err
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
			both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
				slots, closed := make(chan *Slot, 1), make(chan loop.Reason, 1)
				addr := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
				var rest string
				var err error
				if c.how == loop.EndClean && c.version == "1.1" {
					rest = until(t, r, "0\r\n\r\n") // the connection may live on
				} else {
					rest, err = readAll(r)
				}
				if body += rest; !strings.HasSuffix(body, c.wantEnd) ||
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
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		slots := make(chan *Slot, 1)
		addr := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	})
}

// A deaf is a response writer that cannot flush.
type deaf struct{ http.ResponseWriter }

func TestHoldRefusesAWriterThatCannotFlush(t *testing.T) {
	rec, closed := httptest.NewRecorder(), 0
	slot := NewSlot(nil, 0, func(loop.Reason) { closed++ })
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	err := Hold(deaf{rec}, req, slot)
	if err == nil || rec.Header().Get("Content-Type") != "" || closed != 1 {
		t.Errorf("Hold = %v, header %v, closed %d times; want an error, nothing written, 1",
			err, rec.Header(), closed)
	}
}

// TestHoldOutlivesTheServersDeadlines: those are for ordinary requests.
func TestHoldOutlivesTheServersDeadlines(t *testing.T) {
	r := NewRegistry(-1)
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		slot := NewSlot(nil, 0, nil)
		slot.Push(frame(1, "c", "", "data: hi\n\n"))
		if err := r.Add(slot, "c"); err != nil {
			t.Error(err)
		}
		if err := Hold(w, req, slot); err != nil {
			t.Errorf("Hold: %v", err)
		}
	}))
	ts.Config.ReadTimeout, ts.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	ts.Start()
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	_, rd := get(t, ts.Listener.Addr().String(), "")
	until(t, rd, "hi\n\n")
	for id := uint64(2); id < 12; id++ { // 200 ms of life
		time.Sleep(20 * time.Millisecond)
		r.Deliver(frame(id, "c", "", "data: more\n\n"))
		until(t, rd, "more\n\n")
	}
}

func TestHoldNoticesThePeerLeaving(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		r := NewRegistry(-1)
		closed := make(chan loop.Reason, 1)
		addr := serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
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
