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
	// killGrace is what a worker gets beyond its own bound, so that one that
	// abandons what is late and leaves by itself is not killed on the way.
	killGrace = time.Second
	// giveUp bounds the wait for processes that were killed: one that the kernel
	// cannot end (a dead disk) does not hold the service.
	giveUp = 5 * time.Second
	// bootDeathsMax deaths before ready, over all indexes, end the service.
	bootDeathsMax = 5
)

// a system is the part of the operating system that a supervisor uses.
type system struct {
	start    func(job) (*child, error)
	kill     func(pid int, sig syscall.Signal) error
	reap     func() []death   // the processes that died since the last call
	stops    <-chan os.Signal // SIGTERM and SIGINT, without echoes
	orders   <-chan os.Signal // SIGHUP, SIGTTIN, SIGTTOU, SIGUSR1
	children <-chan os.Signal // some child has died; one entry may stand for many
	reports  <-chan report    // of the workers, as they come in
	random   func() float64
	floor    floor
}

// a supervisor runs the workers of one service. Its loop owns all of it;
// everything else only sends to the channels of its system.
type supervisor struct {
	cfg     Config
	sys     system
	log     *slog.Logger
	slots   []*slot    // by index
	leaving []*process // told to end, while the service goes on
	rolling rolling
	stuck   stuck
	beatAt  time.Time // when the manager's watchdog is told; zero: it does not ask
	deaf    bool      // the manager could not be told the last time

	announced bool
	stopping  bool
	code      int
	signals   int       // stop signals received
	killAt    time.Time // of all that are left; zero: nobody is to be killed yet
	giveUpAt  time.Time // zero: no kill is under way
}

func newSupervisor(cfg Config, sys system) *supervisor {
	s := &supervisor{cfg: cfg, sys: sys, log: cfg.log()}
	for i := range cfg.Workers {
		s.slots = append(s.slots, &slot{index: i, place: i})
	}
	return s
}

// run starts the workers and returns the exit status once all are gone.
func (s *supervisor) run() int {
	for _, slot := range s.slots {
		s.sys.floor.expect(slot.place, slot.index)
	}
	for _, slot := range s.slots {
		if !s.stopping {
			s.start(slot)
		}
	}
	s.startWatches(time.Now())
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for !s.finished() {
		s.arm(alarm)
		select {
		case <-s.sys.stops:
			s.onStop()
		case sig := <-s.sys.orders:
			s.onOrder(sig)
		case <-s.sys.children:
			s.bury()
		case r := <-s.sys.reports:
			s.onReport(r)
		case what, ok := <-s.cfg.Reload:
			s.onSave(what, ok)
		case <-alarm.C:
			s.onAlarm(time.Now())
		}
		s.roll()
	}
	if s.signals <= 1 {
		s.sys.floor.refuse()
	}
	return s.code
}

// bury takes the deaths that nobody has looked at.
func (s *supervisor) bury() {
	for _, d := range s.sys.reap() {
		s.onDeath(d)
	}
}

// startWatches sets the first moments of what is done at intervals.
func (s *supervisor) startWatches(now time.Time) {
	if s.cfg.StaleAfter > 0 {
		s.stuck.lookAt = now.Add(s.cfg.lookEvery())
	}
	if every := s.cfg.Notify.WatchdogEvery(); every > 0 {
		s.beatAt = now.Add(every)
	}
}

func (s *supervisor) finished() bool {
	if !s.stopping {
		return false
	}
	if !s.giveUpAt.IsZero() && !time.Now().Before(s.giveUpAt) {
		return true
	}
	return len(s.processes()) == 0
}

// processes are all that live, in the order of their roles.
func (s *supervisor) processes() []*process {
	var all []*process
	for _, slot := range s.slots {
		if slot.current != nil {
			all = append(all, slot.current)
		}
		if slot.joining != nil {
			all = append(all, slot.joining)
		}
	}
	return append(all, s.leaving...)
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
	sooner(s.stuck.lookAt)
	sooner(s.beatAt)
	for _, slot := range s.slots {
		sooner(slot.respawnAt)
	}
	for _, p := range s.processes() {
		sooner(p.killAt)
		sooner(p.askAt)
	}
	if next.IsZero() {
		alarm.Stop()
		return
	}
	alarm.Reset(time.Until(next))
}

