// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/datastar"
	"m0serve.dev/datastar/clienttest"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// TestPageIsCaughtUp: what a page gets by what it says it has.
func TestPageIsCaughtUp(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := newStream(h)
		addr := serve(s)
		one, two := patch(t, s, "one"), patch(t, s, "two")
		settle(t, h, two)
		pages := map[string]*page{
			"new page":               open(t, addr, "", ""),
			"Last-Event-ID":          open(t, addr, "", text(one)),
			"since":                  open(t, addr, "?since="+text(one), ""),
			"header wins over since": open(t, addr, "?since="+text(one), text(two)),
			"up to date":             open(t, addr, "?since="+text(two), ""),
		}
		three := patch(t, s, "three")
		for name, p := range pages {
			if name == "Last-Event-ID" || name == "since" {
				p.wants(name, frame("two", two)...)
			}
			p.wants(name, frame("three", three)...)
		}
	})
}

func TestSinceParameterHasAName(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	s := stream.New(h, stream.Options{Channel: "c", Since: "from"})
	addr := serveLoop(t, s)
	one, two := patch(t, s, "one"), patch(t, s, "two")
	settle(t, h, two)
	p, other := open(t, addr, "?from="+text(one), ""), open(t, addr, "?since="+text(one), "")
	three := patch(t, s, "three")
	p.wants("from", append(frame("two", two), frame("three", three)...)...)
	other.wants("since", frame("three", three)...)
}

func TestHelloComesFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := newStream(h)
		hello, err := datastar.AppendPatchSignals(nil, []byte(`{"live":true}`), datastar.SignalsOptions{})
		if err != nil {
			t.Fatal(err)
		}
		addr := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := s.Serve(w, r, hello); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}))
		one, two := patch(t, s, "one"), patch(t, s, "two")
		settle(t, h, two)
		p := ask(t, addr, "", text(one))
		p.wants("hello", append([]string{string(hello)}, frame("two", two)...)...)
	})
}

// TestUnknownIdGetsTheSnapshotOnce: a page whose id says nothing to this server
// gets the whole state, once, and then goes on like any other.
func TestUnknownIdGetsTheSnapshotOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{Journal: 2})
		var calls atomic.Int32
		s := stream.New(h, stream.Options{
			Channel: "c",
			Snapshot: func(context.Context) ([]byte, uint64, error) {
				calls.Add(1)
				return []byte(element("all")), h.LastID(), nil
			},
		})
		addr := serve(s)
		first := patch(t, s, "1")
		var last uint64
		for i := range 4 { // first falls out of the journal
			last = patch(t, s, strconv.Itoa(i+2))
		}
		settle(t, h, last)
		for _, c := range []struct{ name, query, id string }{
			{"too old", "", text(first)},
			{"no number", "", "what"},
			{"since 0", "?since=0", ""},
			{"since what", "?since=what", ""},
			{"since early", "?since=" + text(first), ""},
		} {
			name, before := c.name, calls.Load()
			p := open(t, addr, c.query, c.id)
			next := patch(t, s, name) // behind the snapshot, which was made before the stream began
			settle(t, h, next)
			p.wants(name, element("all"), idBlock(last))
			p.wants(name, frame(name, next)...)
			if n := calls.Load() - before; n != 1 {
				t.Errorf("%s: %d snapshots; want 1", name, n)
			}
			// The id of the snapshot is good for the next time.
			open(t, addr, "", text(last)).wants(name+", back", frame(name, next)...)
			last = next
		}
		if n := calls.Load(); n != 5 {
			t.Errorf("%d snapshots for 5 pages that cannot be caught up; want 5", n)
		}
	})
}

// TestSnapshotWithoutAnId: the stream gives it the one that was current before
// the state was read, so that what came meanwhile is not lost.
func TestSnapshotWithoutAnId(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	var s *stream.Stream
	var during uint64
	state := make([]byte, 0, 512) // the application's own, with room behind it
	s = stream.New(h, stream.Options{
		Channel: "c",
		Snapshot: func(context.Context) ([]byte, uint64, error) {
			during = patch(t, s, "during")
			settle(t, h, during)
			return append(state, element("all")...), 0, nil
		},
	})
	addr := serveLoop(t, s)
	one := patch(t, s, "one")
	settle(t, h, one)
	p := open(t, addr, "", "unknown")
	p.wants("page", element("all"), idBlock(one))
	p.wants("page", frame("during", during)...)
	if got := state[:cap(state)][len(element("all")):]; strings.Contains(string(got), "id:") {
		t.Errorf("the id was written into the application's buffer: %q", got)
	}
}

// TestSnapshotThatFailsCutsThePage: with a time to wait, and no status that
// would keep it away.
func TestSnapshotThatFailsCutsThePage(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := stream.New(h, stream.Options{
			Channel: "c",
			Snapshot: func(context.Context) ([]byte, uint64, error) {
				return nil, 0, errors.New("the database is away")
			},
		})
		p := ask(t, serve(s), "", "unknown")
		patch(t, s, "too late")
		wantsFarewell(t, p, time.Second, 3*time.Second)
	})
}

// TestNoSnapshot: the page is given the current id and goes on from there.
func TestNoSnapshot(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := newStream(h)
		one := patch(t, s, "one")
		settle(t, h, one)
		p := open(t, serve(s), "", "unknown")
		if got := p.block(); !strings.HasPrefix(got, ": ") {
			t.Fatalf("first comes %q; want a comment", got)
		}
		p.wants("id", idBlock(one))
		two := patch(t, s, "two")
		p.wants("live", frame("two", two)...)
		if n := h.Stats().Resets; n != 1 {
			t.Errorf("%d resets counted; want 1", n)
		}
	})
}

