// SPDX-License-Identifier: MIT

package ws_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/ws"
)

// TestHubReachesEveryWorker: what any worker publishes reaches every socket of every
// worker, on the loop and over net/http, compressed or not, once and in the order of
// ids.
func TestHubReachesEveryWorker(t *testing.T) {
	const workers, each = 3, 60
	hubs := startHubs(t, workers)
	var joined sync.WaitGroup
	var peers []*peer
	for i, hub := range hubs {
		handler := func(o *ws.Options) http.Handler {
			return accept(o, ws.Handler{Open: func(c *ws.Conn) {
				if err := hub.Join(c, "all", fmt.Sprint("of ", i)); err != nil {
					t.Error(err)
				}
				joined.Done()
			}})
		}
		for _, p := range places {
			addr := p.start(t, handler(&ws.Options{Compression: &ws.Compression{LeastBytes: 1}}))
			joined.Add(2)
			peers = append(peers, dial(t, addr, "/"), dialWith(t, addr, offered, yes))
		}
	}
	joined.Wait()

	type said struct {
		id   uint64
		text string
	}
	var mu sync.Mutex
	var all []said
	var publishing sync.WaitGroup
	for w, hub := range hubs {
		publishing.Go(func() {
			for n := range each {
				text := fmt.Sprintf("%d says %d, %d, %d", w, n, n, n)
				id, err := hub.Publish("all", ws.OpText, []byte(text))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				all = append(all, said{id, text})
				mu.Unlock()
			}
		})
	}
	publishing.Wait()
	slices.SortFunc(all, func(a, b said) int { return cmp.Compare(a.id, b.id) })
	for i, p := range peers {
		for n, want := range all {
			g, err := p.read()
			if err == nil {
				g, err = plain(g, 1<<15)
			}
			if err != nil || string(g.payload) != want.text {
				t.Fatalf("socket %d, message %d: %v, %v; want %q", i, n, g, err, want.text)
			}
		}
	}
	for w, hub := range hubs {
		st := hub.Stats()
		if st.Sockets != 4 || st.Delivered != 4*workers*each || st.Dropped+st.Late+st.Lost != 0 {
			t.Errorf("worker %d: %+v, want 4 sockets and %d delivered", w, st, 4*workers*each)
		}
	}
}

// startHubs makes the hubs of a service of several workers, in one process.
func startHubs(t *testing.T, workers int) (hubs []*ws.Hub) {
	t.Helper()
	page, _, err := bus.NewPage(workers)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := bus.NewChannels(workers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channels.Close() })
	for i := range workers {
		b, err := bus.Open(bus.Config{Page: page, Read: channels.Read[i], Write: channels.Write,
			Index: i, Window: time.Minute}) // a machine may be slow
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		hubs = append(hubs, ws.NewHub(ws.HubConfig{Bus: b, Queue: 1000, Log: quiet()}))
	}
	for _, h := range hubs {
		h.Start()
	}
	return hubs
}
