// SPDX-License-Identifier: MIT

package sse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
)

// sendLate publishes a frame whose id was taken before others went out, and
// longer ago than the bus waits for it: r has the others already.
func sendLate(t *testing.T, h *Hub, channel string, r *bufio.Reader) (late, top uint64) {
	t.Helper()
	late = h.NextID()
	top = publish(t, h, channel, "in time.")
	until(t, r, "in time.\n\n")
	if err := h.Send(channel, "", late, []byte("data: late.\n\n")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		h.mu.Lock()
		done := h.journals[channel].Frame(late) != nil
		h.mu.Unlock()
		if done {
			return late, top
		}
		if time.Now().After(deadline) {
			t.Fatal("the late frame does not arrive")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLateFrameIsToldNotSilent: what comes behind a higher id cannot be
// delivered any more; a stream that missed it is cut or told.
func TestLateFrameIsToldNotSilent(t *testing.T) {
	for _, policy := range []Policy{Disconnect, DropOldest} {
		t.Run(policy.String(), func(t *testing.T) {
			h := newHub(t, HubConfig{Limits: Limits{Policy: policy}})
			addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
			r := join(t, addr, "", "")
			late, top := sendLate(t, h, "c", r)
			got := ""
			if policy == Disconnect {
				got = restOf(r)
			} else {
				got = until(t, r, "event: gap\ndata: 1\n\n")
			}
			if strings.Contains(got, "late.") {
				t.Errorf("stream got %q after a higher id; want the late frame not delivered", got)
			}
			if d := h.Stats().Drops["c"]; d.Late != 1 || d.Total() != 1 {
				t.Errorf("drops = %+v; want one that is late", d)
			}
			behind := join(t, addr, "", lastID(late-1))
			if got := until(t, behind, "in time.\n\n"); !strings.Contains(got, "late.") {
				t.Errorf("a client from before both got %q; want both", got)
			}
			past := join(t, addr, "", lastID(top))
			publish(t, h, "c", "after.")
			if got := until(t, past, "after.\n\n"); !strings.Contains(got, "event: reset\n") {
				t.Errorf("a client that may have missed the late frame got %q; want a reset", got)
			}
		})
	}
}

// TestLostFramesAreTold: the bus dropped frames for this worker.
func TestLostFramesAreTold(t *testing.T) {
	for _, policy := range []Policy{Disconnect, DropOldest} {
		t.Run(policy.String(), func(t *testing.T) {
			h := newHub(t, HubConfig{Limits: Limits{Policy: policy}})
			addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
			r := join(t, addr, "", "")
			id := publish(t, h, "c", "before.")
			until(t, r, "before.\n\n")
			h.Lost(3)
			if policy == Disconnect {
				if rest := restOf(r); strings.Contains(rest, "0\r\n\r\n") {
					t.Errorf("stream ends with %q; want a cut", rest)
				}
			} else {
				until(t, r, "event: gap\ndata: 1\n\n")
			}
			back := join(t, addr, "", lastID(id))
			publish(t, h, "c", "after.")
			if got := until(t, back, "after.\n\n"); !strings.Contains(got, "event: reset\n") {
				t.Errorf("a client from before the loss got %q; want a reset", got)
			}
			other := dialStream(t, h, addr, "other", lastID(id))
			if !strings.Contains(other, "event: reset\n") {
				t.Errorf("the same on a channel without a journal: %q; want a reset", other)
			}
			if n := h.Stats().Lost; n != 3 {
				t.Errorf("Stats().Lost = %d; want 3", n)
			}
		})
	}
}

// dialStream opens a stream of the channel and gives what it gets up to the next
// event that is published.
func dialStream(t *testing.T, h *Hub, addr, channel, header string) string {
	t.Helper()
	_, r := dial(t, addr, "GET /?channel="+channel+" HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
	until(t, r, "\r\n\r\n")
	until(t, r, ":\n\n")
	publish(t, h, channel, "after.")
	return until(t, r, "after.\n\n")
}

// TestNewStreamStartsAtWhatWasDelivered, not at the counter: a frame that was
// numbered before the stream began and is sent after it belongs to it.
func TestNewStreamStartsAtWhatWasDelivered(t *testing.T) {
	h := newHub(t, HubConfig{})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	id := h.NextID()
	h.NextID()
	r := join(t, addr, "", "")
	if err := h.Send("c", "", id, []byte("data: numbered before.\n\n")); err != nil {
		t.Fatal(err)
	}
	until(t, r, "numbered before.\n\n")
}

// TestNewStreamGetsWhatIsOnItsWay: an event that was published before the stream began,
// and is delivered here after that, comes first, and once.
func TestNewStreamGetsWhatIsOnItsWay(t *testing.T) {
	blocked, goOn := make(chan struct{}), make(chan struct{})
	h := newHub(t, HubConfig{Reserved: func(bus.Frame) {
		close(blocked)
		<-goOn
	}})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	if err := h.bus.Broadcast(bus.Frame{Channel: "\x01stop"}); err != nil {
		t.Fatal(err)
	}
	<-blocked // nothing is delivered from now on
	publish(t, h, "c", "before.")
	r := join(t, addr, "", "")
	publish(t, h, "c", "after.")
	close(goOn)
	if got := until(t, r, "after.\n\n"); strings.Count(got, "before.") != 1 {
		t.Errorf("got %q; want the event before it, once", got)
	}
}

// The client comes from a sibling that delivered more.
func TestClientAheadOfThisWorkerGetsNothingTwice(t *testing.T) {
	h := newHub(t, HubConfig{})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	seen := h.NextID()
	r := join(t, addr, "", lastID(seen))
	if err := h.Send("c", "", seen, []byte("data: seen there.\n\n")); err != nil {
		t.Fatal(err)
	}
	publish(t, h, "c", "next.")
	if got := until(t, r, "next.\n\n"); strings.Contains(got, "seen there.") {
		t.Errorf("got %q; the client had the first", got)
	}
}

// TestInventedNamesDisplaceNoJournal: what clients ask for costs nothing.
func TestInventedNamesDisplaceNoJournal(t *testing.T) {
	h := newHub(t, HubConfig{Channels: 2})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{}))
	one := publish(t, h, "c", "one.")
	settle(t, h, publish(t, h, "c", "two."))
	for i := range 5 {
		_, r := dial(t, addr, fmt.Sprintf(
			"GET /?channel=invented%d HTTP/1.1\r\nHost: a\r\n%s\r\n", i, lastID(3)))
		until(t, r, "event: reset\n")
	}
	r := join(t, addr, "", lastID(one))
	until(t, r, "two.\n\n")
	if n := h.Stats().Journals; n != 1 {
		t.Errorf("%d journals; want the one that was published to", n)
	}
}

func TestJournalBytesAreBounded(t *testing.T) {
	h := newHub(t, HubConfig{JournalBytes: 10_000})
	pad := strings.Repeat("x", 3000)
	a := publish(t, h, "a", pad)
	publish(t, h, "b", pad)
	settle(t, h, publish(t, h, "b", pad))
	settle(t, h, publish(t, h, "b", pad))
	st := h.Stats()
	if st.JournalBytes > 10_000 || st.Journals != 1 {
		t.Errorf("%d bytes in %d journals; want at most 10000, the idle one given up",
			st.JournalBytes, st.Journals)
	}
	last := publish(t, h, "b", pad)
	settle(t, h, last)
	h.mu.Lock()
	defer h.mu.Unlock()
	if frames, known := h.sinceLocked("b", a); known {
		t.Errorf("%d frames since the first are said to be all; some were given up", len(frames))
	}
	if frames, known := h.sinceLocked("b", last-1); len(frames) != 1 || !known || h.bytes > 10_000 {
		t.Errorf("since the last but one: %d, %v, %d bytes kept; want 1", len(frames), known, h.bytes)
	}
}

// TestFailedSnapshotCutsTheStream: an error status would keep clients away.
func TestFailedSnapshotCutsTheStream(t *testing.T) {
	for _, c := range []struct {
		name     string
		snapshot func(context.Context) ([]byte, uint64, error)
	}{
		{"error", func(context.Context) ([]byte, uint64, error) { return nil, 0, errors.New("down") }},
		{"panic", func(context.Context) ([]byte, uint64, error) { panic("oh") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
				h := newHub(t, HubConfig{})
				addr := serve(hubHandler(t, h, HoldOptions{Snapshot: c.snapshot}))
				_, r := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n")
				if head := until(t, r, "\r\n\r\n"); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
					t.Errorf("answer %s; want 200", head)
				}
				until(t, r, "retry: ")
				if rest := restOf(r); strings.Contains(rest, "0\r\n\r\n") {
					t.Errorf("stream ends with %q; want a cut", rest)
				}
				awaitStreams(t, h, 0)
				if n := h.Stats().SnapshotErrors; n != 1 {
					t.Errorf("%d errors counted; want 1", n)
				}
			})
		})
	}
}