// wantsFarewell reads to the end of the page's stream: a time to wait between
// the two, and then a cut, never a clean end.
func wantsFarewell(t *testing.T, p *page, least, most time.Duration) (wait time.Duration) {
	t.Helper()
	block := p.block()
	ms, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(block, "retry: "), "\n\n"))
	wait = time.Duration(ms) * time.Millisecond
	if err != nil || wait < least || wait > most {
		t.Fatalf("the farewell is %q; want retry between %v and %v", block, least, most)
	}
	if rest, err := io.ReadAll(p.r); !errors.Is(err, io.ErrUnexpectedEOF) || len(rest) > 0 {
		t.Errorf("behind the farewell comes %q, %v; want a cut: after a clean end pages stay away",
			rest, err)
	}
	return wait
}

func TestDrainCutsAfterATimeToWait(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		addr := serve(newStream(h))
		var pages []*page
		for range 8 {
			pages = append(pages, open(t, addr, "", ""))
		}
		h.Drain(200*time.Millisecond, 3*time.Second)
		waits := make(map[time.Duration]bool)
		for _, p := range pages {
			waits[wantsFarewell(t, p, 200*time.Millisecond, 3200*time.Millisecond)] = true
		}
		if len(waits) < 4 {
			t.Errorf("8 pages wait %d different times; want them spread", len(waits))
		}
		wantsFarewell(t, ask(t, addr, "", ""), 200*time.Millisecond, 3200*time.Millisecond)
	})
}

// TestHeartbeatsAreComments: they come between frames and say nothing.
func TestHeartbeatsAreComments(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{Heartbeat: 20 * time.Millisecond})
		s := newStream(h)
		p := open(t, serve(s), "", "")
		beats := 0
		for ; beats < 3; beats++ {
			if got := p.block(); !strings.HasPrefix(got, ":") || strings.Count(got, "\n") != 2 {
				t.Fatalf("while nothing happens comes %q; want a comment", got)
			}
		}
		id := patch(t, s, "one")
		for {
			got := p.block()
			if strings.HasPrefix(got, ":") {
				continue
			}
			if got != element("one") {
				t.Fatalf("after %d heartbeats comes %q; want the event", beats, got)
			}
			break
		}
		p.wants("id", idBlock(id))
	})
}

// TestTabInTheBackground: what happened while a tab was hidden comes when it is
// shown, once each, and the new tab beside it gets none of that.
func TestTabInTheBackground(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := newStream(h)
		url := "http://" + serve(s)
		tab := clienttest.Open(clienttest.Config{URL: url})
		t.Cleanup(tab.Close)
		until(t, "the stream to open", func() bool { return h.Stats().Streams == 1 })
		texts := []string{"seen", "missed", "missed too", "live"}
		for i, text := range texts {
			switch i {
			case 1:
				until(t, "the id of the first", func() bool { return tab.LastEventID() != "" })
				tab.Hide()
			case 3:
				tab.Show()
				until(t, "the tab to come back", func() bool { return h.Stats().Streams == 1 })
			}
			settle(t, h, patch(t, s, text))
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for i, want := range texts {
			e, err := tab.Next(ctx)
			if err != nil || e.Args["elements"] != want {
				t.Fatalf("event %d = %+v, %v; want %q", i, e, err, want)
			}
		}
		if n := tab.Requests(); n != 2 || len(tab.Waits()) != 0 {
			t.Errorf("%d requests, waits %v; want 2 and none", n, tab.Waits())
		}
	})
}

// TestTwoWorkers: pages on both workers of a service get what either sends,
// each frame once, and in one order.
func TestTwoWorkers(t *testing.T) {
	page0, _, err := bus.NewPage(2)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := bus.NewChannels(2)
	if err != nil {
		t.Fatal(err)
	}
	var hubs []*sse.Hub
	var workers []*stream.Stream
	var pages []*page
	for i := range 2 {
		page0.Worker(i).Claim(1000 + i)
		b, err := bus.Open(bus.Config{
			Page: page0, Read: channels.Read[i], Write: channels.Write, Index: i,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		h := newHub(t, sse.HubConfig{Bus: b})
		s := newStream(h)
		addr := serveLoop(t, s)
		hubs, workers = append(hubs, h), append(workers, s)
		for range 2 {
			pages = append(pages, open(t, addr, "", ""))
		}
	}
	const n = 50
	var want []string
	var last uint64
	for i := range n {
		name := strconv.Itoa(i)
		last = patch(t, workers[i%2], name)
		want = append(want, frame(name, last)...)
	}
	for i, p := range pages {
		p.wants("page "+strconv.Itoa(i), want...)
	}
	for i, h := range hubs {
		if got := h.LastID(); got != last {
			t.Errorf("worker %d has delivered up to %d; want %d", i, got, last)
		}
	}
}

func TestServeHTTPAnswersAnError(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	w := httptest.NewRecorder()
	stream.New(h, stream.Options{Channel: "\x01server"}).
		ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "bus") {
		t.Errorf("a stream on a reserved name = %d %q; want 500 and the reason", w.Code, w.Body)
	}
	if n := h.Stats().Streams; n != 0 {
		t.Errorf("%d streams after it; want 0", n)
	}
}
