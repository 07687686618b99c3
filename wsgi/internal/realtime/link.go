// SPDX-License-Identifier: MIT

package realtime

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

const (
	// pendingMax is how many items a stream keeps while the application is asked.
	pendingMax = 100
	// gapsMax is how often the application is asked again because its answer and what
	// is published do not meet.
	gapsMax = 5
	// pagesMax is how many answers without a hold may follow each other.
	pagesMax = 1000
)

// A link is where the application is asked for what a stream lacks (Grip-Link). The
// stream's mu guards it.
type link struct {
	st      *stream
	host    string // of the request that the stream began with
	peer    netip.AddrPort
	target  string        // what it leads to, and what the next one is relative to
	timeout time.Duration // 0: it is not asked for being quiet
	sleeper clock.Sleeper // until it is quiet too long, or asked again

	asking  bool
	pending []*grip.Item // came meanwhile
	missed  bool         // more than that
	gaps    int          // answers in a row that did not meet what is published
	pages   int          // answers in a row without a hold
}

// newLink makes the link of a stream; nil when there is none.
func newLink(st *stream, x *loop.Exchange, next grip.Link) (*link, error) {
	if next.URI == "" {
		return nil, nil
	}
	l := &link{st: st, host: string(x.Request().Host), peer: x.Peer(),
		target: string(x.Request().Target)}
	l.sleeper.Waker = l
	return l, l.point(next)
}

// point makes the link lead to another place.
func (l *link) point(next grip.Link) error {
	target, err := resolve(l.target, l.host, next.URI)
	if err == nil {
		l.target, l.timeout = target, next.Timeout
	}
	return err
}

// resolve is the target that a link leads to from one of a host.
func resolve(from, host, uri string) (string, error) {
	at, err := url.Parse(from)
	if err != nil {
		return "", fmt.Errorf("Grip-Link: %w", err)
	}
	to, err := at.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("Grip-Link: %w", err)
	}
	if to.Host != "" && to.Host != host {
		return "", fmt.Errorf("Grip-Link: %q: it leads to another host; the application is asked "+
			"in this process, so give a path", uri)
	}
	return to.RequestURI(), nil
}

// newGone is what is asked when the client goes away (rel=gone); nil when nothing is.
func newGone(x *loop.Exchange, uri string) (*question, error) {
	if uri == "" {
		return nil, nil
	}
	q := &question{host: string(x.Request().Host), peer: x.Peer(), gone: true}
	var err error
	q.target, err = resolve(string(x.Request().Target), q.host, uri)
	return q, err
}

// isGone reports whether a held answer ended because its client went away.
func isGone(why loop.Reason) bool {
	return why == loop.ClosedByPeer || why == loop.ClosedByTimeout
}

// isAsking reports whether the application is being asked.
func (l *link) isAsking() bool { return l != nil && l.asking }

// park keeps an item until the answer is there.
func (l *link) park(it *grip.Item) {
	if len(l.pending) == pendingMax {
		l.missed = true
		return
	}
	l.pending = append(l.pending, it)
}

// question is what the application is asked for the stream: the same for all that
// lack the same.
func (l *link) question() question {
	q := question{target: l.target, host: l.host, peer: l.peer}
	for _, c := range l.st.in.Channels {
		if c.PrevID != "" {
			q.last = append(q.last, "Grip-Last: "...)
			q.last = append(grip.AppendLast(q.last, c), "\r\n"...)
		}
	}
	return q
}

// wait waits for a quiet time.
func (l *link) wait() {
	if l.timeout > 0 {
		l.st.s.clock.Set(&l.sleeper, time.Now().Add(l.timeout))
	}
}

// stop waits for nothing more.
func (l *link) stop() { l.st.s.clock.Stop(&l.sleeper) }

// Wake is the clock's: where nothing came for the whole time, something may be lost.
func (l *link) Wake(now time.Time) {
	st := l.st
	st.mu.Lock()
	asking, timeout := l.asking, l.timeout
	st.mu.Unlock()
	switch quiet, _ := st.sent.Since(now); {
	case asking:
		st.send()
	case quiet < timeout:
		st.s.clock.Set(&l.sleeper, now.Add(timeout-quiet))
	default:
		st.ask()
	}
}

// ask asks the application what the stream lacks, unless that is under way.
func (st *stream) ask() {
	st.mu.Lock()
	if st.over || st.link == nil || st.link.asking || st.slot == nil {
		st.mu.Unlock()
		return
	}
	st.link.asking = true
	st.mu.Unlock()
	st.link.stop()
	st.send()
}

// send sends the question.
func (st *stream) send() {
	st.mu.Lock()
	over, q := st.over, st.link.question()
	st.mu.Unlock()
	if !over {
		st.s.asker.join(q, st)
	}
}

// again asks once more, after a time that grows, or gives the stream up.
func (st *stream) again(gaps int) {
	if gaps > gapsMax {
		st.s.log.Error("m0serve: a stream is cut: what its next link answers and what is "+
			"published do not meet", "link", st.link.target, "asked", gaps)
		st.cut()
		return
	}
	st.s.clock.Set(&st.link.sleeper, time.Now().Add(backoff(gaps-1)))
}

// backoff is how long to wait after so many failures more than one.
func backoff(more int) time.Duration {
	if more < 0 {
		return 0
	}
	return time.Second<<more + rand.N(time.Second)
}
