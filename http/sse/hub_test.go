// SPDX-License-Identifier: MIT

package sse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/both"
)

func newHub(t *testing.T, cfg HubConfig) *Hub {
	t.Helper()
	if cfg.Bus == nil {
		cfg.Bus = bus.Local()
		t.Cleanup(cfg.Bus.Close)
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	h := NewHub(cfg)
	h.Start()
	return h
}

func publish(t *testing.T, h *Hub, channel, text string) uint64 {
	t.Helper()
	id, err := h.PublishEvent(channel, Event{Name: "n", Data: text})
	if err != nil {
		t.Fatalf("PublishEvent(%q): %v", text, err)
	}
	return id
}

// settle waits until the hub has delivered everything up to id.
func settle(t *testing.T, h *Hub, id uint64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for h.Stats().Delivered < id {
		if time.Now().After(deadline) {
			t.Fatalf("the hub has delivered up to %d; want %d", h.Stats().Delivered, id)
		}
		time.Sleep(time.Millisecond)
	}
}

// hubHandler holds a stream as the query says: ?channel=…&since=N.
func hubHandler(t *testing.T, h *Hub, o HoldOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := o
		o.Channels = r.URL.Query()["channel"]
		if s := r.URL.Query().Get("since"); s != "" {
			o.Since, _ = strconv.ParseUint(s, 10, 64)
		}
		if err := h.Hold(w, r, o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
}

// join opens a stream of channel c and reads its head and first bytes.
func join(t *testing.T, addr, query, header string) *bufio.Reader {
	t.Helper()
	_, r := dial(t, addr, "GET /?channel=c"+query+" HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
	if head := until(t, r, "\r\n\r\n"); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatalf("stream refused: %s", head)
	}
	until(t, r, ":\n\n")
	return r
}

func lastID(id uint64) string { return fmt.Sprintf("Last-Event-ID: %d\r\n", id) }

func TestHubReplayThenLiveWithoutGapOrDouble(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		addr := serve(hubHandler(t, h, HoldOptions{}))
		before := publish(t, h, "c", "one.")
		publish(t, h, "other", "not for c.")
		two := publish(t, h, "c", "two.")
		settle(t, h, two)

		behind := join(t, addr, "", lastID(before))
		sinceToo := join(t, addr, fmt.Sprintf("&since=%d", before), "")
		headerWins := join(t, addr, fmt.Sprintf("&since=%d", before), lastID(two))
		fresh := join(t, addr, "", "")
		ahead := join(t, addr, "", lastID(^uint64(0)))
		three := publish(t, h, "c", "three.")
		for name, c := range map[string]struct {
			r    *bufio.Reader
			want []string
		}{
			"Last-Event-ID behind": {behind, []string{"two.", "three."}},
			"since":                {sinceToo, []string{"two.", "three."}},
			"header over since":    {headerWins, []string{"three."}},
			"new consumer":         {fresh, []string{"three."}},
			"id from the future":   {ahead, []string{"three."}},
		} {
			got := until(t, c.r, fmt.Sprintf("id: %d\ndata: three.\n\n", three))
			for _, text := range []string{"one.", "two.", "three.", "not for c."} {
				want := 0
				for _, w := range c.want {
					if w == text {
						want = 1
					}
				}
				if n := strings.Count(got, text); n != want {
					t.Errorf("%s: %q came %d times; want %d in:\n%s", name, text, n, want, got)
				}
			}
		}
	})
}

func TestHubUnknownIdGetsSnapshotOnceForAll(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		settle(t, h, publish(t, h, "c", "old."))
		var calls atomic.Int32
		release := make(chan struct{})
		o := HoldOptions{Snapshot: func(context.Context) ([]byte, uint64, error) {
			calls.Add(1)
			<-release
			return []byte("data: whole.\n\n"), h.Stats().Delivered, nil
		}}
		addr := serve(hubHandler(t, h, o))
		var readers []*bufio.Reader
		for i := range 8 {
			header := []string{"Last-Event-ID: 5\r\n", "Last-Event-ID: what\r\n"}[i%2]
			_, r := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
			readers = append(readers, r)
		}
		awaitStreams(t, h, len(readers))
		settle(t, h, publish(t, h, "c", "during."))
		close(release)
		for _, r := range readers {
			got := until(t, r, "whole.\n\n")
			if strings.Contains(got, "old.") || strings.Contains(got, "during.") {
				t.Errorf("got %s; want the whole state first", got)
			}
		}
		after := publish(t, h, "c", "after.")
		for _, r := range readers {
			got := until(t, r, fmt.Sprintf("id: %d\ndata: after.\n\n", after))
			if strings.Contains(got, "whole.") || strings.Contains(got, "during.") {
				t.Errorf("got %s; want only what came after the whole state", got)
			}
		}
		if n := calls.Load(); n > 2 {
			t.Errorf("%d snapshots for 8 streams at one moment; want 1 or 2", n)
		}
	})
}

