// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"m0serve.dev/http/internal/sys"
)

// MaxWorkers is how many processes this platform supports.
const MaxWorkers = 64

// Supervise runs the workers of cfg until the service is over and returns the
// exit status for the process, which is to end then. It takes over SIGTERM, SIGINT,
// SIGHUP, SIGTTIN, SIGTTOU, SIGUSR1 and SIGCHLD and waits for every child, so nothing
// else in the process may start any. SIGHUP replaces the workers one by one, SIGTTIN adds one and
// SIGTTOU takes one away; SIGUSR1 is passed on to the workers that are ready.
func Supervise(cfg Config) int {
	p := newSpawner(cfg)
	defer p.close()
	stops := ArmStops()
	defer stops.Retire()
	orders := make(chan os.Signal, ordersMax)
	signal.Notify(orders, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGUSR1)
	if HearsHangup(cfg.log()) {
		signal.Notify(orders, syscall.SIGHUP)
	}
	defer signal.Stop(orders)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	return newSupervisor(cfg, system{
		start: p.start, kill: syscall.Kill, reap: reap,
		stops: stops.C, orders: orders, children: children, reports: p.reports,
		random: rand.Float64,
		floor:  &pageFloor{handed: cfg.Handed, page: cfg.Page, log: cfg.log()},
	}).run()
}

// ordersMax signals wait for the supervisor at most; it is busy for
// milliseconds.
const ordersMax = 64

func reap() []death {
	var deaths []death
	for _, d := range sys.WorkerReap() {
		deaths = append(deaths, death{pid: d.PID, status: d.Status, rssKiB: d.RSSKiB})
	}
	return deaths
}

// a spawner starts processes from one thread that lives as long as it does:
// the kernel ties a worker's life to the thread that started it.
type spawner struct {
	cfg      Config
	reports  chan report
	done     chan struct{}
	requests chan spawnRequest
}

type spawnRequest struct {
	path string
	args []string
	manifest
	answer chan<- spawned
}

type spawned struct {
	pid int
	err error
}

func newSpawner(cfg Config) *spawner {
	p := &spawner{
		cfg: cfg, reports: make(chan report), done: make(chan struct{}),
		requests: make(chan spawnRequest),
	}
	go p.serveOffLoop()
	return p
}

func (p *spawner) close() { close(p.done) }

// serveOffLoop never unlocks its thread. It ends with the spawner, when no
// worker is left that the end of the thread could hurt.
func (p *spawner) serveOffLoop() {
	runtime.LockOSThread()
	for {
		select {
		case r := <-p.requests:
			fds := append([]int{0, 1, 2}, r.fds...)
			pid, err := sys.WorkerSpawn(r.path, r.args, r.env, fds)
			r.answer <- spawned{pid, err}
		case <-p.done:
			return
		}
	}
}

// start executes a worker and listens to its life line.
func (p *spawner) start(j job) (*child, error) {
	command, err := p.cfg.Command.orSelf()
	if err != nil {
		return nil, fmt.Errorf("worker: own executable: %w", err)
	}
	ours, theirs, err := sys.WorkerLifeLine()
	if err != nil {
		return nil, fmt.Errorf("worker: life line: %w", err)
	}
	defer syscall.Close(theirs)
	answer := make(chan spawned)
	p.requests <- spawnRequest{
		path: command.Path, args: command.Args, answer: answer,
		manifest: p.cfg.Handed.manifestFor(j, os.Getpid(), theirs, command.Env),
	}
	got := <-answer
	if got.err != nil {
		_ = syscall.Close(ours)
		return nil, fmt.Errorf("worker: exec %s: %w", command.Path, got.err)
	}
	line, err := watchLine(ours, got.pid, p.reports)
	if err != nil {
		// The line closed with it, so the worker leaves by itself.
		return nil, fmt.Errorf("worker: life line: %w", err)
	}
	return &child{pid: got.pid, settle: line.settle, say: line.say}, nil
}

// orSelf fills in this program for what the command leaves open.
func (c Command) orSelf() (Command, error) {
	if c.Path == "" {
		path, err := sys.WorkerExecutable()
		if err != nil {
			return c, err
		}
		c.Path = path
	}
	if c.Args == nil {
		c.Args = os.Args
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	return c, nil
}