// awaitStreams waits until the hub holds n streams.
func awaitStreams(t *testing.T, h *Hub, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for h.Stats().Streams != n {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams; want %d", h.Stats().Streams, n)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestSnapshotsOfOtherChannelsAreNotShared(t *testing.T) {
	h := newHub(t, HubConfig{})
	var asked sync.WaitGroup
	asked.Add(2)
	addr := both.Loop(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		channels := strings.Split(r.URL.Query().Get("channels"), ",")
		err := h.Hold(w, r, HoldOptions{Channels: channels,
			Snapshot: func(context.Context) ([]byte, uint64, error) {
				asked.Done()
				asked.Wait() // both run at once, or the test hangs and fails
				return fmt.Appendf(nil, "data: state of %s.\n\n", channels[1]), h.LastID(), nil
			}})
		if err != nil {
			t.Errorf("Hold: %v", err)
		}
	}))
	const rest = " HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n"
	_, x := dial(t, addr, "GET /?channels=c,x"+rest)
	_, y := dial(t, addr, "GET /?channels=c,y"+rest)
	until(t, x, "state of x.\n\n")
	until(t, y, "state of y.\n\n")
}

func TestSnapshotFromTheFutureSilencesNothing(t *testing.T) {
	h := newHub(t, HubConfig{})
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{
		Snapshot: func(context.Context) ([]byte, uint64, error) {
			return []byte("data: whole.\n\n"), ^uint64(0), nil
		}}))
	_, r := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n")
	until(t, r, "whole.\n\n")
	publish(t, h, "c", "next.")
	until(t, r, "next.\n\n")
}