// TestHubSnapshotJoinedLateHasNoGap: a stream that shares a snapshot begun
// before it was registered still gets what came in between.
func TestHubSnapshotJoinedLateHasNoGap(t *testing.T) {
	h := newHub(t, HubConfig{})
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := HoldOptions{Snapshot: func(context.Context) ([]byte, uint64, error) {
		at := h.Stats().Delivered
		once.Do(func() { close(begun) })
		<-release
		return []byte("data: whole.\n\n"), at, nil
	}}
	addr := both.Loop(t, hubHandler(t, h, o))
	_, first := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n")
	<-begun
	between := publish(t, h, "c", "between.")
	settle(t, h, between)
	_, second := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n")
	awaitStreams(t, h, 2)
	close(release)
	for name, r := range map[string]*bufio.Reader{"first": first, "second": second} {
		got := until(t, r, "between.\n\n")
		if strings.Count(got, "whole.") != 1 {
			t.Errorf("%s: got %s; want the whole state before what came in between", name, got)
		}
	}
}

// TestHubHelloOpensTheStream: onopen fires before anything is published.
func TestHubHelloOpensTheStream(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		join(t, serve(hubHandler(t, h, HoldOptions{})), "", "")
		addr := serve(hubHandler(t, h, HoldOptions{Hello: []byte("data: hello\n\n")}))
		_, r := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\n\r\n")
		until(t, r, "data: hello\n\n")
	})
}

func TestHubUnknownIdWithoutSnapshotIsReset(t *testing.T) {
	h := newHub(t, HubConfig{})
	settle(t, h, publish(t, h, "c", "old."))
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	r := join(t, addr, "", "Last-Event-ID: 3\r\n")
	if got := until(t, r, "\n\n"); !strings.Contains(got, "event: reset\nid: ") {
		t.Errorf("a client with an unknown id got %q; want the reset event", got)
	}
}

func TestHubRefusesReservedNames(t *testing.T) {
	h := newHub(t, HubConfig{})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	_, r := dial(t, addr, "GET /?channel=%01journal HTTP/1.1\r\nHost: a\r\n\r\n")
	if head := until(t, r, "\r\n\r\n"); !strings.HasPrefix(head, "HTTP/1.1 400 ") {
		t.Errorf("a stream on a reserved name: %s; want 400", head)
	}
	if _, err := h.PublishEvent("\x01journal", Event{Data: "x"}); !errors.Is(err, bus.ErrReserved) {
		t.Errorf("PublishEvent on a reserved name: %v; want ErrReserved", err)
	}
	if n := h.Stats().Streams; n != 0 {
		t.Errorf("%d streams after refusals; want 0", n)
	}
}

func TestHubRestoreRaisesIdsAndReplays(t *testing.T) {
	b := bus.Local()
	t.Cleanup(b.Close)
	future := b.CurrentID() + 1_000_000
	h := NewHub(HubConfig{Bus: b})
	for i := range uint64(3) {
		h.Restore("c", "", future+i, fmt.Appendf(nil, "id: %d\ndata: stored %d.\n\n", future+i, i))
	}
	h.Start()
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	r := join(t, addr, "", lastID(future))
	id := publish(t, h, "c", "new.")
	if id <= future+2 {
		t.Errorf("id after Restore = %d; want above %d", id, future+2)
	}
	got := until(t, r, "new.\n\n")
	if strings.Contains(got, "stored 0.") || !strings.Contains(got, "stored 1.") ||
		!strings.Contains(got, "stored 2.") {
		t.Errorf("got %s; want stored 1, stored 2, new", got)
	}
}

