// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"time"

	"m0serve.dev/http/config"
)

// Exit statuses of a service.
const (
	exitClean   = 0
	exitFailure = 1
)

const (
	drainDefault = 5 * time.Second
	// killGrace is what a worker gets beyond its own bound, so that one that
	// abandons what is late and leaves by itself is not killed on the way.
	killGrace = time.Second
	// giveUp bounds the wait for processes that were killed: one that the kernel
	// cannot end (a dead disk) does not hold the service.
	giveUp = 5 * time.Second
	// bootDeathsMax deaths before ready, over all indexes, end the service.
	bootDeathsMax = 5
)

// Config says what Supervise starts and how it ends it.
type Config struct {
	Workers int             // processes; their indexes are 0 … Workers-1
	Handed  Handed          // what every worker inherits
	Command Command         // what a worker executes; zero: this program again
	Drain   time.Duration   // bound on a worker's drain; 0: 5 s, negative: none at all
	Ready   func()          // called once, when every worker is ready; nil: nothing
	Died    func(index int) // called after a death, before a successor starts; nil: nothing
	// Stopping is called once, when the workers are told to stop: what this
	// process holds for successors, such as the listener, can be closed, so that
	// nobody waits at a door behind which nobody is. nil: nothing.
	Stopping func()
	Log      *slog.Logger // nil: slog.Default
}

// A Command is what a worker executes. The zero value is this executable with
// this process's arguments and environment.
type Command struct {
	Path string
	Args []string // Args[0] included
	Env  []string
}

func (c *Config) drain() time.Duration {
	switch {
	case c.Drain == 0:
		return drainDefault
	case c.Drain < 0:
		return 0
	}
	return c.Drain
}

func (c *Config) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// a system is the part of the operating system that a supervisor uses.
type system struct {
	start    func(index int) (*child, error)
	kill     func(pid int, sig syscall.Signal) error
	reap     func() []death   // the processes that died since the last call
	signals  <-chan os.Signal // to stop, and SIGHUP
	children <-chan os.Signal // some child has died; one entry may stand for many
	ready    <-chan int       // process ids, as their reports come in
	random   func() float64
}

// a supervisor runs the workers of one service. Its loop owns all of it;
// everything else only sends to the channels of its system.
//
//	empty ─start→ starting ─report→ ready
//	  ▲  └ respawnAt ┘ │ death        │ death
//	  └────────────────┴──────────────┘   stopping: stays empty
type supervisor struct {
	cfg   Config
	sys   system
	log   *slog.Logger
	slots []slot

	announced bool
	stopping  bool
	code      int
	signals   int       // stop signals received
	killAt    time.Time // zero: nobody is to be killed yet
	giveUpAt  time.Time // zero: no kill is under way
}

func newSupervisor(cfg Config, sys system) *supervisor {
	s := &supervisor{cfg: cfg, sys: sys, log: cfg.log(), slots: make([]slot, cfg.Workers)}
	for i := range s.slots {
		s.slots[i].index = i
	}
	return s
}

// run starts the workers and returns the exit status once all are gone.
func (s *supervisor) run() int {
	for i := range s.slots {
		s.start(&s.slots[i])
	}
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for !s.finished() {
		s.arm(alarm)
		select {
		case sig := <-s.sys.signals:
			s.onSignal(sig)
		case <-s.sys.children:
			for _, d := range s.sys.reap() {
				s.onDeath(d)
			}
		case pid := <-s.sys.ready:
			s.onReady(pid)
		case <-alarm.C:
			s.onAlarm(time.Now())
		}
	}
	return s.code
}

func (s *supervisor) finished() bool {
	if !s.stopping {
		return false
	}
	if !s.giveUpAt.IsZero() && !time.Now().Before(s.giveUpAt) {
		return true
	}
	for i := range s.slots {
		if s.slots[i].child != nil {
			return false
		}
	}
	return true
}

// arm sets the alarm to the next moment at which something is due.
func (s *supervisor) arm(alarm *time.Timer) {
	next := time.Time{}
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	sooner(s.killAt)
	sooner(s.giveUpAt)
	for i := range s.slots {
		sooner(s.slots[i].respawnAt)
	}
	if next.IsZero() {
		alarm.Stop()
		return
	}
	alarm.Reset(time.Until(next))
}

func (s *supervisor) onAlarm(now time.Time) {
	for i := range s.slots {
		at := s.slots[i].respawnAt
		if !at.IsZero() && !now.Before(at) {
			s.start(&s.slots[i])
		}
	}
	if !s.killAt.IsZero() && !now.Before(s.killAt) {
		s.killAll("drain outlasted its bound")
	}
}

// start runs a new worker in an empty slot. One that cannot even be started
// counts as one that died before it was ready.
func (s *supervisor) start(slot *slot) {
	if s.stopping {
		return
	}
	slot.respawnAt, slot.ready = time.Time{}, time.Time{}
	slot.started = time.Now()
	c, err := s.sys.start(slot.index)
	if err != nil {
		s.log.Error("worker: cannot start a worker", "index", slot.index, "err", err)
		slot.lose(slot.started)
		s.replace(slot, err.Error())
		return
	}
	slot.child = c
}

