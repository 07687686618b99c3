// SPDX-License-Identifier: MIT

//go:build linux || darwin || freebsd

package publish

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
)

const patience = 10 * time.Second

// a site is a door with a bus of its own, and what the bus brought.
type site struct {
	*Door
	path   string
	frames chan bus.Frame
}

func openSite(t *testing.T, c Config) *site {
	t.Helper()
	if c.Bus == nil {
		c.Bus = bus.Local()
		t.Cleanup(c.Bus.Close)
	}
	c.Log = slog.New(slog.DiscardHandler)
	s := &site{Door: NewDoor(c), path: filepath.Join(t.TempDir(), "s"),
		frames: make(chan bus.Frame, 4096)}
	if c.Bus.Index() >= 0 {
		c.Bus.Receive(func(f bus.Frame) { s.frames <- f })
	}
	socket := mustListen(t, ListenConfig{Path: s.path})
	served := make(chan error, 1)
	go func() { served <- s.Serve(socket.Listener()) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve = %v, want ErrClosed", err)
		}
	})
	return s
}

// until polls for something that a connection's goroutine will have done.
func (s *site) until(t *testing.T, what string, done func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(s.Stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %+v", what, s.Stats())
		}
	}
}

// a client is a publisher that can be wrong.
type client struct {
	*net.UnixConn
	in *bufio.Reader
}

func (s *site) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{c.(*net.UnixConn), bufio.NewReader(c)}
}

func (c *client) send(t *testing.T, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatalf("send of %d bytes: %v", len(b), err)
	}
}

// result is one answer: outcomes, or why the connection is over.
type result struct {
	outcomes []outcome
	over     string
}

func (c *client) read() (r result, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return r, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[len(magic):]))
	if _, err := io.ReadFull(c.in, body); err != nil {
		return r, err
	}
	if body[0] == answerOver {
		return result{over: string(body[1:])}, nil
	}
	for b := body[1:]; len(b) > 0; {
		o := outcome{id: binary.BigEndian.Uint64(b[1:])}
		n := int(binary.BigEndian.Uint16(b[9:]))
		if b[0] != 0 {
			o.err = errors.New(string(b[11 : 11+n]))
		}
		r.outcomes, b = append(r.outcomes, o), b[11+n:]
	}
	return r, nil
}

func (c *client) answer(t *testing.T) result {
	t.Helper()
	r, err := c.read()
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return r
}

// publish sends one message and wants it published.
func (c *client) publish(t *testing.T, data string) uint64 {
	t.Helper()
	c.send(t, appendRequest(nil, message{channel: "c", data: data}))
	r := c.answer(t)
	if len(r.outcomes) != 1 || r.outcomes[0].err != nil {
		t.Fatalf("publish(%.20q) = %+v, want an id", data, r)
	}
	return r.outcomes[0].id
}

func TestMessagesBecomeEvents(t *testing.T) {
	s := openSite(t, Config{})
	c := s.dial(t)
	c.send(t, appendRequest(nil, message{channel: "news", data: "a\nb"},
		message{channel: "news", event: "score", id: "mine", data: "1:0"}, message{channel: "news"}))
	r := c.answer(t)
	if len(r.outcomes) != 3 {
		t.Fatalf("answer = %+v, want one for each of 3", r)
	}
	last := uint64(0)
	for i, want := range []string{
		"id: %d\ndata: a\ndata: b\n\n", "event: score\nid: mine\ndata: 1:0\n\n", "id: %d\ndata: \n\n",
	} {
		o, f := r.outcomes[i], <-s.frames
		if strings.Contains(want, "%d") {
			want = fmt.Sprintf(want, o.id)
		}
		if o.err != nil || o.id <= last || f.ID != o.id || f.Channel != "news" || string(f.Body) != want {
			t.Errorf("message %d: %+v, frame %d %q; want an id above %d and %q",
				i, o, f.ID, f.Body, last, want)
		}
		last = o.id
	}
	if st := s.Stats(); st.Published != 3 || st.Refused != 0 || st.Conns != 1 {
		t.Errorf("Stats = %+v, want 3 published on one connection", st)
	}
}

