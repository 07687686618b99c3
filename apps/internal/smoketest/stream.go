// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An Event is one block of an event stream. Comments are not events.
type Event struct {
	ID   string // of this block, "" when it carries none
	Name string
	Data string // data lines joined with LF
}

// A Stream is an open event stream, read block by block by a parser that
// shares no line with the one under test.
type Stream struct {
	Worker string // X-Worker of the answer
	Status int

	events chan Event // closed at the end of the body
	err    error      // why the body ended, nil for a clean end; read after the close
	cancel context.CancelFunc
}

// Open asks for url as an event stream on a connection of its own. lastID, when
// not "", is sent as Last-Event-ID. The test closes the stream at the end.
func Open(t *testing.T, url, lastID string) *Stream {
	t.Helper()
	return OpenBy(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url, lastID)
}

// OpenBy is Open by a client of the test's choice, which may have a connection.
func OpenBy(t *testing.T, client *http.Client, url, lastID string) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	s := &Stream{
		Worker: resp.Header.Get("X-Worker"), Status: resp.StatusCode,
		events: make(chan Event, 4096), cancel: cancel,
	}
	go func() {
		defer resp.Body.Close()
		s.err = s.read(bufio.NewReader(resp.Body))
		close(s.events)
	}()
	return s
}

// read parses until the body ends. A clean end gives nil.
func (s *Stream) read(r *bufio.Reader) error {
	var e Event
	var data []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			if data != nil || e.ID != "" {
				e.Data = strings.Join(data, "\n")
				s.events <- e
			}
			e, data = Event{}, nil
			continue
		}
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
	}
}

// Close leaves the stream.
func (s *Stream) Close() { s.cancel() }

// Next waits for the next event; the test fails when none comes in time.
func (s *Stream) Next(t *testing.T) Event {
	t.Helper()
	e, ok := s.Read(t)
	if !ok {
		t.Fatalf("the stream ended (%v) where an event was due", s.err)
	}
	return e
}

// Read is Next for a stream that may end; it reports whether there is an event.
func (s *Stream) Read(t *testing.T) (e Event, ok bool) {
	t.Helper()
	select {
	case e, ok = <-s.events:
	case <-time.After(Patience):
		t.Fatalf("no event within %v", Patience)
	}
	return e, ok
}

// Until reads events until one satisfies ok, and returns it.
func (s *Stream) Until(t *testing.T, what string, ok func(Event) bool) Event {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for time.Now().Before(deadline) {
		if e := s.Next(t); ok(e) {
			return e
		}
	}
	t.Fatalf("waited %v in vain for: %s", Patience, what)
	return Event{}
}

// Silent fails the test when an event arrives within d.
func (s *Stream) Silent(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case e, ok := <-s.events:
		if ok {
			t.Fatalf("got event %+v where silence was due", e)
		}
	case <-time.After(d):
	}
}

// Ended waits for the end of the body and tells whether it was cut: broken off
// without the last chunk, so that clients come back.
func (s *Stream) Ended(t *testing.T) (cut bool) {
	t.Helper()
	deadline := time.After(Patience)
	for {
		select {
		case _, ok := <-s.events:
			if !ok {
				return s.err != nil
			}
		case <-deadline:
			t.Fatalf("the stream has not ended within %v", Patience)
		}
	}
}

// Number is the event's id as a number, 0 when it has none.
func (e Event) Number() uint64 {
	n, _ := strconv.ParseUint(e.ID, 10, 64)
	return n
}
