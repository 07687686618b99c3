// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/bus"
)

// a stage is an operating system whose processes follow a script. It runs
// inside a synctest bubble, so minutes of back-off take no time.
type stage struct {
	act func(p *actor) // what every process does; it ends by exit or kill

	mu      sync.Mutex
	alive   map[int]*actor
	dead    []death
	spawns  []spawn
	nextPID int
	log     bytes.Buffer
	readies int           // calls of Config.Ready
	stops   int           // calls of Config.Stopping
	readyAt time.Duration // of the last one, since the start
	doubled string        // says when two processes had one place, or the duties
	places  map[int]bool  // expected or had
	stall   time.Duration // the supervisor stands still for so long, once
	took    time.Duration // the life of the service

	began    time.Time
	signals  chan os.Signal
	orders   chan os.Signal
	children chan os.Signal
	reports  chan report
}

// a spawn is one start of a worker.
type spawn struct {
	job
	pid int
	at  time.Duration // since the start of the service
}

// an actor is one scripted process.
type actor struct {
	stage      *stage
	job        // its duties are the stage's to change, under its lock
	pid        int
	life       int // 0 for the first process at this index
	signals    chan syscall.Signal
	fellSilent time.Time // zero: its heart beats
	reported   bool      // ready is on its life line, read or not
	ended      chan struct{}
}

// play runs a service over the script and returns its exit status.
func play(t *testing.T, cfg Config, act func(p *actor), during func(*stage)) (*stage, int) {
	t.Helper()
	st := &stage{
		act: act, alive: map[int]*actor{}, nextPID: 100, began: time.Now(),
		signals: make(chan os.Signal, 8), children: make(chan os.Signal, 1),
		orders: make(chan os.Signal, 8), reports: make(chan report), places: map[int]bool{},
	}
	cfg.Log = slog.New(slog.NewTextHandler(lockedWriter{st}, nil))
	cfg.Stopping = func() { st.stops++ }
	cfg.Ready = func() { st.readies++; st.readyAt = time.Since(st.began) }
	done := make(chan int)
	go func() {
		done <- newSupervisor(cfg, system{
			start: st.start, kill: st.kill, reap: st.reap, stops: st.signals,
			orders: st.orders, children: st.children, reports: st.reports,
			random: func() float64 { return 0 }, floor: st,
		}).run()
	}()
	told := make(chan struct{})
	go func() {
		defer close(told)
		if during != nil {
			during(st)
		}
	}()
	select {
	case code := <-done:
		st.took = time.Since(st.began)
		<-told
		synctest.Wait()
		for pid, a := range st.alive {
			t.Errorf("worker %d (index %d) outlives its supervisor", pid, a.index)
			st.kill(pid, syscall.SIGKILL)
		}
		return st, code
	case <-time.After(24 * time.Hour):
		t.Fatalf("the supervisor still runs after a day:\n%s", st.log.String())
		return st, -1
	}
}

type lockedWriter struct{ st *stage }

func (w lockedWriter) Write(b []byte) (int, error) {
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	return w.st.log.Write(b)
}

func (st *stage) start(j job) (*child, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	life := 0
	for _, s := range st.spawns {
		if s.index == j.index {
			life++
		}
	}
	if !st.places[j.place] {
		st.doubled = fmt.Sprintf("place %d was not prepared", j.place)
	}
	for _, a := range st.alive {
		if a.place == j.place {
			st.doubled = fmt.Sprintf("place %d was taken by %d", j.place, a.pid)
		}
	}
	st.nextPID++
	a := &actor{
		stage: st, job: j, pid: st.nextPID, life: life,
		signals: make(chan syscall.Signal, 8), ended: make(chan struct{}),
	}
	a.duties = false
	if j.duties {
		st.entrustLocked(a)
	}
	st.alive[a.pid] = a
	st.spawns = append(st.spawns, spawn{j, a.pid, time.Since(st.began)})
	go st.act(a)
	say := func(word byte) error {
		st.mu.Lock()
		defer st.mu.Unlock()
		if word == lineYours {
			st.entrustLocked(a)
		}
		return nil
	}
	return &child{pid: a.pid, say: say, settle: func() bool { return a.reported }}, nil
}

// entrustLocked gives a the duties of worker 0.
func (st *stage) entrustLocked(a *actor) {
	for _, other := range st.alive {
		if other.duties && other != a {
			st.doubled = fmt.Sprintf("%d got the duties while %d has them", a.pid, other.pid)
		}
	}
	if a.index != 0 {
		st.doubled = fmt.Sprintf("%d at index %d got the duties", a.pid, a.index)
	}
	a.duties = true
}

