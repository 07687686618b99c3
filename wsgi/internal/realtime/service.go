// SPDX-License-Identifier: MIT

package realtime

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// Config says what a Service works with.
type Config struct {
	Hub *sse.Hub
	Log *slog.Logger
	// Ask asks the application for what streams lack (loop.Group.Ask). nil: nobody
	// can be asked, and such streams are cut.
	Ask func(loop.Asking) error
}

// A Service holds the answers of one worker. Its methods may be called from any
// goroutine.
type Service struct {
	hub    *sse.Hub
	log    *slog.Logger
	clock  *clock.Clock
	plain  plainText
	lines  lines
	alive  sameFrame // of keep-alives
	items  items
	asker  asker
	counts counts

	mu       sync.Mutex
	polls    map[*poll]struct{}
	draining bool
}

// New makes a Service.
func New(c Config) *Service {
	s := &Service{hub: c.Hub, log: c.Log, polls: make(map[*poll]struct{}),
		clock: clock.New()}
	s.items.expires.Waker = (*expiry)(s)
	s.asker.init(s, c.Ask)
	return s
}

// Hold makes a the answer of x and holds it; it is the last thing a handler does.
// An answer that cannot be held becomes 502, and the log says why.
func (s *Service) Hold(x *loop.Exchange, a *Answer) {
	in, err := a.read()
	if err == nil {
		err = s.hold(x, a, in)
	}
	if err != nil {
		s.counts.invalid.Add(1)
		s.log.Error("m0serve: an answer that was to be held is not valid",
			"target", string(x.Request().Target), "err", err)
		x.Fail(502, "the application asked for a hold that is not valid")
	}
}

func (s *Service) hold(x *loop.Exchange, a *Answer, in *grip.Instruct) error {
	if in.Hold == grip.HoldStream {
		if in.Short && isDefault(a.field("Content-Type")) {
			a.set("Content-Type", eventsType)
		}
		if a.isEvents() {
			a.events()
		}
	}
	isHead := string(x.Request().Method) == "HEAD"
	switch {
	case isHead, in.Hold == grip.NoHold && in.Next.URI == "":
		return send(x, a, !isHead)
	case in.Hold == grip.HoldResponse:
		return s.poll(x, a, in)
	}
	return s.stream(x, a, in)
}

// isDefault reports whether a Content-Type is what frameworks give where nobody says.
func isDefault(contentType string) bool {
	return contentType == "" || strings.HasPrefix(contentType, "text/html")
}

// send makes a the answer of x, without a hold.
func send(x *loop.Exchange, a *Answer, withBody bool) error {
	x.SetStatusReason(a.Status, a.Reason)
	for _, f := range a.Fields {
		if err := x.Field(f.Name, f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if withBody && len(a.Body) > 0 {
		_, _ = x.Write(a.Body) // the peer may be gone, or the status have no body
	}
	return nil
}

// lastEventID is what the client had last: the field, or the query that clients use
// which cannot set it.
func lastEventID(x *loop.Exchange) string {
	if id, found := x.Request().Field("last-event-id"); found {
		return string(id)
	}
	for part := range strings.SplitSeq(string(x.Request().RawQuery), "&") {
		if value, ok := strings.CutPrefix(part, "lastEventId="); ok {
			return value
		}
	}
	return ""
}

// Drain answers what waits for an answer. Streams are the hub's to end.
func (s *Service) Drain() {
	s.mu.Lock()
	s.draining = true
	polls := make([]*poll, 0, len(s.polls))
	for p := range s.polls {
		polls = append(polls, p)
	}
	s.mu.Unlock()
	for _, p := range polls {
		p.giveUp()
	}
}