func (s *supervisor) onAlarm(now time.Time) {
	for _, slot := range s.slots {
		if isDue(slot.respawnAt, now) {
			s.start(slot)
		}
	}
	if isDue(s.killAt, now) {
		s.killAll("drain outlasted its bound")
	}
	for _, p := range s.processes() {
		if isDue(p.killAt, now) {
			s.killLate(p)
		}
	}
	s.recycleDue(now)
	s.lookForStuck(now)
	if isDue(s.beatAt, now) {
		s.beatAt = now.Add(s.cfg.Notify.WatchdogEvery())
		s.notify(s.cfg.Notify.Watchdog())
	}
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// killLate ends one process that was told to end, or did not start in time.
func (s *supervisor) killLate(p *process) {
	p.killAt = time.Time{}
	s.log.Error("worker: killed", "pid", p.pid, "index", p.index, "why", p.why)
	s.signal(p, syscall.SIGKILL)
}

// start runs a new worker in an empty slot. One that cannot even be started
// counts as one that died before it was ready.
func (s *supervisor) start(slot *slot) {
	slot.respawnAt = time.Time{}
	p, err := s.spawn(slot.index, slot.place, s.isFreeOfDuties())
	if err != nil {
		slot.lose(time.Now())
		s.replace(slot, err.Error())
		return
	}
	slot.current = p
}

// spawn starts a process; it may have the duties, if it is at index 0.
func (s *supervisor) spawn(index, place int, duties bool) (*process, error) {
	p := &process{started: time.Now(), job: job{
		index: index, place: place, workers: len(s.slots), duties: duties && index == 0,
	}}
	var err error
	if p.child, err = s.sys.start(p.job); err != nil {
		s.log.Error("worker: cannot start a worker", "index", index, "err", err)
		return nil, err
	}
	return p, nil
}

func (s *supervisor) onReport(r report) {
	p := s.processOf(r.pid)
	if p == nil {
		return
	}
	switch r.word {
	case lineReady:
		s.markReady(p)
	case lineDone:
		p.duties = false
		s.assignDuties()
	case lineReplace:
		s.recycle(p)
	}
}

// markReady announces the service when its last worker becomes ready.
func (s *supervisor) markReady(p *process) {
	if !p.ready.IsZero() {
		return
	}
	p.ready = time.Now()
	slot := s.slotOf(p)
	switch {
	case slot == nil: // it leaves already
		return
	case slot.joining == p:
		s.promote(slot)
	default:
		slot.succeed(p)
	}
	s.announce()
}

// announce says, once, that every worker is ready.
func (s *supervisor) announce() {
	if s.announced || s.stopping {
		return
	}
	for _, slot := range s.slots {
		if !slot.isReady() {
			return
		}
	}
	s.announced = true
	if s.cfg.Ready != nil {
		s.cfg.Ready()
	}
	s.notify(s.cfg.Notify.Ready(s.status()))
}

func (s *supervisor) onStop() {
	s.signals++
	if s.signals > 1 {
		s.killAll("a second stop signal")
		return
	}
	// Who is dead by now is no drain that failed, and takes no connection.
	s.bury()
	s.stop(exitClean)
}

// onDeath takes a process that was waited for. One that is no worker was left
// to us as process 1; waiting for it was all it needed.
func (s *supervisor) onDeath(d death) {
	p := s.processOf(d.pid)
	if p == nil {
		return
	}
	if p.settle() {
		// It died with its report still unread.
		s.markReady(p)
	}
	s.logDeath(p, d)
	if s.stopping && !d.clean() && !isStoppedBoot(p, d) {
		s.fail()
	}
	slot := s.slotOf(p)
	switch {
	case slot == nil:
		s.onLeft(p)
	case slot.joining == p:
		s.onJoinDied(slot, d.reason())
	default:
		s.onLost(slot, d)
	}
	s.assignDuties()
}

// onLost takes the death of a process that served, or was to.
func (s *supervisor) onLost(slot *slot, d death) {
	p := slot.current
	s.sys.floor.lose(slot.place, slot.index)
	if p.outdated {
		slot.current = nil // the turn that comes for it fills the slot
		return
	}
	slot.lose(time.Now())
	switch {
	case s.stopping:
	case slot.joining != nil: // its successor is on the way
	case d.status.ExitStatus() == config.ExitConfig && !slot.everReady && !s.isPatient(slot):
		// What one worker cannot be configured with, no successor can.
		s.stop(config.ExitConfig)
	default:
		s.replace(slot, d.reason())
	}
}

// isPatient reports a slot whose failed start ends nothing.
func (s *supervisor) isPatient(slot *slot) bool { return s.cfg.Reload != nil || slot.added }

// isStoppedBoot reports a worker that our SIGTERM met before it had armed its
// signals: it held nothing, so nothing was cut.
func isStoppedBoot(p *process, d death) bool {
	return p.ready.IsZero() && d.status.Signaled() && d.status.Signal() == syscall.SIGTERM
}

func (s *supervisor) logDeath(p *process, d death) {
	level := slog.LevelError
	if p.told && (d.clean() || isStoppedBoot(p, d)) || p.outdated {
		level = slog.LevelInfo
	}
	ending := "status"
	value := slog.IntValue(d.status.ExitStatus())
	if d.status.Signaled() {
		ending, value = "signal", slog.StringValue(d.status.Signal().String())
	}
	s.log.LogAttrs(context.Background(), level, "worker: ended", slog.Int("pid", d.pid),
		slog.Int("index", p.index), slog.Attr{Key: ending, Value: value},
		slog.Duration("uptime", time.Since(p.started).Round(time.Millisecond)),
		slog.Int64("rss_kib", d.rssKiB))
}

// replace schedules the successor of a worker that died, or ends the service
// when workers do nothing but die.
func (s *supervisor) replace(slot *slot, reason string) {
	switch {
	case slot.bootDeaths > 0 && slot.added && !slot.everReady:
		s.withdraw(slot, reason)
		return
	case slot.bootDeaths > 0 && s.cfg.Reload != nil:
		s.awaitSave(slot, reason)
		return
	}
	boot := 0
	for _, slot := range s.slots {
		boot += slot.bootDeaths
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
	s.notify(s.cfg.Notify.Stopping())
	s.forgetPlans()
	s.passOnWaiting()
	for _, p := range s.processes() {
		s.tell(p)
	}
}

// passOnWaiting gives what was handed to a worker that does not serve, and will
// not from here on, to those that do, while they still take it.
func (s *supervisor) passOnWaiting() {
	for _, slot := range s.slots {
		if !slot.isReady() {
			s.sys.floor.passOn(slot.place)
		}
	}
}

// killAll ends what is left without asking.
func (s *supervisor) killAll(why string) {
	s.stopping, s.killAt = true, time.Time{}
	if s.giveUpAt.IsZero() {
		s.giveUpAt = time.Now().Add(giveUp)
	}
	s.forgetPlans()
	for _, p := range s.processes() {
		p.killAt = time.Time{}
		s.log.Error("worker: killed", "pid", p.pid, "index", p.index, "why", why)
		s.signal(p, syscall.SIGKILL)
		s.fail()
	}
}

// forgetPlans drops what was to be started.
func (s *supervisor) forgetPlans() {
	s.rolling = rolling{}
	for _, slot := range s.slots {
		slot.respawnAt = time.Time{}
	}
}

// fail makes a stop unclean; a reason that came first stays.
func (s *supervisor) fail() {
	if s.code == exitClean {
		s.code = exitFailure
	}
}

func (s *supervisor) signal(p *process, sig syscall.Signal) {
	if err := s.sys.kill(p.pid, sig); err != nil {
		s.log.Error("worker: signal", "pid", p.pid, "signal", sig.String(), "err", err)
	}
}

func (s *supervisor) processOf(pid int) *process {
	for _, p := range s.processes() {
		if p.pid == pid {
			return p
		}
	}
	return nil
}

// slotOf is the slot that p serves at or joins; nil for one that leaves.
func (s *supervisor) slotOf(p *process) *slot {
	for _, slot := range s.slots {
		if slot.current == p || slot.joining == p {
			return slot
		}
	}
	return nil
}
