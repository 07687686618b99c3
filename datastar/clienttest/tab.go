// SPDX-License-Identifier: MIT

package clienttest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// eventsMax is how many events may wait for Next; the tab reads no further then.
const eventsMax = 1024

// A Tab is a page with one stream. Its methods may be called from any goroutine.
type Tab struct {
	cfg    Config
	url    string
	ctx    context.Context // of the tab
	close  context.CancelFunc
	events chan Event    // closed once the tab has ended
	end    *EndError     // before that
	back   backoff       // of the tab's goroutine
	bodies chan struct{} // holds one place while a request runs; see Hide

	mu       sync.Mutex
	lastID   string
	hidden   bool
	shown    chan struct{}      // closed by Show
	drop     context.CancelFunc // ends the request or wait that is under way
	requests int
	waits    []time.Duration
}

// Open opens the page. Close it at the end.
func Open(cfg Config) *Tab {
	if cfg.Signals == "" {
		cfg.Signals = "{}"
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &Tab{
		cfg: cfg, url: withSignals(cfg.URL, cfg.Signals), ctx: ctx, close: cancel,
		events: make(chan Event, eventsMax), back: cfg.backoff(),
		bodies: make(chan struct{}, 1), shown: make(chan struct{}),
	}
	go t.run()
	return t
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func withSignals(address, signals string) string {
	mark := "?"
	if strings.Contains(address, "?") {
		mark = "&"
	}
	return address + mark + "datastar=" + url.QueryEscape(signals)
}

// Next waits for the next event. Its error is that of ctx, or an *EndError.
func (t *Tab) Next(ctx context.Context) (Event, error) {
	select {
	case e, ok := <-t.events:
		if !ok {
			return Event{}, t.end
		}
		return e, nil
	case <-ctx.Done():
		return Event{}, fmt.Errorf("clienttest: no event: %w", ctx.Err())
	}
}

// Hide puts the tab into the background. When it returns, the stream is
// dropped; events that came before can still be read.
func (t *Tab) Hide() {
	t.mu.Lock()
	if !t.hidden {
		t.hidden, t.shown = true, make(chan struct{})
	}
	if t.cfg.OpenWhenHidden {
		t.mu.Unlock()
		return
	}
	if t.drop != nil {
		t.drop()
	}
	t.mu.Unlock()
	t.bodies <- struct{}{} // once this is taken, no request runs
	<-t.bodies
}

// Show brings the tab to the front.
func (t *Tab) Show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hidden {
		t.hidden = false
		close(t.shown)
	}
}

// Close leaves the page and waits until its connection is given up.
func (t *Tab) Close() {
	t.close()
	for range t.events {
	}
}

// LastEventID is the id that the next request would carry.
func (t *Tab) LastEventID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastID
}

// Requests is how many requests the tab has made.
func (t *Tab) Requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// Waits are the times that the tab has waited, or waits now, before it came back.
func (t *Tab) Waits() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]time.Duration(nil), t.waits...)
}