func TestRefusedMessagesLeaveTheOthersAlone(t *testing.T) {
	s := openSite(t, Config{})
	c := s.dial(t)
	c.send(t, appendRequest(nil,
		message{channel: "\x01/3", data: "x"}, message{channel: "good", data: "y"},
		message{channel: ""}, message{channel: "c", event: "a\nb"},
		message{channel: "c", data: strings.Repeat("x", bus.MaxBody)}))
	r := c.answer(t)
	if len(r.outcomes) != 5 {
		t.Fatalf("answer = %+v, want one for each of 5", r)
	}
	for i, want := range []string{"reserved for the server", "", "bad channel name", "bad kind",
		"body is too large"} {
		if err := r.outcomes[i].err; (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("message %d: %v, want %q", i, err, want)
		}
	}
	if f := <-s.frames; f.Channel != "good" {
		t.Errorf("a frame on %q came first, want good alone", f.Channel)
	}
	c.publish(t, "after")
	if f := <-s.frames; f.Channel != "c" || !strings.Contains(string(f.Body), "after") {
		t.Errorf("the next frame is %q on %q, want after: a refused message was published",
			f.Body, f.Channel)
	}
	if st := s.Stats(); st.Published != 2 || st.Refused != 4 {
		t.Errorf("Stats = %+v, want 2 published and 4 refused", st)
	}
}

func TestLargeMessages(t *testing.T) {
	s := openSite(t, Config{})
	c := s.dial(t)
	for _, size := range []int{smallMax, 1 << 20, bus.MaxBody - 100} {
		data := strings.Repeat("x", size)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = c.Write(appendRequest(nil, message{channel: "c", data: data}))
		}()
		r := c.answer(t)
		<-sent
		if f := <-s.frames; r.outcomes[0].err != nil || !strings.Contains(string(f.Body), data) {
			t.Errorf("message of %d bytes: %+v and a frame of %d; want it whole",
				size, r.outcomes, len(f.Body))
		}
	}
	neighbour := s.dial(t)
	c.send(t, binary.BigEndian.AppendUint32([]byte(magic), 5<<20))
	if r := c.answer(t); !strings.Contains(r.over, "a request of 5242880 bytes, at most") {
		t.Errorf("a request of 5 MiB = %+v, want the limit in words", r)
	}
	if _, err := c.read(); err == nil {
		t.Error("the connection goes on behind a request that was not read")
	}
	neighbour.publish(t, "still")
}

func TestGarbageEndsItsConnectionAlone(t *testing.T) {
	s := openSite(t, Config{})
	neighbour := s.dial(t)
	neighbour.publish(t, "before")
	for i, garbage := range []string{
		"GET / HTTP/1.1\r\n\r\n", magic + "\x00\x00\x00\x02\xff\xff", magic + "\x00\x00\x00\x00",
		magic + "\xff\xff\xff\xff", strings.Repeat("\x00", 100),
	} {
		c := s.dial(t)
		c.send(t, []byte(garbage))
		if r := c.answer(t); !strings.HasPrefix(r.over, "publish: ") {
			t.Errorf("%.20q is answered with %+v, want why it is over", garbage, r)
		}
		if _, err := c.read(); err == nil {
			t.Errorf("the connection goes on behind %.20q", garbage)
		}
		neighbour.publish(t, "between")
		if st := s.Stats(); st.Garbage != uint64(i+1) {
			t.Errorf("%d connections of garbage are counted, want %d", st.Garbage, i+1)
		}
	}
}

func TestStalledPublisherHoldsUpNobody(t *testing.T) {
	s := openSite(t, Config{Timeout: 3 * time.Second})
	whole := appendRequest(nil, message{channel: "c", data: strings.Repeat("x", 1<<20)})
	var stalled []*client
	for i := range 2 * largeSeats {
		c := s.dial(t)
		c.send(t, whole[:[]int{2, headSize, headSize + 3}[i%3]])
		stalled = append(stalled, c)
	}
	// All of them promise much and have sent little: none has a seat.
	c := s.dial(t)
	begun := time.Now()
	c.publish(t, "small")
	c.publish(t, strings.Repeat("x", smallMax+1))
	if d := time.Since(begun); d > 2500*time.Millisecond {
		t.Errorf("publishing beside stalled publishers took %v, want no wait", d)
	}
	for _, stall := range stalled {
		if r := stall.answer(t); !strings.Contains(r.over, "took more than 3s") {
			t.Errorf("a stalled publisher hears %+v, want that it took too long", r)
		}
	}
	if st := s.Stats(); st.Stalled != 2*largeSeats {
		t.Errorf("%d stalled connections are counted, want %d", st.Stalled, 2*largeSeats)
	}
	c.publish(t, "and an idle one stays")
}

