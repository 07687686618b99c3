// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
)

// TestOfferIsSentWhileTheHandlerBlocks: what a handler offered reaches the peer
// before it goes on, behind the answers of earlier requests; whether it has the loop
// still or has lost it without a word.
func TestOfferIsSentWhileTheHandlerBlocks(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			for tries := 0; !offerAndBlock(t, lost); tries++ {
				if tries == 100 {
					t.Fatal("no handler ran on the loop: this run showed nothing")
				}
			}
		})
	}
}

// offerAndBlock reports whether the handler was on the loop, so that it was shown.
func offerAndBlock(t *testing.T, lost bool) bool {
	var in interpreter
	var shown atomic.Bool
	release, taken := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	handler := func(x *server.Exchange) {
		if x.Seat() == nil {
			close(taken) // by whoever has the loop now
			return
		}
		_, _ = x.WriteString("first")
		if string(x.Request().Path) != "/slow" {
			return
		}
		if shown.Store(x.OnLoop()); !shown.Load() {
			_ = x.Flush()
		}
		if lost {
			<-taken
		}
		x.Offer()
		in.Unlock()
		<-release
		in.Lock()
		_, _ = x.WriteString("second")
	}
	_, addr := startSeated(t, server.Config{Handler: server.HandlerFunc(handler),
		Seated: func(r *wire.Request) bool { return string(r.Path) != "/free" }}, &in, 1)
	t.Cleanup(free) // before the end of the server, which waits for the seat
	c := dialSeat(t, addr)
	if _, err := io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"+
		"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"+"GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	c.want(t, "first")
	if lost {
		other := dialSeat(t, addr)
		other.ask(t, "/free")
		other.want(t, "")
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != "first" {
		t.Fatalf("while the handler blocks: %q, %v, want \"first\"", got, err)
	}
	free()
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "second" {
		t.Errorf("the rest: %q, %v, want \"second\"", rest, err)
	}
	c.want(t, "first")
	return shown.Load()
}

// TestOffersAroundTheThreshold writes bodies in pieces with waits about as long
// as the watchdog's step: no piece is lost or sent twice.
func TestOffersAroundTheThreshold(t *testing.T) {
	var in interpreter
	handler := func(x *server.Exchange) {
		n, _ := strconv.Atoi(string(x.Request().RawQuery))
		for i := range n % 7 {
			fmt.Fprintf(x, "%d.%d;", n, i)
			x.Offer()
			switch (n + i) % 5 {
			case 0:
				in.blocks(time.Duration(n%13) * 50 * time.Microsecond)
			case 1:
				time.Sleep(time.Duration(n%11) * 50 * time.Microsecond)
			case 2:
				if n%17 == 0 {
					_ = x.Flush()
				}
			}
		}
	}
	s, addr := startSeated(t, server.Config{Handler: server.HandlerFunc(handler),
		Takeover: 100 * time.Microsecond}, &in, 2)
	until := int64(20_000)
	if testing.Short() {
		until = 2_000
	}
	var asked atomic.Int64
	var streamed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := dialSeat(t, addr)
			for n := asked.Add(1); n < until; n = asked.Add(1) {
				if err := checkPieces(c, int(n), &streamed); err != nil {
					t.Errorf("request %d: %v", n, err)
					return
				}
				_ = c.conn.SetDeadline(time.Now().Add(10 * time.Second))
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	t.Logf("%d takeovers, %d streamed", st.Takeovers, streamed.Load())
	if st.Takeovers == 0 || streamed.Load() == 0 {
		t.Errorf("%d takeovers, %d streamed: this run showed nothing", st.Takeovers, streamed.Load())
	}
}

func checkPieces(c *seatClient, n int, streamed *atomic.Int64) error {
	if _, err := fmt.Fprintf(c.conn, "GET /?%d HTTP/1.1\r\nHost: a\r\n\r\n", n); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	if res.ContentLength < 0 {
		streamed.Add(1)
	}
	body, err := io.ReadAll(res.Body)
	want := ""
	for i := range n % 7 {
		want += fmt.Sprintf("%d.%d;", n, i)
	}
	if err != nil || string(body) != want {
		return fmt.Errorf("got %q, %v, want %q", body, err, want)
	}
	return nil
}
