// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/datastar"
	"m0serve.dev/datastar/clienttest"
	"m0serve.dev/http/sse"
)

// A cutter is a TCP proxy that breaks its first connection off after a number
// of bytes from the server; those that follow are whole.
type cutter struct {
	ln   net.Listener
	done chan struct{}
	sent []byte // by the server to the first connection; read after close
}

func cutAfter(t *testing.T, upstream string, bytes int64) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{ln: ln, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for limit := bytes; ; limit = 1 << 30 {
			down, err := ln.Accept()
			if err != nil {
				return
			}
			first := limit == bytes
			if got := relay(down, upstream, limit); first {
				c.sent = got
			}
		}
	}()
	return c
}

// relay serves one connection until limit bytes came from upstream, or until
// either side ends. The end is a plain FIN, so that all bytes before it arrive.
func relay(down net.Conn, upstream string, limit int64) (sent []byte) {
	defer down.Close()
	up, err := net.Dial("tcp", upstream)
	if err != nil {
		return nil
	}
	go func() {
		_, _ = io.Copy(up, down)
		up.Close() // the client has left
	}()
	var copied strings.Builder
	_, _ = io.Copy(io.MultiWriter(down, &copied), io.LimitReader(up, limit))
	up.Close()
	return []byte(copied.String())
}

func (c *cutter) close() {
	c.ln.Close()
	<-c.done
}

// readThrough opens the stream at addr as a page does, through a proxy that
// cuts the first connection, and reads until the page has got the mark last.
// It gives what the page appended, and what the server sent before the cut.
func readThrough(t *testing.T, addr, path string, bytes int64, last string) ([]string, []byte) {
	t.Helper()
	proxy := cutAfter(t, addr, bytes)
	tab := clienttest.Open(clienttest.Config{
		URL:   "http://" + proxy.ln.Addr().String() + path,
		Sleep: func(context.Context, time.Duration) {},
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience/2)
	defer cancel()
	var got []string
	for !slices.Contains(got, last) {
		e, err := tab.Next(ctx)
		if err != nil {
			t.Fatalf("cut after %d bytes: %v; the page has %q", bytes, err, got)
		}
		if e.Args["mode"] != "append" {
			t.Fatalf("cut after %d bytes: event %+v; want one that appends", bytes, e)
		}
		got = append(got, e.Args["elements"])
	}
	tab.Close()
	proxy.close()
	return got, proxy.sent
}

var appendToList = datastar.ElementsOptions{Selector: "#list", Mode: datastar.Append}

// countLost is how many of the frames "0", "1"… a page has not got.
func countLost(got []string, frames int) (lost int) {
	for i := range frames {
		if !slices.Contains(got, fmt.Sprint(i)) {
			lost++
		}
	}
	return lost
}

const frames = 3 // of a run; the last one ends it

// TestCutAtEveryByte: wherever the connection breaks, the page has every frame,
// in order, and none twice; only a break between a frame and the end of its id
// brings that one frame again. The frames append, so each one shows.
func TestCutAtEveryByte(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := newStream(h)
		addr := serve(s)
		since := h.NextID()
		var ids []uint64
		for i := range frames {
			id, err := s.PatchElements([]byte(fmt.Sprint(i)), appendToList)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		settle(t, h, ids[frames-1])

		path, last := fmt.Sprintf("/?since=%d", since), fmt.Sprint(frames-1)
		_, whole := readThrough(t, addr, path, 1<<29, last)
		doubled := 0
		for cut := range int64(len(whole)) {
			got, _ := readThrough(t, addr, path, cut, last)
			want := []string{"0", "1", "2"}
			if i := brokenId(string(whole), cut, ids); i >= 0 && i < frames-1 {
				want = slices.Insert(want, i, want[i])
				doubled++
			}
			if !slices.Equal(got, want) {
				t.Errorf("cut after %d bytes, %q: the page got %q; want %q",
					cut, tail(whole[:cut]), got, want)
			}
		}
		if blocks := (frames - 1) * len(idBlock(ids[0])); doubled == 0 || doubled > blocks {
			t.Errorf("a frame came twice at %d cuts; want some, and at most the %d inside ids",
				doubled, blocks)
		}
	})
}

// brokenId is the frame whose event arrived before the cut, but not the line of
// its id; -1 when there is none.
func brokenId(whole string, cut int64, ids []uint64) int {
	for i, id := range ids {
		line := fmt.Sprintf("id: %d\n", id)
		start := strings.Index(whole, line)
		if int64(start) <= cut && cut < int64(start+len(line)) {
			return i
		}
	}
	return -1
}

func tail(b []byte) []byte { return b[max(0, len(b)-40):] }

// TestCutLosesFramesOtherwise is the control of TestCutAtEveryByte: where the id
// stands inside the event, as the specification has it or as its last line, the
// same cuts lose frames.
func TestCutLosesFramesOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		body  func(i int, id uint64) string
		least int // cuts that lose a frame
	}{
		"id before the data": {func(i int, id uint64) string {
			return fmt.Sprintf("event: datastar-patch-elements\nid: %d\ndata: mode append\n"+
				"data: elements %d\n\n", id, i)
		}, 30},
		"id as the last line": {func(i int, id uint64) string {
			return fmt.Sprintf("event: datastar-patch-elements\ndata: mode append\n"+
				"data: elements %d\nid: %d\n\n", i, id)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, sse.HubConfig{})
			addr := serveLoop(t, newStream(h))
			since := h.NextID()
			var last uint64
			for i := range frames {
				last = h.NextID()
				if err := h.Send("c", "", last, []byte(c.body(i, last))); err != nil {
					t.Fatal(err)
				}
			}
			settle(t, h, last)
			path, mark := fmt.Sprintf("/?since=%d", since), fmt.Sprint(frames-1)
			_, whole := readThrough(t, addr, path, 1<<29, mark)
			losses := 0
			// The last frame ends the run and so must not be the one that is lost.
			for cut := range int64(strings.LastIndex(string(whole), "event: ")) {
				if got, _ := readThrough(t, addr, path, cut, mark); countLost(got, frames) > 0 {
					losses++
				}
			}
			if losses < c.least {
				t.Errorf("%d cuts lose a frame; want %d or more, or the other test proves nothing",
					losses, c.least)
			}
		})
	}
}
