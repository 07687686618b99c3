// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
)

// A stage is a hub whose bus is read by hand, so that what is published has come when
// a test goes on.
type stage struct {
	*ws.Hub
	t      *testing.T
	bus    *bus.Bus
	frames chan bus.Frame
}

func newStage(t *testing.T, cfg ws.HubConfig) *stage {
	s := &stage{t: t, bus: bus.Local(), frames: make(chan bus.Frame, 1)}
	t.Cleanup(s.bus.Close)
	cfg.Bus, cfg.Log = s.bus, quiet()
	s.Hub = ws.NewHub(cfg)
	s.bus.Receive(func(f bus.Frame) {
		select {
		case s.frames <- f:
		case <-t.Context().Done():
		}
	})
	return s
}

// publish publishes a text and delivers it.
func (s *stage) publish(channel, text string) uint64 {
	s.t.Helper()
	id, err := s.Publish(channel, ws.OpText, []byte(text))
	if err != nil {
		s.t.Fatalf("Publish(%q, %.20q) = %v", channel, text, err)
	}
	s.Receive(s.frame())
	return id
}

func (s *stage) frame() bus.Frame {
	s.t.Helper()
	select {
	case f := <-s.frames:
		return f
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing comes from the bus")
		return bus.Frame{}
	}
}

// join makes a connection that has joined channels.
func (s *stage) join(o *ws.Options, channels ...string) *ws.Conn {
	s.t.Helper()
	c, _ := parked(ws.Handler{}, o)
	if err := s.Join(c, channels...); err != nil {
		s.t.Fatalf("Join(%q) = %v", channels, err)
	}
	return c
}

// sent is what waits for a connection: texts, and "close CODE" at the end.
func sent(t *testing.T, c *ws.Conn) string {
	t.Helper()
	var said []string
	p := ws.Parser{FromServer: true}
	for b := take(c); len(b) > 0; {
		n, piece, ok, err := p.Next(b)
		if err != nil || !ok || !piece.First || !piece.Last {
			t.Fatalf("what is sent: %v, whole %v", err, ok)
		}
		b = b[n:]
		switch code, _, _ := ws.ParseClose(piece.Data); {
		case piece.Op == ws.OpClose:
			said = append(said, "close "+code.String())
		default:
			said = append(said, string(piece.Data))
		}
	}
	return strings.Join(said, " ")
}

func wantSent(t *testing.T, what string, c *ws.Conn, want string) {
	t.Helper()
	if got := sent(t, c); got != want {
		t.Errorf("%s is sent %.200q, want %q", what, got, want)
	}
}

// TestHubDelivers: who has joined a channel gets what is published there, once, in
// order, and from then on; nobody else does.
func TestHubDelivers(t *testing.T) {
	s := newStage(t, ws.HubConfig{})
	s.publish("news", "too early")
	ann := s.join(&ws.Options{}, "news", "news", "weather")
	bob := s.join(&ws.Options{}, "weather")
	if err := s.Join(ann, "news"); err != nil {
		t.Fatal(err)
	}
	first := s.publish("news", "one")
	s.publish("weather", "rain")
	if second := s.publish("news", "two"); second <= first {
		t.Errorf("ids %d and %d, want them to grow", first, second)
	}
	wantSent(t, "ann", ann, "one rain two")
	wantSent(t, "bob", bob, "rain")
	s.Leave(ann, "news", "never joined")
	s.publish("news", "three")
	s.publish("weather", "snow")
	wantSent(t, "ann, who left news,", ann, "snow")
	wantSent(t, "bob", bob, "snow")
	if st := s.Stats(); st.Sockets != 2 || st.Channels != 1 || st.Published != 6 || st.Delivered != 6 {
		t.Errorf("Stats() = %+v, want 2 sockets, 1 channel, 6 published, 6 delivered", st)
	}
	s.Leave(ann)
	bob.Closed(loop.ClosedByPeer)
	s.publish("weather", "sun")
	wantSent(t, "ann, who left,", ann, "")
	if st := s.Stats(); st.Sockets != 0 || st.Channels != 0 {
		t.Errorf("Stats() = %+v behind the last one, want nobody", st)
	}
	if err := s.Join(bob, "news"); !errors.Is(err, ws.ErrClosed) {
		t.Errorf("Join of a closed connection = %v, want ErrClosed", err)
	}
}

