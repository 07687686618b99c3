// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/ws"
)

// A wireCase is what a client sends to an echo and what it has to get. The ids
// follow the groups of the Autobahn test suite; the cases are our own, made from
// RFC 6455 and RFC 3629.
type wireCase struct {
	id   string
	send []byte
	want []got
	// end is the code of the close that the server has to send by itself behind
	// want, with the input as it stands: what fails fast fails here. 0: it is still
	// open, and answers a close of ours. ended: send has closed, and want tells the
	// answer.
	end int
}

const ended = -1

func text(s string) got               { return got{0x81, []byte(s)} }
func binary2(s string) got            { return got{0x82, []byte(s)} }
func pong(s string) got               { return got{0x8a, []byte(s)} }
func join(parts ...[]byte) []byte     { return bytes.Join(parts, nil) }
func txt(first byte, s string) []byte { return frame(first, []byte(s)) }

// allCases are the cases of every group but the large ones.
func allCases() []wireCase {
	var all []wireCase
	for _, group := range [][]wireCase{framingCases(), pingCases(), reservedCases(),
		fragmentCases(), textCases(), closeCases(), lengthCases()} {
		all = append(all, group...)
	}
	return all
}

const (
	suiteMessage = 16 << 20 // bytes of a message in the suite
	suiteFrame   = 12 << 20
	octetsMax    = 300             // longer input is not sent byte by byte
	wirePatience = 5 * time.Second // and a second for each MiB
)

func suiteOptions() *ws.Options {
	return &ws.Options{MessageBytes: suiteMessage, FrameBytes: suiteFrame,
		QueueBytes: 40 << 20}
}

// TestWire runs every case on our loop and over net/http, the input in one piece,
// and byte by byte when it is short and in pieces of odd lengths when it is not.
func TestWire(t *testing.T) {
	cases := append(allCases(), largeCases()...)
	if len(cases) < 300 {
		t.Errorf("%d cases, want at least 300", len(cases))
	}
	everywhere(t, echo(suiteOptions()), func(t *testing.T, addr string) {
		for _, c := range cases {
			if len(c.send) > 4<<20 && testing.Short() {
				continue
			}
			runCase(t, addr, c, "whole", max(1, len(c.send)))
			switch {
			case t.Failed():
				return // one that waits in vain waits long
			case len(c.send) <= octetsMax:
				runCase(t, addr, c, "bytes", 1)
			case len(c.send) <= 1<<20:
				runCase(t, addr, c, "pieces", 997)
			default:
				runCase(t, addr, c, "pieces", 99_991)
			}
		}
	})
}

func runCase(t *testing.T, addr string, c wireCase, how string, piece int) {
	t.Helper()
	runCaseOn(t, dial(t, addr, "/"), c, how, piece)
}

func runCaseOn(t *testing.T, p *peer, c wireCase, how string, piece int) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s (%s): %s", c.id, how, fmt.Sprintf(format, args...))
	}
	defer p.Close()
	p.patience(wirePatience + time.Duration(len(c.send)>>20)*time.Second)
	go func() { // a large echo fills both directions
		for rest := c.send; len(rest) > 0; {
			n, err := p.Write(rest[:min(piece, len(rest))])
			if err != nil {
				return // the server has ended it, which the reads see
			}
			rest = rest[n:]
		}
	}()
	for i, want := range c.want {
		g, err := p.read()
		if err != nil || g.first != want.first || !bytes.Equal(g.payload, want.payload) {
			fail("frame %d = %v, %v; want %v", i, g, err, want)
			return
		}
	}
	switch c.end {
	case ended:
	case 0:
		p.raw(frame(0x88, closePayload(1000, "")))
		wantClose(t, p, c.id+" ("+how+")", 1000)
	default:
		wantClose(t, p, c.id+" ("+how+")", c.end)
	}
	if _, err := p.read(); err != io.EOF {
		fail("behind the close: %v, want EOF", err)
	}
}

// wantClose reads a close frame with a code.
func wantClose(t *testing.T, p *peer, what string, code int) {
	t.Helper()
	g, err := p.read()
	if err != nil || g.first != 0x88 || !bytes.HasPrefix(g.payload, closePayload(code, "")) {
		t.Errorf("%s: read = %v, %v; want a close with %d", what, g, err, code)
	}
}

// TestParserCuts gives every case to the codec alone, in one piece and cut at
// every byte, and the result has to be the same.
func TestParserCuts(t *testing.T) {
	for _, c := range allCases() {
		if len(c.send) > octetsMax {
			continue
		}
		whole := parse(c.send, len(c.send))
		if bytewise := parse(c.send, 0); bytewise != whole {
			t.Errorf("%s: byte by byte %.300s, whole %.300s", c.id, bytewise, whole)
		}
		for cut := 1; cut < len(c.send); cut++ {
			if got := parse(c.send, cut); got != whole {
				t.Errorf("%s: cut at %d %.300s, whole %.300s", c.id, cut, got, whole)
			}
		}
	}
}

// parse tells what the codec makes of input, cut at a place or everywhere (0).
func parse(input []byte, cut int) string {
	p := ws.Parser{MaxFrame: suiteFrame, MaxMessage: suiteMessage}
	var told strings.Builder
	var payload [16][]byte
	var failed error
	feed := func(b []byte) {
		b = bytes.Clone(b)
		for len(b) > 0 && failed == nil {
			n, piece, ok, err := p.Next(b)
			b = b[n:]
			switch {
			case err != nil:
				failed = err
			case ok:
				payload[piece.Op] = append(payload[piece.Op], piece.Data...)
				if piece.Last {
					fmt.Fprintf(&told, "%d %x;", piece.Op, payload[piece.Op])
					payload[piece.Op] = nil
				}
			}
		}
	}
	if cut > 0 {
		feed(input[:cut])
		feed(input[cut:])
	} else {
		for i := range input {
			feed(input[i : i+1])
		}
	}
	fmt.Fprintf(&told, " error %v", failed)
	return told.String()
}
