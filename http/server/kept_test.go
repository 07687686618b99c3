// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// What is kept for clients that do not read has one bound: beyond it the handler of a long
// answer waits, and is counted, while short ones go on. Nothing is kept when they are gone,
// and who reads at last gets all of it.
func TestAnswersForSlowClientsAreBounded(t *testing.T) {
	const most, long = 8 << 20, 4 << 20
	body := bytes.Repeat([]byte("b"), long)
	var waits atomic.Int32
	s, addr := start(t, server.Config{KeptMax: most, Handler: server.HandlerFunc(
		func(x *server.Exchange) {
			switch {
			case string(x.Request().Path) == "/short":
				x.WriteWhole([]byte("short"))
			case !x.WriteWhole(body):
				waits.Add(1)
				defer waits.Add(-1)
				_, _ = x.Write(body)
			}
		})})
	var slow []net.Conn
	for s.Stats().KeptFull == 0 {
		if len(slow) == 100 {
			t.Fatalf("vacuous: %d clients, and %d bytes are kept", len(slow), s.Stats().Kept)
		}
		c, _ := dial(t, addr)
		slow = append(slow, c)
		if _, err := io.WriteString(c, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200"))); err != nil {
			t.Fatal(err)
		}
		if kept := s.Stats().Kept; kept > most {
			t.Fatalf("%d bytes are kept, the bound is %d", kept, most)
		}
	}
	if n := waits.Load(); n != 1 {
		t.Errorf("%d handlers wait for their clients, want 1", n)
	}
	wantBytes(t, addr, "/short", len("short"))
	for _, c := range slow[:len(slow)-1] {
		_ = c.Close()
	}
	last := slow[len(slow)-1]
	_ = last.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(last, make([]byte, long)); err != nil {
		t.Errorf("who reads at last: %v", err)
	}
	eventually(t, "nothing is kept", func() bool { return s.Stats().Kept == 0 })
	wantBytes(t, addr, "/long", long)
}

// Keep gives what there is, and Release gives it back.
func TestKeepIsBounded(t *testing.T) {
	s, addr := start(t, server.Config{KeptMax: 100, Handler: server.HandlerFunc(
		func(x *server.Exchange) {
			got := []bool{x.Keep(60), x.Keep(41), x.Keep(40), x.Keep(5 << 20)}
			x.Release(100)
			if want := []bool{true, false, true, false}; !slices.Equal(got, want) {
				t.Errorf("Keep = %v, want %v", got, want)
			}
		})})
	wantBytes(t, addr, "/", 0)
	if st := s.Stats(); st.Kept != 0 || st.KeptFull != 1 {
		t.Errorf("Kept %d, KeptFull %d; want 0, and 1 for the long one", st.Kept, st.KeptFull)
	}
}

// wantBytes asks on a connection of its own and wants so many bytes.
func wantBytes(t *testing.T, addr, path string, want int) {
	t.Helper()
	resp, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != int64(want) {
		t.Errorf("GET %s: %d bytes, %v; want %d", path, n, err, want)
	}
}