func TestStreamThatComesDuringTheDrainIsSentAway(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		addr := serve(hubHandler(t, h, HoldOptions{}))
		h.Drain(time.Second, 0)
		_, r := dial(t, addr, "GET /?channel=c HTTP/1.1\r\nHost: a\r\n\r\n")
		until(t, r, "retry: 1000\n\n")
		if rest := restOf(r); strings.Contains(rest, "0\r\n\r\n") {
			t.Errorf("stream ends with %q; want a cut", rest)
		}
	})
}

// TestHubHEAD: nothing stays of a HEAD request, and no snapshot is made for it.
func TestHubHEAD(t *testing.T) {
	both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, HubConfig{})
		closed := make(chan loop.Reason, 1)
		addr := serve(hubHandler(t, h, HoldOptions{
			OnClose: func(why loop.Reason) { closed <- why },
			Snapshot: func(context.Context) ([]byte, uint64, error) {
				t.Error("a snapshot is made for a HEAD request")
				return nil, 0, nil
			}}))
		_, r := dial(t, addr, "HEAD /?channel=c HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 1\r\n\r\n")
		until(t, r, "\r\n\r\n")
		<-closed
		awaitStreams(t, h, 0)
	})
}

func TestOnCloseRunsOnceEvenForARefusal(t *testing.T) {
	h := newHub(t, HubConfig{})
	calls := make(chan loop.Reason, 2)
	addr := both.Loop(t, hubHandler(t, h, HoldOptions{
		OnClose: func(why loop.Reason) { calls <- why }}))
	_, r := dial(t, addr, "GET /?channel=%01x HTTP/1.1\r\nHost: a\r\n\r\n")
	until(t, r, "\r\n\r\n")
	if why := <-calls; why != loop.ClosedByError || len(calls) != 0 {
		t.Errorf("OnClose(%v), %d more; want ClosedByError once", why, len(calls))
	}
}

