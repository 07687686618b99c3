// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/ws"
)

// take collects what the loop would write.
func take(c *ws.Conn) (wire []byte) {
	for b := c.Next(); b != nil; b = c.Next() {
		wire = append(wire, b...)
	}
	return wire
}

func TestSendIsQueuedUntilTheLoopTakesIt(t *testing.T) {
	c, held := parked(ws.Handler{}, &ws.Options{})
	for _, s := range []string{"one", "two"} {
		if err := c.SendText(s); err != nil {
			t.Errorf("SendText(%q) = %v", s, err)
		}
	}
	if err := c.Send(ws.OpBinary, []byte{0xff}); err != nil || held.wakes < 3 {
		t.Errorf("Send = %v with %d wakes, want 3", err, held.wakes)
	}
	const want = "\x81\x03one\x81\x03two\x82\x01\xff"
	if n := c.Queued(); n != len(want) {
		t.Errorf("Queued() = %d, want %d", n, len(want))
	}
	if got := string(take(c)); got != want || c.Queued() != 0 {
		t.Errorf("Next gave %q, %d left; want %q", got, c.Queued(), want)
	}
	if err := c.Send(ws.OpText, []byte{0xff}); err != ws.ErrText || len(take(c)) != 0 {
		t.Errorf("Send of a text that is none = %v, want ErrText", err)
	}
}

// TestOverflow: a peer that does not read costs a bounded queue.
func TestOverflow(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), 1000)
	for _, keep := range []bool{false, true} {
		o := &ws.Options{QueueBytes: 3100, KeepWhenFull: keep}
		c, _ := parked(ws.Handler{}, o)
		first := c.Next // the loop has taken the first and cannot write it
		_ = c.Send(ws.OpBinary, payload)
		inFlight := first()
		for i := range 2 {
			if err := c.Send(ws.OpBinary, payload); err != nil {
				t.Fatalf("Send %d = %v, want room for three", i+2, err)
			}
		}
		if err := c.Send(ws.OpBinary, payload); err != ws.ErrFull {
			t.Errorf("keep %v: Send beyond QueueBytes = %v, want ErrFull", keep, err)
		}
		if o.Stats().Overflows != 1 || len(inFlight) != 1004 {
			t.Errorf("keep %v: %d overflows, %d bytes in flight", keep, o.Stats().Overflows, len(inFlight))
		}
		wire := take(c)
		if keep {
			if len(wire) != 2*1004 {
				t.Errorf("KeepWhenFull: %d bytes behind, want two messages", len(wire))
			}
			continue
		}
		if want := "\x88\x0a\x03\xf5too slow"; string(wire) != want {
			t.Errorf("behind an overflow %q, want a close with 1013 alone", wire)
		}
		if err := c.Send(ws.OpBinary, nil); err != ws.ErrClosed {
			t.Errorf("Send behind an overflow = %v, want ErrClosed", err)
		}
	}
}

// TestSenderHearsThatTheQueueIsShort, once for each time that it was long.
func TestSenderHearsThatTheQueueIsShort(t *testing.T) {
	heard := 0
	c, _ := parked(ws.Handler{Drained: func(*ws.Conn) { heard++ }}, &ws.Options{QueueBytes: 4000})
	for range 3 {
		if _ = c.Send(ws.OpBinary, make([]byte, 500)); c.IsFull() {
			t.Fatal("IsFull with an eighth of the bound")
		}
		take(c)
	}
	if heard != 0 {
		t.Errorf("Drained %d times though the queue was never long", heard)
	}
	for round := 1; round < 3; round++ {
		_ = c.Send(ws.OpBinary, make([]byte, 2500))
		c.Next() // in the loop's hands, and not written
		if !c.IsFull() || heard != round-1 {
			t.Errorf("round %d: IsFull %v, Drained %d times before it is written",
				round, c.IsFull(), heard)
		}
		if take(c); c.IsFull() || heard != round {
			t.Errorf("round %d: IsFull %v, Drained %d times, want %d",
				round, c.IsFull(), heard, round)
		}
	}
}

// TestFirstMessageAlwaysHasAPlace, however long it is.
func TestFirstMessageAlwaysHasAPlace(t *testing.T) {
	c, _ := parked(ws.Handler{}, &ws.Options{QueueBytes: 10})
	if err := c.Send(ws.OpBinary, make([]byte, 1000)); err != nil {
		t.Errorf("Send of one long message = %v", err)
	}
	if !c.Paused() {
		t.Error("Paused() = false with a full queue: the peer is still read from")
	}
	take(c)
	if c.Paused() {
		t.Error("Paused() = true with an empty queue")
	}
}

