// SPDX-License-Identifier: MIT

//go:build linux

package publishops

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

const bareApp = "bare:app"

// loops are the event loops that an application may run on.
var loops = []string{"uvloop", "asyncio"}

// A message is what a subscription gives.
type message struct {
	Channel string
	Event   *string
	Data    string
	ID      string
	Dropped int
}

func (m message) String() string {
	event := "without a name"
	if m.Event != nil {
		event = "called " + *m.Event
	}
	return fmt.Sprintf("%q %s on %s, id %s", m.Data, event, m.Channel, m.ID)
}

// TestChannelsAcrossWorkers: what one worker publishes comes to the subscriptions of
// both, whole: several channels, an event's name, an id of the application's, data of
// several lines, and from m0pub all the same.
func TestChannelsAcrossWorkers(t *testing.T) {
	for _, loop := range loops {
		t.Run(loop, func(t *testing.T) {
			s := start(t, pyserver.Config{App: bareApp, Workers: 2,
				Env: []string{"M0_ASGI_LOOP=" + loop}})
			if got, want := s.get(t, "loop_name"), `"`+loop+`"`; got != want {
				t.Fatalf("the loop is %s, want %s", got, want)
			}
			at := s.URL + "/events?channel=a&channel=b"
			streams := smoketest.Spread(t, 2, func() *smoketest.Stream {
				return smoketest.Open(t, at, "")
			})
			name := "named"
			for _, want := range []message{
				{Channel: "a", Data: "plain"},
				{Channel: "b", Data: "first\nsecond\n", Event: &name},
				{Channel: "a", Data: "", ID: "mine-1"},
				{Channel: "b", Data: "snow: ☃"},
			} {
				query := []string{"channel", want.Channel, "data", want.Data}
				if want.Event != nil {
					query = append(query, "event", *want.Event)
				}
				if want.ID != "" {
					query = append(query, "id", want.ID)
				}
				var id json.Number
				s.into(t, &id, "publish", query...)
				if want.ID == "" {
					want.ID = id.String()
				}
				expectMessage(t, streams, want)
			}
			id, status := s.run(t, "-m", "m0pub", "a", "from outside", "--event", "named")
			if status != 0 {
				t.Fatalf("m0pub: %s", id)
			}
			expectMessage(t, streams, message{Channel: "a", Data: "from outside", Event: &name, ID: id})
		})
	}
}

func expectMessage(t *testing.T, streams []*smoketest.Stream, want message) {
	t.Helper()
	for _, stream := range streams {
		var got message
		if err := json.Unmarshal([]byte(stream.Next(t).Data), &got); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || got.Dropped != 0 {
			t.Errorf("worker %s: %v, %d dropped; want %v", stream.Worker, got, got.Dropped, want)
		}
	}
}

// TestChannelsDropTheOldest: 256 messages wait for a subscription, above that the oldest
// go, and are counted where it is read and in the metrics.
func TestChannelsDropTheOldest(t *testing.T) {
	at := fmt.Sprintf("127.0.0.1:%d", smoketest.FreePort(t))
	s := start(t, pyserver.Config{App: bareApp, Args: []string{"--metrics", at}})
	for _, count := range []int{256, 300} {
		var got struct {
			Got     []int
			Dropped int
		}
		s.into(t, &got, "overflow", "count", fmt.Sprint(count))
		want := make([]int, 0, 256)
		for i := count - 256; i < count; i++ {
			want = append(want, i)
		}
		if !slices.Equal(got.Got, want) || got.Dropped != count-256 {
			t.Errorf("of %d messages came %d (%v…), %d dropped; want the last 256, %d dropped",
				count, len(got.Got), got.Got[:min(3, len(got.Got))], got.Dropped, count-256)
		}
	}
	if lost := metric(t, at, "m0_stream_frames_lost_total"); lost != 44 {
		t.Errorf("m0_stream_frames_lost_total = %v, want 44", lost)
	}
	if n := metric(t, at, "m0_published_total"); n != 2+256+300+1 {
		t.Errorf("m0_published_total = %v, want every one of them, and the one at startup", n)
	}
}