// TestHubGroups: many come and go in any order, and each channel has whom it should.
func TestHubGroups(t *testing.T) {
	s := newStage(t, ws.HubConfig{})
	var all []*ws.Conn
	for i := range 12 {
		all = append(all, s.join(&ws.Options{}, "all", fmt.Sprint("third ", i%3)))
	}
	for _, i := range []int{0, 11, 5, 3, 4} {
		all[i].Closed(loop.ClosedByPeer)
		all[i].Closed(loop.ClosedByPeer)
	}
	s.Leave(all[6], "all")
	s.publish("all", "a")
	for i := range 3 {
		s.publish(fmt.Sprint("third ", i), fmt.Sprint(i))
	}
	for i, c := range all {
		want := fmt.Sprint("a ", i%3)
		switch i {
		case 0, 11, 5, 3, 4:
			want = ""
		case 6:
			want = "0"
		}
		wantSent(t, fmt.Sprint("connection ", i), c, want)
	}
	if got := s.Channels(); fmt.Sprint(got) != "[all third 0 third 1 third 2]" {
		t.Errorf("Channels() = %q", got)
	}
}

// TestHubPolicies: the queue of a socket is bounded in messages and bytes; what has no
// place goes by the policy, is counted, and harms nobody else.
func TestHubPolicies(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, tc := range []struct {
		what         string
		policy       ws.Policy
		bytes        int
		texts        []string
		want         string
		dropped, cut uint64
	}{
		{"all fit", ws.Disconnect, 0, []string{"a", "b"}, "a b", 0, 0},
		{"disconnect", ws.Disconnect, 0, []string{"a", "b", "c", "d"}, "close 1013", 1, 1},
		{"oldest", ws.DropOldest, 0, []string{"a", "b", "c", "d"}, "c d", 2, 0},
		{"newest", ws.DropNewest, 0, []string{"a", "b", "c", "d"}, "a b", 2, 0},
		{"bytes, disconnect", ws.Disconnect, 3500, []string{"a", long, long}, "close 1013", 1, 1},
		{"bytes, oldest", ws.DropOldest, 3500, []string{"a", long, long}, long, 2, 0},
		{"bytes, newest", ws.DropNewest, 3500, []string{"a", long, long}, "a " + long, 1, 0},
		{"the first fits", ws.DropOldest, 100, []string{long}, long, 0, 0},
	} {
		s := newStage(t, ws.HubConfig{Queue: 2, Policy: tc.policy})
		slow, quick := s.join(&ws.Options{QueueBytes: tc.bytes}, "c"), s.join(&ws.Options{}, "c")
		for _, text := range tc.texts {
			s.publish("c", text)
			wantSent(t, tc.what+": the quick one", quick, text)
		}
		wantSent(t, tc.what+": the slow one", slow, tc.want)
		if st := s.Stats(); st.Dropped != tc.dropped || st.Cut != tc.cut {
			t.Errorf("%s: Stats() = %+v, want %d dropped, %d cut", tc.what, st, tc.dropped, tc.cut)
		}
	}
}

// TestHubDropsNothingInHand: what is being written stays, and what was sent directly is
// not the hub's to drop.
func TestHubDropsNothingInHand(t *testing.T) {
	s := newStage(t, ws.HubConfig{Queue: 2, Policy: ws.DropOldest})
	c := s.join(&ws.Options{}, "c")
	long := strings.Repeat("x", 3000)
	s.publish("c", long)
	s.publish("c", long+"2")
	inHand := c.Next()
	if len(inHand) != 4+3000 {
		t.Fatalf("Next = %d bytes, want the first message", len(inHand))
	}
	if err := c.SendText("direct"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"3", "4", "5"} {
		s.publish("c", text)
	}
	wantSent(t, "it", c, "direct 4 5")
	if len(inHand) != 4+3000 || inHand[3004-1] != 'x' {
		t.Error("what was in hand has changed")
	}
}