// TestConcurrentStreamsSeeEveryFrameOnce: streams come, break and come back at
// any moment while frames are delivered. None of these is late, since each is
// sent before the next id is taken.
func TestConcurrentStreamsSeeEveryFrameOnce(t *testing.T) {
	total := 2000
	if testing.Short() {
		total = 400
	}
	h := newHub(t, HubConfig{Journal: total + 1})
	floor := h.LastID()
	var publisher, clients sync.WaitGroup
	publisher.Go(func() {
		for range total {
			publish(t, h, "c", "x")
			runtime.Gosched()
		}
	})
	for i := range 8 {
		clients.Go(func() { followStream(t, h, floor, total, uint64(i)) })
	}
	publisher.Wait()
	clients.Wait()
}

// followStream takes total frames over streams that break at random.
func followStream(t *testing.T, h *Hub, last uint64, total int, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	deadline := time.Now().Add(patience)
	for got := 0; got < total; {
		slot := NewSlot(&Limits{Frames: total + 1}, 0, nil)
		at, err := h.begin(slot, formatID(last), &HoldOptions{Channels: []string{"c"}})
		if err != nil || !at.known {
			t.Errorf("begin(%d): known %v, %v; want it caught up", last, at.known, err)
			return
		}
		slot.prime(at.missed...)
		for left := 1 + rnd.IntN(50); left > 0 && got < total; {
			b := slot.Next()
			if b == nil {
				if time.Now().After(deadline) {
					t.Errorf("%d frames of %d came", got, total)
					return
				}
				time.Sleep(50 * time.Microsecond)
				continue
			}
			var id uint64
			if _, err := fmt.Sscanf(string(b), "event: n\nid: %d\n", &id); err != nil || id <= last {
				t.Errorf("after id %d came %q (%v)", last, b, err)
				return
			}
			last = id
			got++
			left--
		}
		slot.Closed(loop.ClosedByPeer)
	}
}

// TestIdleStreamsAreSmall: what ten thousand quiet streams cost.
func TestIdleStreamsAreSmall(t *testing.T) {
	const streams = 10_000
	r := NewRegistry(-1)
	limits := &Limits{}
	slots := make([]*Slot, streams)
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	for i := range slots {
		slots[i] = NewSlot(limits, 0, nil)
		if err := r.Add(slots[i], "c"); err != nil {
			t.Fatal(err)
		}
	}
	each := int64(memory()-before) / streams
	t.Logf("%d bytes a stream", each)
	if each > 300 {
		t.Errorf("an idle stream costs %d bytes; want at most 300", each)
	}
	runtime.KeepAlive(slots)
}

// TestBroadcastAllocatesNothingPerStream.
func TestBroadcastAllocatesNothingPerStream(t *testing.T) {
	r := NewRegistry(-1)
	slots := addSlots(t, r, 1000)
	var id uint64
	round := func() {
		id++
		r.Deliver(frame(id, "c", "", "data: x\n\n"))
		for _, s := range slots {
			for s.Next() != nil {
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(20, round); n > 10 {
		t.Errorf("a broadcast to 1000 streams allocates %v times; want what the frame takes", n)
	}
}

func addSlots(t testing.TB, r *Registry, n int) []*Slot {
	t.Helper()
	limits := &Limits{}
	slots := make([]*Slot, n)
	for i := range slots {
		slots[i] = NewSlot(limits, 0, nil)
		if err := r.Add(slots[i], "c"); err != nil {
			t.Fatal(err)
		}
		slots[i].Park(&parked{}, true)
	}
	return slots
}