func (s *supervisor) onReady(pid int) {
	slot := s.slotOf(pid)
	if slot == nil {
		return
	}
	s.markReady(slot)
}

// markReady announces the service when its last worker becomes ready.
func (s *supervisor) markReady(slot *slot) {
	if !slot.ready.IsZero() {
		return
	}
	slot.becomeReady(time.Now())
	if s.announced || s.stopping {
		return
	}
	for i := range s.slots {
		if s.slots[i].ready.IsZero() {
			return
		}
	}
	s.announced = true
	if s.cfg.Ready != nil {
		s.cfg.Ready()
	}
}

func (s *supervisor) onSignal(sig os.Signal) {
	if sig == syscall.SIGHUP {
		s.log.Warn("worker: SIGHUP: a rolling restart is not available, restart the service")
		return
	}
	s.signals++
	if s.signals > 1 {
		s.killAll("a second stop signal")
		return
	}
	s.stop(exitClean)
}

// onDeath takes a process that was waited for. One that is no worker was left
// to us as process 1; waiting for it was all it needed.
func (s *supervisor) onDeath(d death) {
	slot := s.slotOf(d.pid)
	if slot == nil {
		return
	}
	if slot.child.settle() {
		// It died with its report still unread.
		s.markReady(slot)
	}
	now := time.Now()
	wasReady := !slot.ready.IsZero()
	s.logDeath(slot, d, now.Sub(slot.started))
	slot.lose(now)
	if s.cfg.Died != nil {
		s.cfg.Died(slot.index)
	}
	switch {
	case s.stopping:
		if !d.clean() && !isStoppedBoot(d, wasReady) {
			s.fail()
		}
	case d.status.ExitStatus() == config.ExitConfig && !slot.everReady:
		// What one worker cannot be configured with, no successor can.
		s.stop(config.ExitConfig)
	default:
		s.replace(slot, d.reason())
	}
}

// isStoppedBoot reports a worker that our SIGTERM met before it had armed its
// signals: it held nothing, so nothing was cut.
func isStoppedBoot(d death, wasReady bool) bool {
	return !wasReady && d.status.Signaled() && d.status.Signal() == syscall.SIGTERM
}

func (s *supervisor) logDeath(slot *slot, d death, uptime time.Duration) {
	level := slog.LevelError
	if s.stopping && d.clean() {
		level = slog.LevelInfo
	}
	ending := "status"
	value := slog.IntValue(d.status.ExitStatus())
	if d.status.Signaled() {
		ending, value = "signal", slog.StringValue(d.status.Signal().String())
	}
	s.log.LogAttrs(context.Background(), level, "worker: ended", slog.Int("pid", d.pid),
		slog.Int("index", slot.index), slog.Attr{Key: ending, Value: value},
		slog.Duration("uptime", uptime.Round(time.Millisecond)),
		slog.Int64("rss_kib", d.rssKiB))
}

// replace schedules the successor of a worker that died, or ends the service
// when workers do nothing but die.
func (s *supervisor) replace(slot *slot, reason string) {
	boot := 0
	for i := range s.slots {
		boot += s.slots[i].bootDeaths
	}
	if boot >= bootDeathsMax {
		s.log.Error("worker: workers die before they are ready, giving up",
			"deaths", boot, "index", slot.index, "last", reason)
		s.stop(exitFailure)
		return
	}
	slot.respawnAt = time.Now().Add(backoff(slot.deaths, s.sys.random()))
}

// stop ends the service: every worker is told once, nothing is respawned from
// here on, and who is left at the end of the drain is killed.
func (s *supervisor) stop(code int) {
	if s.stopping {
		return
	}
	s.stopping, s.code = true, code
	s.killAt = time.Now().Add(s.cfg.drain() + killGrace)
	if s.cfg.Stopping != nil {
		s.cfg.Stopping()
	}
	for i := range s.slots {
		s.slots[i].respawnAt = time.Time{}
	}
	s.signalAll(syscall.SIGTERM)
}

// killAll ends what is left without asking.
func (s *supervisor) killAll(why string) {
	s.stopping, s.killAt = true, time.Time{}
	if s.giveUpAt.IsZero() {
		s.giveUpAt = time.Now().Add(giveUp)
	}
	for i := range s.slots {
		slot := &s.slots[i]
		slot.respawnAt = time.Time{}
		if slot.child != nil {
			s.log.Error("worker: killed", "pid", slot.child.pid, "index", slot.index, "why", why)
			s.fail()
		}
	}
	s.signalAll(syscall.SIGKILL)
}

// fail makes a stop unclean; a reason that came first stays.
func (s *supervisor) fail() {
	if s.code == exitClean {
		s.code = exitFailure
	}
}

func (s *supervisor) signalAll(sig syscall.Signal) {
	for i := range s.slots {
		if c := s.slots[i].child; c != nil {
			if err := s.sys.kill(c.pid, sig); err != nil {
				s.log.Error("worker: signal", "pid", c.pid, "signal", sig.String(), "err", err)
			}
		}
	}
}

func (s *supervisor) slotOf(pid int) *slot {
	for i := range s.slots {
		if c := s.slots[i].child; c != nil && c.pid == pid {
			return &s.slots[i]
		}
	}
	return nil
}