// TestHubOrder: ids never go back in a socket. A message that comes behind a higher id
// was missed by those who got that, and by nobody else.
func TestHubOrder(t *testing.T) {
	for policy, want := range map[ws.Policy]string{
		ws.Disconnect: "close 1013", ws.DropOldest: "high", ws.DropNewest: "high"} {
		s := newStage(t, ws.HubConfig{Policy: policy})
		ahead, behind := s.join(&ws.Options{}, "c", "d"), s.join(&ws.Options{}, "c")
		var frames []bus.Frame
		for _, m := range [][2]string{{"c", "low"}, {"d", "high"}} {
			if _, err := s.Publish(m[0], ws.OpText, []byte(m[1])); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, s.frame())
		}
		s.Receive(frames[1])
		s.Receive(frames[0])
		wantSent(t, "who has a higher id", ahead, want)
		wantSent(t, "who has none", behind, "low")
		if st := s.Stats(); st.Late != 1 || st.Dropped != 1 {
			t.Errorf("Stats() = %+v, want one late and dropped", st)
		}
	}
}

// TestHubLost: when the bus has dropped frames, who may miss nothing comes back.
func TestHubLost(t *testing.T) {
	for policy, want := range map[ws.Policy]string{ws.Disconnect: "close 1013", ws.DropOldest: "a"} {
		s := newStage(t, ws.HubConfig{Policy: policy})
		c := s.join(&ws.Options{}, "c", "d")
		s.publish("c", "a")
		s.Lost(3)
		s.Lost(1)
		wantSent(t, "a socket", c, want)
		if st := s.Stats(); st.Lost != 4 || st.Cut != uint64(len(want)/10) {
			t.Errorf("Stats() = %+v, want 4 lost", st)
		}
	}
}

// TestHubRefuses: no name of the server is joined or published to (contract row B4),
// nor any other that the bus refuses, and nothing that is no message.
func TestHubRefuses(t *testing.T) {
	s := newStage(t, ws.HubConfig{})
	c := s.join(&ws.Options{}, "good")
	for name, want := range map[string]error{"\x01ws": bus.ErrReserved, "\x01": bus.ErrReserved,
		"": bus.ErrName, "a\nb": bus.ErrName, strings.Repeat("n", bus.MaxChannel+1): bus.ErrName} {
		if err := s.Join(c, "also", name); !errors.Is(err, want) {
			t.Errorf("Join(%.20q) = %v, want %v", name, err, want)
		}
		if _, err := s.Publish(name, ws.OpText, nil); !errors.Is(err, want) {
			t.Errorf("Publish(%.20q) = %v, want %v", name, err, want)
		}
	}
	if t.Failed() {
		return
	}
	if _, err := s.Publish("good", ws.OpText, []byte("\xff")); err != ws.ErrText {
		t.Errorf("Publish of bad text = %v, want ErrText", err)
	}
	big := make([]byte, ws.PublishMax+1)
	if _, err := s.Publish("good", ws.OpBinary, big); !errors.Is(err, ws.ErrMessage) {
		t.Errorf("Publish of %d bytes = %v, want ErrMessage", len(big), err)
	}
	if err := s.bus.Publish(bus.Frame{Channel: ws.HubChannel}); !errors.Is(err, bus.ErrReserved) {
		t.Errorf("bus.Publish under the name of hubs = %v, want ErrReserved", err)
	}
	if got := s.Channels(); fmt.Sprint(got) != "[good]" {
		t.Errorf("Channels() = %q, want good alone", got)
	}
	longest := strings.Repeat("n", bus.MaxChannel)
	far := s.join(&ws.Options{QueueBytes: 8 << 20}, longest)
	if _, err := s.Publish(longest, ws.OpBinary, big[1:]); err != nil {
		t.Fatalf("Publish of the longest message under the longest name = %v", err)
	}
	s.Receive(s.frame())
	if got := take(far); len(got) != 10+len(big)-1 {
		t.Errorf("the longest message came as %d bytes, want %d", len(got), 10+len(big)-1)
	}
	// Frames of another version.
	for _, body := range []string{"", "\x00", "\x00\x04goo", "\x00\x04good", "\x00\x04good\x81",
		"\x00\x04good\x81\x01",
		"\x00\x04good\x89\x00", "\x00\x04good\x01\x00", "\x00\x04good\xc1\x00",
		"\xff\xffgood\x81\x00"} {
		s.Receive(bus.Frame{ID: 1 << 62, Channel: ws.HubChannel, Body: []byte(body)})
	}
	wantSent(t, "it", c, "")
}

// TestHubSharesBytes: sockets are sent the very same bytes.
func TestHubSharesBytes(t *testing.T) {
	s := newStage(t, ws.HubConfig{})
	a, b := s.join(&ws.Options{}, "c"), s.join(&ws.Options{}, "c")
	s.publish("c", strings.Repeat("x", 3000))
	if x, y := a.Next(), b.Next(); len(x) != 3004 || &x[0] != &y[0] {
		t.Errorf("sent %d bytes at %p and %d at %p, want the same", len(x), x, len(y), y)
	}
}

