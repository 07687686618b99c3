// SPDX-License-Identifier: MIT

// Package eventsource reads an event stream (WHATWG HTML, section 9.2) over a
// client.Client, and comes back when it ends (contract row H11).
//
// A Source connects when its Events are ranged over, on the goroutine that does
// so, and keeps no other. It sends Last-Event-ID, honours retry within bounds,
// spreads its returns (jitter) and waits longer after each failure in a row. As
// in a browser a network error and the end of a stream, clean or not, bring it
// back; 204 ends the events without error; any other status than 200, a redirect
// included, and any other type than text/event-stream end them with an error,
// unless Config.Again says that it passes.
//
// Unlike a browser it follows no redirect, and the id of the stream before holds
// for events without one also behind a return.
package eventsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"m0serve.dev/http/client"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/wire"
)

// The times that hold where Config has a zero.
const (
	retryDefault    = 3 * time.Second
	retryMinDefault = 100 * time.Millisecond
	retryMaxDefault = time.Minute
)

// ErrType ends the events of what is no event stream.
var ErrType = errors.New("eventsource: the answer is no text/event-stream")

// A StatusError ends the events of an answer that is not 200.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("eventsource: status %d %s", e.Status, wire.StatusText(e.Status))
}

// Config says what to read. Only URL has to be set.
type Config struct {
	URL    string
	Fields []client.Field // besides Accept, Cache-Control and Last-Event-ID
	LastID string         // "": from the present on

	Retry    time.Duration // before a return where the stream asks for none; 3 s
	RetryMin time.Duration // the least that a stream can ask for; 100 ms
	RetryMax time.Duration // the most, for failures in a row as well; 1 min

	// Quiet is how long a stream may be silent before it counts as lost; 0: for
	// ever. Set it above the heartbeat of the server.
	Quiet    time.Duration
	EventMax int // bytes of one event; 0: sse.ParserEventMax

	// Again says which statuses pass, a 503 of a proxy for example. nil: none.
	Again func(status int) bool
	// Opened hears of each stream that begins, Lost why the source comes back and
	// when. nil: nobody.
	Opened func(*wire.Response)
	Lost   func(cause error, wait time.Duration)
}

// A Source is one event stream over any number of connections. It belongs to
// one goroutine.
type Source struct {
	client *client.Client
	cfg    Config
	parser sse.Parser
	lastID string // of what the caller has seen
	fails  int    // returns in a row that did not reach a stream
	err    error
	over   bool // the caller has left
}

// New makes a Source; it does nothing yet.
func New(c *client.Client, cfg Config) *Source {
	cfg.Retry = cmp.Or(cfg.Retry, retryDefault)
	cfg.RetryMin = cmp.Or(cfg.RetryMin, retryMinDefault)
	cfg.RetryMax = max(cmp.Or(cfg.RetryMax, retryMaxDefault), cfg.RetryMin)
	s := &Source{client: c, cfg: cfg, lastID: cfg.LastID}
	s.parser = sse.Parser{EventMax: cfg.EventMax, Retry: -1}
	return s
}

// LastID is the id to go on from: of the last event that Events has given, or
// of a later one without data.
func (s *Source) LastID() string { return s.lastID }

// Err says why the events have ended: nil when the server said that there are no
// more (204) or the caller left the loop, else the end of the context, a
// *StatusError, ErrType, sse.ErrTooLong or a *client.Error.
func (s *Source) Err() error { return s.err }

// Events gives the events until one of the ends that Err tells, or the loop is
// left. Ranged over again it goes on behind the last one.
func (s *Source) Events(ctx context.Context) iter.Seq[sse.Event] {
	return func(yield func(sse.Event) bool) {
		s.over, s.err = false, nil
		for !s.over {
			cause, final := s.connect(ctx, yield)
			switch {
			case s.over:
			case ctx.Err() != nil:
				s.err, s.over = context.Cause(ctx), true
			case final:
				s.err, s.over = cause, true
			default:
				s.wait(ctx, cause)
			}
		}
	}
}

// connect reads one connection to its end. final tells that there is no way back.
func (s *Source) connect(ctx context.Context, yield func(sse.Event) bool) (error, bool) {
	s.fails++
	stream, err := s.client.Open(ctx, s.request())
	if err != nil {
		return err, isFinal(err)
	}
	defer stream.Close()
	kind, _ := stream.Field("content-type")
	switch {
	case stream.Status == 204:
		return nil, true
	case stream.Status != 200:
		again := s.cfg.Again != nil && s.cfg.Again(stream.Status)
		return &StatusError{stream.Status}, !again
	case !isEventStream(kind):
		return ErrType, true
	}
	s.fails = 0
	if s.cfg.Opened != nil {
		s.cfg.Opened(&stream.Response)
	}
	return s.read(stream, yield)
}

// request is what is asked for. The heartbeat, not the client, says how long a
// stream may be silent.
func (s *Source) request() *client.Request {
	fields := append(make([]client.Field, 0, len(s.cfg.Fields)+3),
		client.Field{Name: "Accept", Value: "text/event-stream"},
		client.Field{Name: "Cache-Control", Value: "no-cache"})
	if s.lastID != "" {
		fields = append(fields, client.Field{Name: "Last-Event-ID", Value: s.lastID})
	}
	return &client.Request{URL: s.cfg.URL, Fields: append(fields, s.cfg.Fields...),
		BodyTimeout: cmp.Or(s.cfg.Quiet, -1)}
}

// read gives the events of a stream. What a caller who leaves has not seen does
// not count as seen.
func (s *Source) read(stream *client.Stream, yield func(sse.Event) bool) (error, bool) {
	s.parser.LastID = s.lastID
	s.parser.Reset()
	emit := func(e sse.Event) {
		if s.over {
			return
		}
		s.lastID = e.ID
		s.over = !yield(e)
	}
	for {
		piece, err := stream.Next()
		if err != nil {
			return err, isFinal(err)
		}
		if err := s.parser.Feed(piece, emit); err != nil || s.over {
			return err, true
		}
		s.lastID = s.parser.LastID
	}
}

// wait waits for the time to come back.
func (s *Source) wait(ctx context.Context, cause error) {
	wait := s.nextWait(rand.Float64())
	if s.cfg.Lost != nil {
		s.cfg.Lost(cause, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// nextWait is the time that the stream asked for, doubled for each failure in a
// row but the first, and up to half of it more, so that those who were cut
// together do not come back together.
func (s *Source) nextWait(jitter float64) time.Duration {
	wait := s.cfg.Retry
	if s.parser.Retry >= 0 {
		wait = s.parser.Retry
	}
	wait = max(wait, s.cfg.RetryMin)
	for range min(s.fails-1, 32) {
		if wait >= s.cfg.RetryMax {
			break
		}
		wait *= 2
	}
	wait = min(wait, s.cfg.RetryMax)
	return wait + time.Duration(jitter*float64(wait)/2)
}

// isFinal reports whether asking again is in vain.
func isFinal(err error) bool {
	if err == io.EOF {
		return false
	}
	var e *client.Error
	if !errors.As(err, &e) {
		return true
	}
	return e.Kind == client.Refused || e.Kind == client.Closed || e.Kind == client.Canceled
}

// isEventStream looks at the media type without its parameters.
func isEventStream(value []byte) bool {
	kind, _, _ := strings.Cut(string(value), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