func TestHubDrainTellsEachWhenToComeBackAndCuts(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		addr := serve(hubHandler(t, h, HoldOptions{}))
		waits := make(map[string]bool)
		var readers []*bufio.Reader
		for range 8 {
			readers = append(readers, join(t, addr, "", ""))
		}
		h.Drain(100*time.Millisecond, 2*time.Second)
		for _, r := range readers {
			until(t, r, "retry: ")
			ms := until(t, r, "\n\n")
			waits[ms] = true
			if n, err := strconv.Atoi(strings.TrimSpace(ms)); err != nil || n < 100 || n > 2100 {
				t.Errorf("retry: %q; want 100 to 2100", ms)
			}
			if rest := restOf(r); strings.Contains(rest, "0\r\n\r\n") {
				t.Errorf("a drained stream ends with %q: a clean end, after which clients stay away", rest)
			}
		}
		if len(waits) < 4 {
			t.Errorf("8 streams were told %d different times; want them spread", len(waits))
		}
	})
}

// restOf reads to the end of the connection, however it ends.
func restOf(r *bufio.Reader) string {
	b, _ := io.ReadAll(r)
	return string(b)
}

func TestHubEvictsTheIdleJournal(t *testing.T) {
	h := newHub(t, HubConfig{Channels: 2})
	a := publish(t, h, "a", "1")
	publish(t, h, "b", "1")
	settle(t, h, publish(t, h, "c", "1"))
	if n := h.Stats().Journals; n != 2 {
		t.Errorf("%d journals; want 2", n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.journalLocked("a").Since(a); known {
		t.Error("a journal that was given up and made again says that it knows what came before")
	}
}

// twoWorkers are two hubs on one set of channels, as two processes have them.
func twoWorkers(t *testing.T) (open func(index int) *Hub) {
	t.Helper()
	page, _, err := bus.NewPage(2)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := bus.NewChannels(2)
	if err != nil {
		t.Fatal(err)
	}
	return func(index int) *Hub {
		page.Worker(index).Claim(1000 + index)
		b, err := bus.Open(bus.Config{
			Page: page, Read: channels.Read[index], Write: channels.Write, Index: index,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return NewHub(HubConfig{Bus: b, Log: slog.New(slog.DiscardHandler)})
	}
}

func TestHubRespawnedWorkerHasItsSiblingsJournal(t *testing.T) {
	open := twoWorkers(t)
	old, sibling := open(0), open(1)
	for _, h := range []*Hub{old, sibling} {
		h.Start()
		h.bus.Page().Worker(h.bus.Index()).SetState(bus.Ready)
	}
	first := publish(t, old, "c", "first.")
	settle(t, sibling, first)
	old.bus.Close() // killed
	second := publish(t, sibling, "c", "second.")
	settle(t, sibling, second)

	back := open(0)
	back.Start()
	if !back.SyncJournals(patience) {
		t.Fatal("the sibling did not answer")
	}
	addr := both.Loop(t, hubHandler(t, back, HoldOptions{}))
	behind, fresh := join(t, addr, "", lastID(first-1)), join(t, addr, "", "")
	third := publish(t, sibling, "c", "third.")
	for name, c := range map[string]struct {
		r    *bufio.Reader
		want int
	}{"behind": {behind, 1}, "fresh": {fresh, 0}} {
		got := until(t, c.r, fmt.Sprintf("id: %d\ndata: third.\n\n", third))
		for _, text := range []string{"first.", "second."} {
			if n := strings.Count(got, text); n != c.want {
				t.Errorf("%s: %q came %d times; want %d in:\n%s", name, text, n, c.want, got)
			}
		}
	}
}

func TestHubBacklogReachesNoNewStreamAsHistory(t *testing.T) {
	open := twoWorkers(t)
	sibling := open(1)
	sibling.Start()
	dead := open(0) // joins its channel and never reads it
	waited := publish(t, sibling, "c", "waited.")
	dead.bus.Close()

	back := open(0)
	back.Start()
	addr := both.Loop(t, hubHandler(t, back, HoldOptions{}))
	fresh := join(t, addr, "", "")
	next := publish(t, sibling, "c", "next.")
	got := until(t, fresh, fmt.Sprintf("id: %d\ndata: next.\n\n", next))
	if strings.Contains(got, "waited.") {
		t.Errorf("a new stream got the backlog: %s", got)
	}
	back.mu.Lock()
	defer back.mu.Unlock()
	if back.journalLocked("c").Frame(waited) == nil {
		t.Error("the backlog is not in the journal")
	}
}

func TestHubSyncPagesLargeJournals(t *testing.T) {
	open := twoWorkers(t)
	sibling := open(1)
	sibling.Start()
	sibling.bus.Page().Worker(1).SetState(bus.Ready)
	large := strings.Repeat("x", bus.MaxBody)
	pad := strings.Repeat("y", 300_000)
	var last uint64
	for _, c := range []struct{ channel, text string }{
		{"a", pad}, {"a", pad}, {"b", pad}, {"b", pad}, {"b", pad}, {"b", pad}, {"c", "small"},
		{"d", "before"}, {"d", large}, {"d", "after"},
	} {
		id, err := sibling.Publish(c.channel, "k", func(_ uint64, dst []byte) []byte {
			return append(dst, c.text...)
		})
		if err != nil {
			t.Fatal(err)
		}
		last = id
	}
	settle(t, sibling, last)
	back := open(0)
	back.Start()
	if !back.SyncJournals(patience) {
		t.Fatal("the sibling did not hand its journals over")
	}
	back.mu.Lock()
	defer back.mu.Unlock()
	sibling.mu.Lock()
	defer sibling.mu.Unlock()
	for channel, kept := range map[string]int{"a": 2, "b": 4, "c": 1, "d": 1} {
		theirs := sibling.journals[channel]
		got, known := back.sinceLocked(channel, last-uint64(kept))
		if channel != "d" {
			got, known = back.sinceLocked(channel, theirs.frames[0].id-1)
		}
		if len(got) != kept || !known {
			t.Errorf("%s: %d frames handed over, known %v; want %d", channel, len(got), known, kept)
			continue
		}
		if f := theirs.Frame(got[0].id); f == nil || f.Kind() != got[0].Kind() ||
			string(f.Body()) != string(got[0].Body()) {
			t.Errorf("%s: the frame handed over is another one", channel)
		}
	}
	if _, known := back.sinceLocked("d", last-2); known {
		t.Error("d: a frame too large to hand over is missing, and nobody is told")
	}
	if n := back.bus.Page().Worker(0).Drops(); n != 0 {
		t.Errorf("%d frames dropped by the hand-over; want 0", n)
	}
}

func TestSyncGivesUpOnASiblingThatIsSilent(t *testing.T) {
	open := twoWorkers(t)
	sibling := open(1)
	sibling.bus.Page().Worker(1).SetState(bus.Ready) // and never reads
	back := open(0)
	back.Start()
	begun := time.Now()
	if back.SyncJournals(20 * time.Millisecond) {
		t.Error("SyncJournals = true with a sibling that is silent")
	}
	if d := time.Since(begun); d < 20*time.Millisecond || d > patience {
		t.Errorf("SyncJournals took %v; want its limit, 20ms", d)
	}
}

func TestPageSurvivesDamage(t *testing.T) {
	h := newHub(t, HubConfig{})
	page := appendRecord(nil, 1, NewFrame(5, "c", "k", []byte("five")))
	page = appendRecord(page, 1, NewFrame(6, "c", "k", []byte("six")))
	first := len(appendRecord(nil, 1, NewFrame(5, "c", "k", []byte("five"))))
	for cut := range page {
		if cursor := h.takePage(page[:cut]); cut != first && cursor != nil {
			t.Errorf("takePage(cut at %d) = %q; want nil, it is damaged", cut, cursor)
		}
	}
	if h.takePage(page) == nil {
		t.Error("a whole page has no place to go on")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	got, known := h.journalLocked("c").Since(1)
	if ids(got) != "5 6" || !known || string(got[1].Body()) != "six" || got[1].Kind() != "k" {
		t.Errorf("after a page: %s, %v; want 5 6, known", ids(got), known)
	}
}