// TestPingFlood: pings that come faster than pongs leave are answered up to a
// bound, and then by the pong to the last.
func TestPingFlood(t *testing.T) {
	o := &ws.Options{}
	c, _ := parked(ws.Handler{}, o)
	var flood, want []byte
	for i := range 100 {
		s := fmt.Sprintf("%02d", i)
		flood = append(flood, txt(0x89, s)...)
		if i < 64 || i == 99 {
			want = append(want, "\x8a\x02"+s...)
		}
	}
	c.Received(flood)
	if got := take(c); !bytes.Equal(got, want) {
		t.Errorf("100 pings are answered by %d bytes, want %d: 64 pongs and the last", len(got),
			len(want))
	}
	if n := o.Stats().PongsMerged; n != 35 {
		t.Errorf("PongsMerged = %d, want 35", n)
	}
	c.Received(txt(0x89, "again"))
	if got := string(take(c)); got != "\x8a\x05again" {
		t.Errorf("a ping behind the flood is answered by %q", got)
	}
}

// TestPingAndPongOfTheServer: they are queued like messages, within the same bound.
func TestPingAndPongOfTheServer(t *testing.T) {
	c, _ := parked(ws.Handler{}, &ws.Options{QueueBytes: 10})
	if err := errors.Join(c.Ping([]byte("a")), c.Pong(nil)); err != nil {
		t.Errorf("Ping, Pong = %v", err)
	}
	if err := c.Ping([]byte("123456")); err != ws.ErrFull {
		t.Errorf("Ping without room = %v, want ErrFull", err)
	}
	if got, want := string(take(c)), "\x89\x01a\x8a\x00"; got != want {
		t.Errorf("Next gave %q, want %q", got, want)
	}
	if err := c.Pong(make([]byte, 126)); err != ws.ErrControl || len(take(c)) != 0 {
		t.Errorf("Pong of 126 bytes = %v, want ErrControl", err)
	}
	_ = c.Close(ws.CodeNormal, "")
	if err := c.Ping(nil); err != ws.ErrClosed {
		t.Errorf("Ping behind a close = %v, want ErrClosed", err)
	}
}

func TestCloseIsAHandshake(t *testing.T) {
	var messages []string
	ended := make(chan string, 1)
	o := &ws.Options{CloseTimeout: time.Minute}
	c, held := parked(ws.Handler{
		Message: func(_ *ws.Conn, _ ws.Op, data []byte) {
			messages = append(messages, string(data))
		},
		Closed: func(_ *ws.Conn, code ws.Code, reason string) {
			ended <- code.String() + " " + reason
		},
	}, o)
	_ = c.SendText("last")
	if err := c.Close(4000, "over"); err != nil {
		t.Fatalf("Close = %v", err)
	}
	if err := c.Close(1000, ""); err != ws.ErrClosed {
		t.Errorf("a second Close = %v, want ErrClosed", err)
	}
	if err := c.SendText("later"); err != ws.ErrClosed {
		t.Errorf("Send behind Close = %v, want ErrClosed", err)
	}
	if got := string(take(c)); got != "\x81\x04last\x88\x06\x0f\xa0over" {
		t.Errorf("Next gave %q, want the message and the close", got)
	}
	if held.alarms[len(held.alarms)-1] != time.Minute {
		t.Errorf("alarms %v, want one for CloseTimeout", held.alarms)
	}
	c.Received(join(txt(0x81, "meanwhile"), txt(0x89, "p")))
	if len(held.ending) != 0 || len(messages) != 0 || len(take(c)) != 0 {
		t.Errorf("before the peer's close: ended %v, messages %q", held.ending, messages)
	}
	c.Received(txt(0x88, "\x0f\xa0"))
	if len(held.ending) != 1 || held.ending[0] != loop.EndClean || len(take(c)) != 0 {
		t.Errorf("behind the peer's close: ended %v, want once and no second close frame", held.ending)
	}
	c.Closed(loop.ClosedByServer)
	c.Closed(loop.ClosedByPeer)
	if got := <-ended; got != "4000 over" {
		t.Errorf("Closed(%s), want our code and reason", got)
	}
	if n := o.Stats().Closed; n != 1 {
		t.Errorf("Stats().Closed = %d, want 1: Handler.Closed is called once", n)
	}
}

