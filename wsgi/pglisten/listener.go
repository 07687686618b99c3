// SPDX-License-Identifier: MIT

package pglisten

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"m0serve.dev/http/sse"
)

// Channel is what a Listener LISTENs on, and m0pub.notify_sql notifies.
const Channel = "m0"

const (
	checkEveryDefault   = 10 * time.Second
	answerWithinDefault = 10 * time.Second
	retryMaxDefault     = 5 * time.Second

	retryMin     = 50 * time.Millisecond // first pause; doubles up to RetryMax
	steady       = time.Second           // a connection that lasts so long was a good one
	refusalEvery = 10 * time.Second      // log lines about refused notifications
	lossEvery    = time.Minute           // log lines about one and the same error
)

// Config says where to listen and what to do with what is heard.
type Config struct {
	DSN *DSN

	// Publish publishes an event; an error refuses the notification. It is called
	// by one goroutine, in the order of the commits, and must not wait: PostgreSQL
	// keeps for us what we do not read.
	Publish func(channel string, e sse.Event) error

	CheckEvery   time.Duration // silence after which the link is tried; 0: 10s
	AnswerWithin time.Duration // for one answer of PostgreSQL; 0: 10s
	RetryMax     time.Duration // longest pause between two attempts; 0: 5s
	Log          *slog.Logger  // nil: slog.Default()
}

func (c *Config) checkEvery() time.Duration   { return cmp.Or(c.CheckEvery, checkEveryDefault) }
func (c *Config) answerWithin() time.Duration { return cmp.Or(c.AnswerWithin, answerWithinDefault) }
func (c *Config) retryMax() time.Duration     { return cmp.Or(c.RetryMax, retryMaxDefault) }

// foundWithin bounds the time in which a dead link is found: it dies right after
// an answer, is tried CheckEvery later, and has AnswerWithin to show life.
func (c *Config) foundWithin() time.Duration { return c.checkEvery() + c.answerWithin() }

// A Listener publishes what PostgreSQL NOTIFYs, for as long as Run runs. The
// connection belongs to Run; Stats may be called by anybody at any time.
type Listener struct {
	cfg      Config
	log      *slog.Logger
	refusals quiet // of Run
	losses   quiet // of Run

	mu       sync.Mutex
	stats    Stats
	running  bool   // Run was called
	sessions uint64 // LISTENs that were answered
}

// New makes a Listener, which does nothing before Run. DSN and Publish have to be
// given.
func New(c Config) *Listener {
	if c.DSN == nil || c.Publish == nil {
		panic("pglisten: New without DSN or Publish")
	}
	return &Listener{cfg: c, log: cmp.Or(c.Log, slog.Default())}
}

// Stats returns the figures of now.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Run listens until ctx is done, and has closed the connection when it returns.
// It is called once. A PostgreSQL that cannot be reached, refuses us or goes away
// is tried again for ever.
func (l *Listener) Run(ctx context.Context) {
	l.begin()
	defer l.end()
	pause := retryMin
	for {
		lasted, err := l.session(ctx)
		if ctx.Err() != nil {
			return
		}
		l.lost(err)
		if lasted > steady {
			pause = retryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, max(l.cfg.retryMax(), retryMin))
	}
}

func (l *Listener) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		panic("pglisten: Run is called twice")
	}
	l.running = true
	l.stats.Since = time.Now()
}

func (l *Listener) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stats.Connected {
		l.stats.Connected, l.stats.Since = false, time.Now()
	}
}

// listening notes that LISTEN was answered.
func (l *Listener) listening(backend uint32) {
	l.mu.Lock()
	gap := time.Since(l.stats.Since)
	l.stats.Connected, l.stats.Since = true, time.Now()
	l.sessions++
	l.stats.Reconnects = l.sessions - 1
	again := l.sessions > 1
	l.mu.Unlock()
	l.losses = quiet{}
	if again {
		l.log.Warn("pglisten: listening again; what was notified in between is lost",
			"postgres", l.cfg.DSN, "backend", backend, "between", gap.Round(time.Millisecond))
		return
	}
	l.log.Info("pglisten: listening", "postgres", l.cfg.DSN, "channel", Channel, "backend", backend)
}

// lost notes why there is no connection.
func (l *Listener) lost(err error) {
	now, text := time.Now(), l.cfg.DSN.explain(err)
	l.mu.Lock()
	was := l.stats.Connected
	if was {
		l.stats.Connected, l.stats.Since = false, now
	}
	l.stats.LastError, l.stats.LastAt = text, now
	l.mu.Unlock()
	more, ok := l.losses.say(now, text, lossEvery)
	switch {
	case was:
		l.log.Warn("pglisten: the connection is lost; trying again",
			"postgres", l.cfg.DSN, "error", text)
	case ok:
		l.log.Warn("pglisten: PostgreSQL is not reached; trying again",
			"postgres", l.cfg.DSN, "error", text, "more", more)
	}
}

// receive takes one notification.
func (l *Listener) receive(n *pgconn.Notification) {
	m, why := decode(n.Payload)
	if why.cause == accepted {
		// Empty: as at every other door, an event without data reaches a client.
		e := sse.Event{Name: m.event, Data: m.data, Empty: true}
		if err := l.cfg.Publish(m.channel, e); err != nil {
			why = refusal{unpublished, err.Error(), "see what the service logs"}
		}
	}
	l.mu.Lock()
	l.stats.count(why.cause)
	l.mu.Unlock()
	if why.cause == accepted {
		return
	}
	if more, ok := l.refusals.say(time.Now(), "", refusalEvery); ok {
		l.log.Warn("pglisten: a notification is refused", "reason", why.reason,
			"cure", why.cure, "backend", n.PID, "more", more)
	}
}

// quiet keeps a log line from being written again and again.
type quiet struct {
	last time.Time
	text string
	more uint64
}

// say reports whether text is to be logged: it is another one than before, or
// every has passed. more is how many were not since the last that was.
func (q *quiet) say(now time.Time, text string, every time.Duration) (more uint64, ok bool) {
	if text == q.text && !q.last.IsZero() && now.Sub(q.last) < every {
		q.more++
		return 0, false
	}
	more = q.more
	*q = quiet{last: now, text: text}
	return more, true
}