func (st *stage) expect(place, index int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.places[place] {
		st.doubled = fmt.Sprintf("place %d was prepared while it was had", place)
	}
	st.places[place] = true
}

func (st *stage) lose(place, index int) {}
func (st *stage) passOn(place int)      {}
func (st *stage) refuse()               {}

// silence is that of a worker whose heart has stopped, or 0.
func (st *stage) silence(place int) time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, a := range st.alive {
		if a.place == place && !a.fellSilent.IsZero() {
			return time.Since(a.fellSilent)
		}
	}
	return 0
}

func (st *stage) vacate(place int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.places, place)
}

func (st *stage) kill(pid int, sig syscall.Signal) error {
	st.mu.Lock()
	a := st.alive[pid]
	st.mu.Unlock()
	if a == nil {
		return syscall.ESRCH
	}
	if sig == syscall.SIGKILL {
		a.end(syscall.WaitStatus(syscall.SIGKILL))
		return nil
	}
	a.signals <- sig
	return nil
}

func (st *stage) reap() []death {
	st.mu.Lock()
	defer st.mu.Unlock()
	if stall := st.stall; stall > 0 {
		st.stall = 0
		st.mu.Unlock()
		time.Sleep(stall)
		st.mu.Lock()
	}
	dead := st.dead
	st.dead = nil
	return dead
}

func (st *stage) text() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.log.String()
}

// end makes the process a dead one, once.
func (a *actor) end(status syscall.WaitStatus) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	if a.stage.alive[a.pid] == nil {
		return
	}
	delete(a.stage.alive, a.pid)
	close(a.ended)
	a.stage.dead = append(a.stage.dead, death{pid: a.pid, status: status})
	select {
	case a.stage.children <- syscall.SIGCHLD:
	default:
	}
}

func (a *actor) exit(status int)          { a.end(syscall.WaitStatus(status << 8)) }
func (a *actor) crash(sig syscall.Signal) { a.end(syscall.WaitStatus(sig)) }
func (a *actor) is(index, life int) bool  { return a.index == index && a.life == life }

// sleep passes time, and ends the script of a process that was killed meanwhile.
func (a *actor) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.ended:
		runtime.Goexit()
	}
}

// told waits for a signal to stop.
func (a *actor) told() {
	select {
	case <-a.signals:
	case <-a.ended:
		runtime.Goexit()
	}
}

// report says ready on the life line.
func (a *actor) report() {
	a.reported = true
	a.say(lineReady)
}

func (a *actor) say(word byte) {
	select {
	case a.stage.reports <- report{a.pid, word}:
	case <-a.ended:
	}
}

func (a *actor) hasDuties() bool {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	return a.duties
}

// twoPlaces are the channels of a service without a spare, on paper.
func twoPlaces() *bus.Channels { return &bus.Channels{Read: []int{-1, -1}, Write: []int{-1, -1}} }

// fallSilent stops the heart.
func (a *actor) fallSilent() {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.fellSilent = time.Now()
}

func (a *actor) beatAgain() {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.fellSilent = time.Time{}
}

// release gives up worker 0's duties, if they are its own.
func (a *actor) release() {
	a.stage.mu.Lock()
	had := a.duties
	a.duties = false
	a.stage.mu.Unlock()
	if had {
		a.say(lineDone)
	}
}

// serve waits for a signal to stop, gives up its duties, drains for so long and
// leaves cleanly.
func (a *actor) serve(drain time.Duration) {
	a.told()
	a.release()
	a.sleep(drain)
	a.exit(0)
}

// healthy is a worker without a story.
func healthy(a *actor) {
	a.sleep(100 * time.Millisecond)
	a.report()
	a.serve(10 * time.Millisecond)
}

// stopAfter sends SIGTERM to the supervisor alone.
func stopAfter(d time.Duration) func(*stage) {
	return func(st *stage) {
		time.Sleep(d)
		st.signals <- syscall.SIGTERM
	}
}

func (st *stage) lives(index int) int {
	n := 0
	for _, s := range st.spawns {
		if s.index == index {
			n++
		}
	}
	return n
}

func wantLog(t *testing.T, st *stage, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(st.text(), text) {
			t.Errorf("log does not say %q:\n%s", text, st.text())
		}
	}
}

func (s spawn) String() string { return fmt.Sprintf("%d at %v", s.index, s.at) }