// TestHubBesideStreams: a name of sockets is none of streams, and the other way round;
// both hubs share one bus.
func TestHubBesideStreams(t *testing.T) {
	b := bus.Local()
	defer b.Close()
	sockets := ws.NewHub(ws.HubConfig{Bus: b})
	streams := sse.NewHub(sse.HubConfig{Bus: b, Reserved: sockets.Receive, Log: quiet()})
	streams.Start()
	slot, err := streams.Attach(sse.HoldOptions{Channels: []string{"news", "end"}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := parked(ws.Handler{}, &ws.Options{})
	if err := sockets.Join(c, "news", "end"); err != nil {
		t.Fatal(err)
	}
	if _, err := streams.PublishEvent("news", sse.Event{Data: "of streams"}); err != nil {
		t.Fatal(err)
	}
	if _, err := sockets.Publish("news", ws.OpText, []byte("of sockets")); err != nil {
		t.Fatal(err)
	}
	last, err := streams.PublishEvent("end", sse.Event{Data: "end"})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); streams.LastID() < last; {
		if time.Now().After(deadline) {
			t.Fatal("the end does not come")
		}
		time.Sleep(time.Millisecond)
	}
	var got []byte
	for f := slot.NextFrame(); f != nil; f = slot.NextFrame() {
		got = append(got, f.Body()...)
	}
	if bytes.Contains(got, []byte("of sockets")) || !bytes.Contains(got, []byte("of streams")) {
		t.Errorf("the stream has %q, want its own event alone", got)
	}
	wantSent(t, "the socket", c, "of sockets")
}

// TestHubDrain: a drain closes every socket with 1012, and those that join behind it.
func TestHubDrain(t *testing.T) {
	eachPlace(t, func(t *testing.T, start func(http.Handler) string) {
		hub := ws.NewHub(ws.HubConfig{Bus: bus.Local()})
		joined := make(chan error, 4)
		addr := start(accept(&ws.Options{}, ws.Handler{
			Open: func(c *ws.Conn) { joined <- hub.Join(c, "c", "d") }}))
		p := dial(t, addr, "/")
		if err := <-joined; err != nil {
			t.Fatal(err)
		}
		hub.Drain()
		p.wantEnd(1012, true)
		late := dial(t, addr, "/")
		if err := <-joined; !errors.Is(err, ws.ErrClosed) {
			t.Errorf("Join behind the drain = %v, want ErrClosed", err)
		}
		late.wantEnd(1012, true)
	})
}

// TestQueueKeepsOrder: own and shared messages leave in the order in which they were
// sent, small ones together, and a close behind them.
func TestQueueKeepsOrder(t *testing.T) {
	long, err := ws.NewMessage(ws.OpText, bytes.Repeat([]byte("x"), 5000))
	if err != nil {
		t.Fatal(err)
	}
	short, err := ws.NewMessage(ws.OpText, []byte("shared"))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := parked(ws.Handler{}, &ws.Options{})
	for _, m := range []*ws.Message{short, nil, short, long, short, nil, nil, short} {
		if m == nil {
			err = c.SendText("own")
		} else {
			err = c.SendMessage(m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(ws.CodeNormal, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.SendMessage(short); !errors.Is(err, ws.ErrClosed) {
		t.Errorf("SendMessage behind Close = %v, want ErrClosed", err)
	}
	var pieces []int
	var all []byte
	for total := c.Queued(); ; {
		b := c.Next()
		if got := c.Queued(); got != total-len(all) {
			t.Errorf("Queued() = %d with %d of %d bytes written", got, len(all), total)
		}
		if b == nil {
			break
		}
		pieces, all = append(pieces, len(b)), append(all, b...)
	}
	want := "\x81\x06shared\x81\x03own\x81\x06shared\x81\x7e\x13\x88" + strings.Repeat("x", 5000) +
		"\x81\x06shared\x81\x03own\x81\x03own\x81\x06shared\x88\x02\x03\xe8"
	if string(all) != want || fmt.Sprint(pieces) != "[21 5004 30]" {
		t.Errorf("sent %d bytes in pieces of %d, want %d in 21, 5004 and 30",
			len(all), pieces, len(want))
	}
}