func TestCloseRefuses(t *testing.T) {
	c, _ := parked(ws.Handler{}, &ws.Options{})
	for _, tt := range []struct {
		code   ws.Code
		reason string
		want   error
	}{
		{999, "", ws.ErrCloseCode}, {1004, "", ws.ErrCloseCode}, {1005, "x", ws.ErrCloseCode},
		{1006, "", ws.ErrCloseCode}, {1015, "", ws.ErrCloseCode}, {2999, "", ws.ErrCloseCode},
		{5000, "", ws.ErrCloseCode}, {1000, strings.Repeat("x", 124), ws.ErrCloseLength},
		{1000, "\xff", ws.ErrText},
	} {
		if err := c.Close(tt.code, tt.reason); !errors.Is(err, tt.want) || len(take(c)) != 0 {
			t.Errorf("Close(%d, %q) = %v, want %v and nothing sent", tt.code, tt.reason, err, tt.want)
		}
	}
	if err := c.Close(1000, strings.Repeat("x", 123)); err != nil {
		t.Errorf("Close with a reason of 123 bytes = %v", err)
	}
}

// TestSilence drives the clock of a connection by hand.
func TestSilence(t *testing.T) {
	o := &ws.Options{PingEvery: time.Second, PingTimeout: 2 * time.Second}
	c, held := parked(ws.Handler{}, o)
	wantAlarm := func(what string, want time.Duration) {
		t.Helper()
		if n := len(held.alarms); n == 0 || held.alarms[n-1] != want {
			t.Errorf("%s: alarms %v, want %v", what, held.alarms, want)
		}
		held.alarms = nil
	}
	wantAlarm("at first", time.Second)
	c.Received(txt(0x81, "here"))
	c.Late()
	wantAlarm("a peer that spoke", time.Second)
	if got := take(c); len(got) != 0 {
		t.Errorf("a peer that spoke was pinged: %q", got)
	}
	c.Late()
	wantAlarm("a silent peer", 2*time.Second)
	if got := string(take(c)); got != "\x89\x00" {
		t.Errorf("a silent peer got %q, want a ping", got)
	}
	c.Received(txt(0x8a, ""))
	c.Late()
	wantAlarm("a peer that answered", time.Second)
	c.Late()
	c.Late()
	if len(held.ending) != 1 || held.ending[0] != loop.EndCut || o.Stats().PingTimeouts != 1 {
		t.Errorf("a dead peer: ended %v, %+v; want a cut", held.ending, o.Stats())
	}
}

func TestPeerThatDoesNotAnswerACloseIsCut(t *testing.T) {
	o := &ws.Options{}
	c, held := parked(ws.Handler{}, o)
	_ = c.Close(1000, "")
	take(c)
	c.Received(txt(0x81, "not a close"))
	c.Late()
	if len(held.ending) != 1 || held.ending[0] != loop.EndCut || o.Stats().CloseTimeouts != 1 {
		t.Errorf("ended %v, %+v; want a cut", held.ending, o.Stats())
	}
}

// TestPauseKeepsOrder: what came in the same piece as the message that paused
// waits, and is neither lost nor overtaken.
func TestPauseKeepsOrder(t *testing.T) {
	var got []string
	c, held := parked(ws.Handler{Message: func(c *ws.Conn, _ ws.Op, data []byte) {
		got = append(got, string(data))
		c.Pause()
	}}, &ws.Options{})
	input := join(txt(0x81, "a"), txt(0x81, "b"), txt(0x81, "c")[:3])
	c.Received(input)
	clear(input) // the loop uses its memory again
	for i, want := range []string{"a", "a b", "a b"} {
		if s := strings.Join(got, " "); s != want {
			t.Errorf("after %d resumes %q, want %q", i, s, want)
		}
		if !c.Paused() && i < 2 {
			t.Errorf("Paused() = false after Pause")
		}
		wakes := held.wakes
		if c.Resume(); held.wakes == wakes || c.Paused() {
			t.Errorf("Resume does not wake the loop, or Paused() = %v", c.Paused())
		}
		c.Received(nil)
	}
	c.Received(txt(0x81, "c")[3:])
	if s := strings.Join(got, " "); s != "a b c" {
		t.Errorf("at the end %q, want a b c", s)
	}
}

// TestNoAllocation: an echo in one piece costs none, in either direction.
func TestNoAllocation(t *testing.T) {
	c, _ := parked(echoHandler, &ws.Options{})
	input := join(txt(0x81, strings.Repeat("x", 300)), txt(0x01, "a"), txt(0x89, "ping"),
		txt(0x80, "b"))
	fresh := bytes.Clone(input)
	allocs := testing.AllocsPerRun(200, func() {
		copy(input, fresh)
		c.Received(input)
		for c.Next() != nil {
		}
	})
	if allocs >= 1 && !racing { // the race detector empties pools at random
		t.Errorf("%v allocations for two messages and a ping, want none", allocs)
	}
}
