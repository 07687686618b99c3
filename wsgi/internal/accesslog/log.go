// SPDX-License-Identifier: MIT

package accesslog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"m0serve.dev/http/loop"
)

// Config says what is written where. The zero value writes JSON to stdout.
type Config struct {
	Path   string // file that is appended to; "" and "-" are stdout
	Format string // "json" (or ""), "common", "combined", or gunicorn's %-atoms
	// QueueBytes bounds the lines that wait to be written; 1 MiB. Lines beyond it
	// are dropped.
	QueueBytes int
	Log        *slog.Logger // hears of what could not be written; slog.Default
}

// ErrClosed is what a Log that was closed answers.
var ErrClosed = errors.New("accesslog: closed")

// Stats are counters that only grow.
type Stats struct {
	Lines   uint64 // taken
	Dropped uint64 // not taken: the queue was full
	Failed  uint64 // taken and not written: the file refused
}

// A Log is one worker's access log. Its methods may be called from any goroutine.
type Log struct {
	cfg   Config
	atoms []atom
	pid   int
	limit int
	now   func() time.Time
	open  func() (out io.WriteCloser, isPipe bool, err error)

	mu      sync.Mutex
	active  []byte // lines that wait; mu
	clock   clock  // mu
	closed  bool   // mu
	stats   Stats  // mu
	first   chan struct{}
	full    chan struct{}
	orders  chan order
	stopped chan struct{} // closed when the writer has ended
}

// Open compiles the format, opens the file and starts the writer, which Close
// ends.
func Open(cfg Config) (*Log, error) {
	l := newLog(cfg)
	if err := l.start(); err != nil {
		return nil, err
	}
	return l, nil
}

func newLog(cfg Config) *Log {
	if cfg.QueueBytes <= 0 {
		cfg.QueueBytes = 1 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	l := &Log{
		cfg: cfg, pid: os.Getpid(), limit: cfg.QueueBytes, now: time.Now,
		first: make(chan struct{}, 1), full: make(chan struct{}, 1),
		orders: make(chan order), stopped: make(chan struct{}),
	}
	l.open = l.openPath
	return l
}

func (l *Log) start() (err error) {
	if l.atoms, err = compile(l.cfg.Format, l.pid); err != nil {
		return err
	}
	out, isPipe, err := l.open()
	if err != nil {
		return err
	}
	w := &writer{log: l, out: out, isPipe: isPipe}
	go w.run()
	return nil
}

// Answered adds the line of a. It never waits for the file.
func (l *Log) Answered(a loop.Answer) {
	now := l.now()
	l.mu.Lock()
	before := len(l.active)
	if before >= l.limit || l.closed {
		l.stats.Dropped++
		l.mu.Unlock()
		return
	}
	l.clock.set(now)
	line := line{answer: &a, clock: &l.clock, pid: l.pid}
	l.active = append(line.append(l.active, l.atoms), '\n')
	l.stats.Lines++
	half := l.limit / 2
	isHalf := before < half && len(l.active) >= half
	l.mu.Unlock()
	if before == 0 {
		signal(l.first)
	}
	if isHalf {
		signal(l.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stats returns the counters.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Flush returns when the lines so far are written.
func (l *Log) Flush() error { return l.ask(orderFlush) }

// Reopen opens the path again, for whoever has moved the file away (SIGUSR1).
// When that fails the old file goes on being written to.
func (l *Log) Reopen() error { return l.ask(orderReopen) }

// Close writes what waits, within timeout, and closes the file. Lines that come
// later are dropped.
func (l *Log) Close(timeout time.Duration) error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		return ErrClosed
	}
	done := make(chan error, 1)
	go func() { done <- l.ask(orderClose) }()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("accesslog: %s takes nothing for %v: lines are lost", l.name(), timeout)
	}
}

// ask gives the writer an order and waits for its reply.
func (l *Log) ask(kind orderKind) error {
	reply := make(chan error, 1)
	select {
	case l.orders <- order{kind, reply}:
		return <-reply
	case <-l.stopped:
		return ErrClosed
	}
}

func (l *Log) name() string {
	if l.isStdout() {
		return "stdout"
	}
	return l.cfg.Path
}

func (l *Log) isStdout() bool { return l.cfg.Path == "" || l.cfg.Path == "-" }

func (l *Log) openPath() (out io.WriteCloser, isPipe bool, err error) {
	file := os.Stdout
	if !l.isStdout() {
		file, err = os.OpenFile(l.cfg.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return nil, false, fmt.Errorf("accesslog: %w", err)
		}
	}
	info, err := file.Stat()
	isPipe = err == nil && !info.Mode().IsRegular()
	if l.isStdout() {
		return keptOpen{file}, isPipe, nil
	}
	return file, isPipe, nil
}

// keptOpen is stdout, which is not ours to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