func TestLargeRequestsInMemoryAreBounded(t *testing.T) {
	s := openSite(t, Config{Timeout: 3 * time.Second})
	whole := appendRequest(nil, message{channel: "c", data: strings.Repeat("x", 1<<20)})
	for range largeSeats {
		s.dial(t).send(t, whole[:smallMax+100])
	}
	for deadline := time.Now().Add(patience); len(s.seats) < largeSeats; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d seats are taken, want %d", len(s.seats), largeSeats)
		}
	}
	small := s.dial(t)
	small.publish(t, "small needs no seat")
	late := s.dial(t)
	go func() { _, _ = late.Write(whole) }()
	// The stalled ones lose their seats in time for those who wait for one.
	if r := late.answer(t); len(r.outcomes) == 0 && !strings.Contains(r.over, "took more than") {
		t.Errorf("a large request behind %d stalled ones = %+v", largeSeats, r)
	}
	s.until(t, "the seats to be free", func(Stats) bool { return len(s.seats) == 0 })
}

func TestIdleConnectionMakesRoom(t *testing.T) {
	s := openSite(t, Config{Conns: 2})
	first, second := s.dial(t), s.dial(t)
	first.publish(t, "1")
	second.publish(t, "2")
	third := s.dial(t)
	third.publish(t, "3")
	if _, err := first.read(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection idle longest reads %v, want its end", err)
	}
	if _, err := first.Write([]byte("x")); err == nil {
		t.Error("the connection sent away still takes bytes: a publisher would wait for an answer")
	}
	second.publish(t, "the other one stays")
	s.until(t, "two connections", func(st Stats) bool { return st.Conns == 2 })
	if st := s.Stats(); st.Evicted != 1 {
		t.Errorf("Stats = %+v, want one evicted", st)
	}
}

func TestBusyPublishersAreNotSentAway(t *testing.T) {
	s := openSite(t, Config{Conns: 2})
	half := appendRequest(nil, message{channel: "c", data: "x"})
	a, b := s.dial(t), s.dial(t)
	a.send(t, half[:5])
	b.send(t, half[:5])
	s.until(t, "two busy ones", func(Stats) bool { return s.busy() == 2 })
	c := s.dial(t)
	if r := c.answer(t); !strings.Contains(r.over, "all 2 publishers of this worker are busy") {
		t.Errorf("the third publisher hears %+v, want that there is no room", r)
	}
	a.send(t, half[5:])
	if r := a.answer(t); len(r.outcomes) != 1 || r.outcomes[0].err != nil {
		t.Errorf("the busy one gets %+v, want its id", r)
	}
	if st := s.Stats(); st.TurnedAway != 1 || st.Evicted != 0 {
		t.Errorf("Stats = %+v, want one turned away", st)
	}
}

func (d *Door) busy() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		if c.idleSince.Load() == 0 {
			n++
		}
	}
	return n
}

func TestShutdownAnswersWhatHasArrived(t *testing.T) {
	s := openSite(t, Config{})
	c := s.dial(t)
	c.publish(t, "connected")
	request := appendRequest(nil, message{channel: "c", data: "x"})
	for range 100 {
		c.send(t, request)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatalf("Shutdown = %v, want nil", err)
	}
	for i := range 100 {
		if r, err := c.read(); err != nil || len(r.outcomes) != 1 || r.outcomes[0].err != nil {
			t.Fatalf("answer %d of 100 sent before Shutdown: %+v, %v; want an id", i, r, err)
		}
	}
	if _, err := c.read(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last answer: %v, want the end", err)
	}
	if _, err := c.Write(request); err == nil {
		t.Error("a request behind Shutdown was taken, and would never be answered")
	}
}

func TestShutdownCutsWhoDoesNotEnd(t *testing.T) {
	s := openSite(t, Config{})
	c := s.dial(t)
	c.publish(t, "connected")
	// A publisher that reads no answer: when it cannot send any more, the door's
	// side cannot either.
	request := appendRequest(nil, message{channel: ""})
	for err := error(nil); err == nil; {
		_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = c.Write(request)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("Shutdown = nil, want that a publisher was cut")
	}
	if d := time.Since(begun); d > timeoutDefault/2 {
		t.Errorf("Shutdown took %v, want no wait for the timeout of the answer", d)
	}
	if n := s.Stats().Conns; n != 0 {
		t.Errorf("%d connections are left behind Shutdown, want none", n)
	}
}

func TestMayPublish(t *testing.T) {
	for _, c := range []struct {
		uid, owner int
		want       bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1000, 0, false}, {1000, 1001, false}} {
		if got := mayPublish(c.uid, c.owner); got != c.want {
			t.Errorf("mayPublish(%d, %d) = %v, want %v", c.uid, c.owner, got, c.want)
		}
	}
}