// TestChannelsLeaveNothingBehind: a loop that is left by break, by an exception or by
// cancellation leaves no subscription, and a call that is cancelled loses no message.
func TestChannelsLeaveNothingBehind(t *testing.T) {
	for _, loop := range loops {
		t.Run(loop, func(t *testing.T) {
			at := fmt.Sprintf("127.0.0.1:%d", smoketest.FreePort(t))
			s := start(t, pyserver.Config{App: bareApp, Args: []string{"--metrics", at},
				Env: []string{"M0_ASGI_LOOP=" + loop}})
			before := metric(t, at, "m0_subscriptions")
			if slots := metric(t, at, "m0_listeners"); before != 1 || slots != 1 {
				t.Errorf("at the start %v subscriptions, %v slots; want 1 of each", before, slots)
			}
			if got := s.get(t, "leave", "rounds", "40"); got != "200" {
				t.Errorf("40 rounds saw %s messages, want 200", got)
			}
			n, slots := metric(t, at, "m0_subscriptions"), metric(t, at, "m0_listeners")
			if n != 1 || slots != 1 {
				t.Errorf("behind 200 that were left %v subscriptions, %v slots; want 1 of each", n, slots)
			}
			stream := smoketest.Open(t, s.URL+"/events?channel=a", "")
			smoketest.Until(t, "a subscription", func() bool {
				return metric(t, at, "m0_subscriptions") == 2
			})
			stream.Close()
			// The application learns of it when it sends.
			smoketest.Until(t, "the end of the client's subscription", func() bool {
				s.get(t, "publish", "channel", "a", "data", "x")
				return metric(t, at, "m0_subscriptions") == 1
			})
			var got struct {
				Got   []string
				Twice string
				End   string
			}
			s.into(t, &got, "patience")
			if !slices.Equal(got.Got, []string{"1", "2"}) || got.End != "the end" ||
				!strings.Contains(got.Twice, "another task waits") {
				t.Errorf("patience = %+v; want 1 and 2, a second reader refused, the end", got)
			}
			var there []string
			s.into(t, &there, "elsewhere")
			if !slices.Equal(there, []string{"1", "2", "end"}) {
				t.Errorf("a subscription of another thread's loop got %q, want 1, 2, end", there)
			}
		})
	}
}

// TestChannelsRefuse: names of the server's own are a ValueError at once (contract row
// B4), and so is everything that cannot be sent.
func TestChannelsRefuse(t *testing.T) {
	s := start(t, pyserver.Config{App: bareApp})
	var got map[string]string
	s.into(t, &got, "wrong")
	for name, want := range map[string]string{
		"publish":    "ValueError: bus: channel name is reserved for the server",
		"subscribe":  "ValueError: bus: channel name is reserved for the server",
		"second":     "ValueError: bus: channel name is reserved for the server",
		"no channel": "TypeError: m0: subscribe to at least one channel",
		"control":    "ValueError: bus: bad channel name: ",
		"event":      "ValueError: bus: bad kind: ",
		"id":         "ValueError: sse: a line break or NUL in an id",
		"bytes":      "TypeError: m0: data has to be a str, not bytes",
		"number":     "TypeError: m0: channel has to be a str, not int",
		"surrogate":  "UnicodeEncodeError: ",
		"large":      "ValueError: bus: body is too large: ",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	// From the wire, as an application would pass it on.
	for _, path := range []string{"publish", "events"} {
		text := s.getRaw(t, path+"?channel=%01journal&data=x")
		if !strings.Contains(text, "reserved") && !strings.Contains(text, "500") {
			t.Errorf("GET /%s with %%01 = %q, want it refused", path, text)
		}
	}
}

// TestChannelsFromStartToEnd: an application publishes and subscribes while it starts,
// and its subscriptions end with the drain, however long it might go on.
func TestChannelsFromStartToEnd(t *testing.T) {
	s := start(t, pyserver.Config{App: bareApp, Args: []string{"--graceful-timeout", "10"}})
	stream := smoketest.Open(t, s.URL+"/events?channel=a", "")
	var early []string
	await := func(what string, count int) {
		t.Helper()
		smoketest.Until(t, what, func() bool {
			s.into(t, &early, "seen_early")
			return len(early) >= count
		})
	}
	await("what came early", 1) // and no later event tells of it
	s.get(t, "publish", "channel", "early", "data", "later")
	await("what came later", 2)
	if want := []string{"before the start", "later"}; !slices.Equal(early, want) {
		t.Errorf("the subscription of the start got %q, want %q", early, want)
	}
	s.Signal(t, syscall.SIGTERM)
	if stream.Ended(t) {
		t.Error("the stream was cut; want its subscription, and so its answer, to end")
	}
	if status := s.Wait(t); status != 0 || !strings.Contains(s.Log(), "early: the end") {
		t.Errorf("status %d, want 0, and the end of the early subscription in\n%s", status, s.Log())
	}
}

// TestChannelsInFrameworks: the object is an attribute of the state there, beside what
// the application's lifespan gave.
func TestChannelsInFrameworks(t *testing.T) {
	for _, name := range []string{"starlette", "fastapi"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, both("frameworks:"+name))
			var got struct {
				Made    string
				M0      string
				Message message
			}
			s.into(t, &got, "")
			named := "named"
			want := message{Channel: "round", Data: "trip", Event: &named, ID: got.Message.ID}
			if got.Made != "at startup" || got.Message.String() != want.String() || got.M0 == "" {
				t.Errorf("GET / = %+v, want %v, and what the lifespan made", got, want)
			}
		})
	}
}

// getRaw returns status and body of a GET of a path as it is.
func (s *site) getRaw(t *testing.T, path string) string {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}
