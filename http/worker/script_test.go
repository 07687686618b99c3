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
	doubled string        // says when two processes had one index
	took    time.Duration // the life of the service

	began    time.Time
	signals  chan os.Signal
	children chan os.Signal
	ready    chan int
}

// a spawn is one start of a worker.
type spawn struct {
	index, pid int
	at         time.Duration // since the start of the service
}

// an actor is one scripted process.
type actor struct {
	stage    *stage
	index    int
	pid      int
	life     int // 0 for the first process at this index
	signals  chan syscall.Signal
	reported bool // ready is on its life line, read or not
	ended    chan struct{}
}

// play runs a service over the script and returns its exit status.
func play(t *testing.T, cfg Config, act func(p *actor), during func(*stage)) (*stage, int) {
	t.Helper()
	st := &stage{
		act: act, alive: map[int]*actor{}, nextPID: 100, began: time.Now(),
		signals: make(chan os.Signal, 8), children: make(chan os.Signal, 1),
		ready: make(chan int),
	}
	cfg.Log = slog.New(slog.NewTextHandler(lockedWriter{st}, nil))
	cfg.Stopping = func() { st.stops++ }
	cfg.Ready = func() { st.readies++; st.readyAt = time.Since(st.began) }
	done := make(chan int)
	go func() {
		done <- newSupervisor(cfg, system{
			start: st.start, kill: st.kill, reap: st.reap, signals: st.signals,
			children: st.children, ready: st.ready, random: func() float64 { return 0 },
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

func (st *stage) start(index int) (*child, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	life := 0
	for _, s := range st.spawns {
		if s.index == index {
			life++
		}
	}
	for _, a := range st.alive {
		if a.index == index {
			st.doubled = fmt.Sprintf("index %d was started while %d lives", index, a.pid)
		}
	}
	st.nextPID++
	a := &actor{
		stage: st, index: index, pid: st.nextPID, life: life,
		signals: make(chan syscall.Signal, 8), ended: make(chan struct{}),
	}
	st.alive[a.pid] = a
	st.spawns = append(st.spawns, spawn{index, a.pid, time.Since(st.began)})
	go st.act(a)
	return &child{pid: a.pid, settle: func() bool { return a.reported }}, nil
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
	select {
	case a.stage.ready <- a.pid:
	case <-a.ended:
	}
}

// serve waits for a signal to stop, drains for so long and leaves cleanly.
func (a *actor) serve(drain time.Duration) {
	a.told()
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
