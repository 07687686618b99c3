// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// keptBytes bounds what is kept of a body to be shown.
const keptBytes = 64 << 10

// An event is one block of an event stream.
type event struct{ ID, Name, Data string }

// A feed is a response that is read while it comes, as bytes and as events.
type feed struct {
	url    string
	status int
	head   http.Header
	cancel context.CancelFunc

	mu      sync.Mutex
	text    []byte  // the first keptBytes of the body
	size    int     // of the whole body
	events  []event // but stream-open and keep-alive
	opens   int     // stream-open
	alive   int     // keep-alive
	taken   int     // events that take has given
	over    bool
	err     error         // why it is over; nil is a clean end
	changed chan struct{} // holds one note of news
}

// open asks for path on a connection of its own. Nothing is judged yet.
func (s *site) open(t *testing.T, path string, headers ...string) *feed {
	t.Helper()
	return s.openRequest(t, s.request(t, "GET", path, nil, headers))
}

func (s *site) openRequest(t *testing.T, req *http.Request) *feed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	early := time.AfterFunc(patience, cancel) // for a head that does not come
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req.WithContext(ctx))
	if !early.Stop() || err != nil {
		t.Fatalf("%s %s: no head: %v", req.Method, req.URL, err)
	}
	f := &feed{
		url: req.URL.String(), status: resp.StatusCode, head: resp.Header, cancel: cancel,
		changed: make(chan struct{}, 1),
	}
	go func() {
		defer resp.Body.Close()
		f.end(f.read(resp.Body))
	}()
	return f
}

// read parses until the body ends.
func (f *feed) read(r io.Reader) error {
	var e event
	var data []string
	var line []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		f.keep(buf[:n])
		line = append(line, buf[:n]...)
		for {
			at := bytes.IndexByte(line, '\n')
			if at < 0 {
				break
			}
			text := strings.TrimRight(string(line[:at]), "\r")
			line = line[at+1:]
			if text == "" && data != nil {
				e.Data = strings.Join(data, "\n")
				f.add(e)
			}
			if text == "" {
				e, data = event{}, nil
				continue
			}
			data = e.field(data, text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// field adds a line of a block to it.
func (e *event) field(data []string, line string) []string {
	field, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "id":
		e.ID = value
	case "event":
		e.Name = value
	case "data":
		data = append(data, value)
	}
	return data
}

func (f *feed) keep(piece []byte) {
	f.mu.Lock()
	f.size += len(piece)
	if room := keptBytes - len(f.text); room > 0 {
		f.text = append(f.text, piece[:min(room, len(piece))]...)
	}
	f.mu.Unlock()
	f.note()
}

func (f *feed) add(e event) {
	f.mu.Lock()
	switch e.Name {
	case "stream-open":
		f.opens++
	case "keep-alive":
		f.alive++
	default:
		f.events = append(f.events, e)
	}
	f.mu.Unlock()
	f.note()
}

func (f *feed) end(err error) {
	f.mu.Lock()
	f.over, f.err = true, err
	f.mu.Unlock()
	f.note()
}

func (f *feed) note() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// until waits until ok, which is called with the lock held, and reports false when
// the time is over or nothing more can come.
func (f *feed) until(bound time.Duration, ok func() bool) bool {
	deadline := time.After(bound)
	for {
		f.mu.Lock()
		is, over := ok(), f.over
		f.mu.Unlock()
		if is || over {
			return is
		}
		select {
		case <-f.changed:
		case <-deadline:
			return false
		}
	}
}

// await is until that has to come.
func (f *feed) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !f.until(patience, ok) {
		t.Fatalf("waited in vain for %s\n%s", what, f.trace())
	}
}

// opened waits for the event that django-eventstream opens a stream with.
func (f *feed) opened(t *testing.T) *feed {
	t.Helper()
	if f.status != 200 {
		t.Fatalf("status %d, want 200", f.status)
	}
	f.await(t, "stream-open", func() bool { return f.opens == 1 })
	return f
}

// holds waits until the body has text in it.
func (f *feed) holds(t *testing.T, text string) *feed {
	t.Helper()
	f.await(t, fmt.Sprintf("%q in the body", text), func() bool {
		return strings.Contains(string(f.text), text)
	})
	return f
}

// take waits for n more events.
func (f *feed) take(t *testing.T, n int) []event {
	t.Helper()
	f.await(t, fmt.Sprintf("%d events", n), func() bool { return len(f.events) >= f.taken+n })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken += n
	return slices.Clone(f.events[f.taken-n : f.taken])
}

// wants waits for events of exactly these data, in this order.
func (f *feed) wants(t *testing.T, data ...string) []event {
	t.Helper()
	got := f.take(t, len(data))
	for i, e := range got {
		if e.Data != data[i] {
			t.Fatalf("event %d of %d is %q with id %q, want %q\n%s", i+1, len(data),
				short(e.Data), e.ID, short(data[i]), f.trace())
		}
	}
	return got
}

// still fails the test when something but keep-alives comes within d.
func (f *feed) still(t *testing.T, d time.Duration) {
	t.Helper()
	if f.until(d, func() bool { return len(f.events) > f.taken }) {
		t.Fatalf("got an event where nothing was due\n%s", f.trace())
	}
}

// ends waits for the end of the body, which has to be a clean one.
func (f *feed) ends(t *testing.T) {
	t.Helper()
	f.until(patience, func() bool { return f.over })
	f.mu.Lock()
	over, err := f.over, f.err
	f.mu.Unlock()
	if !over || err != nil {
		t.Fatalf("the body has ended: %v, %v; want a clean end\n%s", over, err, f.trace())
	}
}

// body is what came so far.
func (f *feed) body() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.text)
}

// trace is what came, to be shown.
func (f *feed) trace() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.ReplaceAll(string(f.text), strings.Repeat(" ", 2048), " (2048 spaces)")
	return fmt.Sprintf("wire of %s: %d %v\n%q\n%d bytes, %d events, over %v, %v", f.url, f.status,
		f.head, short(text), f.size, len(f.events), f.over, f.err)
}
