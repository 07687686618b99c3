// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/worker"
	"m0serve.dev/wsgi/internal/accesslog"
	"m0serve.dev/wsgi/internal/metrics"
	"m0serve.dev/wsgi/internal/options"
	engine "m0serve.dev/wsgi/internal/python"
	"m0serve.dev/wsgi/internal/realtime"
	"m0serve.dev/wsgi/python"
)

// canEmbed says whether this build can load an interpreter.
const canEmbed = true

// readAheadLong is the longest body that is awaited before the application is
// called, within the engine's budget. A longer one is streamed into wsgi.input.
const readAheadLong = 2 << 20

// readAheadOf is readAheadLong for WSGI. An ASGI application is called at once and
// asks for its body.
func readAheadOf(kind string) int {
	if kind == "asgi" {
		return 0
	}
	return readAheadLong
}

// leaveGrace is what a worker gets beyond the bound of its drain before it ends
// itself, whatever Python does.
const leaveGrace = 500 * time.Millisecond

// Host is the engine's side of a worker. It is made where the interpreter finds
// nothing started yet; its first call, Options, adopts what the supervisor left.
func Host() engine.Host { return &host{log: slog.Default()} }

// a host is one worker. Its fields are set by the main thread before others sit.
type host struct {
	o         options.Options
	log       *slog.Logger
	in        *worker.Inherited
	page      *bus.Page
	bus       *bus.Bus
	hub       *sse.Hub          // of every stream and subscription of this worker
	live      *realtime.Service // nil: no answer is held
	share     *worker.Share
	stops     *worker.Stops
	srv       *server.Server
	front     *front
	asgi      *asgi // nil: a WSGI application
	stacks    *stacks
	access    *accesslog.Log     // nil: none
	durations *metrics.Durations // nil: nobody asks
	recycler  *worker.Recycler   // nil: it is never replaced for its age
	ln        net.Listener
	drained   chan struct{} // closed when the drain is over
	unclean   atomic.Bool   // it was cut short

	publishers net.Listener  // the publish socket; nil: none
	door       *publish.Door // through which they and the application publish
	httpDoor   httpDoor      // --publish-http
	postgres   postgres      // --pg-listen
	beginHub   func()        // delivers what the bus brings, once
	channels   *channels
}

// Options adopts this process's inheritance and returns what Python needs.
func (h *host) Options() (string, error) {
	text := os.Getenv(envOptions)
	engine.Forget(envOptions) // there are secrets in it
	_ = os.Unsetenv(envOptions)
	if err := json.Unmarshal([]byte(text), &h.o); err != nil {
		return "", fmt.Errorf("%s: %w", envOptions, err)
	}
	h.log = newLog(h.o, os.Stderr)
	in, err := worker.Adopt()
	if err == nil && in == nil {
		err = errors.New("a worker is started by m0serve alone")
	}
	if err != nil {
		return "", err
	}
	h.in = in
	if h.ln, err = in.Listen(); err != nil {
		return "", err
	}
	if h.publishers, err = in.ListenPublish(); err != nil {
		return "", err
	}
	if h.httpDoor.ln, err = in.ListenPublishHTTP(); err != nil {
		return "", err
	}
	engine.CloseInChild(h.inherited())
	if err := h.openBus(); err != nil {
		return "", err
	}
	if b := &h.o.Binds[0]; b.Network != "unix" { // the kernel may have chosen the port
		b.Address = h.ln.Addr().String()
	}
	h.stacks = newStacks()
	forPython := h.o
	forPython.PGListen = ""
	told, err := json.Marshal(struct {
		options.Options
		Stacks int // see dump_on_signal
	}{forPython, h.stacks.to})
	if err != nil {
		return "", err
	}
	return string(told), in.WatchSupervisor(func() {
		h.log.Error("m0serve: the supervisor is gone, leaving")
		os.Exit(exitFailure)
	})
}

// inherited lists the descriptors that a child made by os.fork must not keep: the
// listeners, so that the port is free when the server ends, and the bus.
func (h *host) inherited() []int {
	fds := append([]int{h.in.Page, h.in.BusRead}, h.in.Bus...)
	fds = append(fds, h.in.Accept...)
	fds = append(fds, descriptor(h.ln)...)
	fds = append(fds, descriptor(h.httpDoor.ln)...)
	return append(fds, descriptor(h.publishers)...)
}

// Source is a module of the Python side.
func (h *host) Source(module string) (string, error) { return python.Source(module) }

// Log writes a line of the Python side.
func (h *host) Log(level, text string) {
	h.log.Log(context.Background(), levelOf(level), "m0serve: "+text)
}

// Start builds the server and begins to serve. It runs once the application is
// imported, so that its signal handlers, if it set any, are ours again.
func (h *host) Start(kind string) error {
	for _, step := range []func() error{
		func() error { return h.openServer(kind) }, func() error { return h.openASGI(kind) },
		func() error { return h.openMetrics(kind) }, h.startHub, h.serveDoor,
		func() error { return h.postgres.open(&h.o, h.bus, h.in, h.log) }, h.serve,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) openASGI(kind string) (err error) {
	if kind != "asgi" {
		return nil
	}
	h.asgi, err = newASGI(h.srv, h.log, h.front, h.o.RootPath,
		newPulse(h.o.Timeout, h.log, h.stacks, h.replace))
	if err == nil {
		engine.SetASGI(h.asgi)
		heard := h.asgi.heard
		h.channels.rouse.Store(&heard)
	}
	return err
}

// openBus takes this worker's place at the bus. An application that is started later
// may publish and subscribe while it starts.
func (h *host) openBus() (err error) {
	if h.page, err = bus.OpenPage(h.in.Page); err != nil {
		return err
	}
	h.page.Worker(h.in.Place).Claim(os.Getpid())
	h.bus, err = bus.Open(bus.Config{Page: h.page, Read: h.in.BusRead, Write: h.in.Bus,
		Index: h.in.Place, Log: h.log, Lost: func(frames uint64) { h.hub.Lost(frames) }})
	if err != nil {
		return err
	}
	h.hub = sse.NewHub(sse.HubConfig{Bus: h.bus, Journal: noneIfZero(h.o.Journal), Log: h.log,
		Reserved: h.receiveReserved})
	h.openRealtime()
	h.beginHub = sync.OnceFunc(h.hub.Start)
	h.door = publish.NewDoor(publish.Config{Bus: h.bus, Log: h.log})
	h.channels = newChannels(h.hub, h.door, h.beginHub)
	engine.SetChannels(h.channels)
	h.share, err = worker.NewShare(h.page, h.in.Place, h.in.Accept)
	return err
}

func (h *host) openServer(kind string) (err error) {
	if want := max(runtime.NumCPU()+2, h.o.Threads+3); runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
	if h.front, err = newFront(&h.o, kind); err != nil {
		return err
	}
	if kind != "asgi" {
		h.front.app = &wsgiHandler{root: h.o.RootPath,
			clock: newClock(h.o.Timeout, h.log, h.stacks, h.replace), live: h.live}
		if h.o.Realtime {
			h.front.app.sockets, h.front.app.signer = h.newSockets(), h.newSigner()
		}
	}
	if err := h.openAccessLog(); err != nil {
		return err
	}
	h.srv, err = server.New(server.Config{
		Handler: h.front, Seated: h.front.isApp, Answered: h.answered(),
		Log: h.log, Loops: h.o.Loops, Limits: h.limits(),
		BlockingQueue: h.o.LimitConcurrency, SeatedMax: h.o.LimitConcurrency,
		ReadAheadLong: readAheadOf(kind), RequestsPerConn: h.requestsPerConn(),
		MaxBody: noneIfZero(h.o.LimitRequestBody), MaxConns: h.o.MaxConns,
		HeadTimeout: h.o.HeaderTimeout, IdleTimeout: h.o.KeepAlive,
		DrainTimeout: h.o.GracefulTimeout,
		Takeover:     4 * time.Millisecond,
		Accepted:     h.share.Accepted, Closed: h.share.Closed,
	})
	if err == nil {
		h.srv.OnDrain(h.dismiss)
	}
	return err
}

// What a stream that is cut by a drain tells its client to wait before it comes
// back: long enough for a restart, and not all at once.
const (
	retryBase   = 500 * time.Millisecond
	retryJitter = 2 * time.Second
)

// syncTimeout bounds the wait for a sibling that does not answer.
const syncTimeout = time.Second

// startHub delivers what the bus brings, from here on. What a predecessor had in
// its journals, the siblings have too (contract row H8a).
func (h *host) startHub() error {
	h.beginHub()
	h.hub.SyncJournals(syncTimeout)
	return nil
}

// requestsPerConn is one where no connection is to be kept; 0: any.
func (h *host) requestsPerConn() int {
	if h.o.KeepAlive == 0 {
		return 1
	}
	return 0
}

func (h *host) limits() wire.Limits {
	return wire.Limits{LineBytes: h.o.LimitRequestLine, Fields: h.o.LimitRequestFields,
		HeadBytes: h.o.LimitHeadBytes}
}

func (h *host) openAccessLog() (err error) {
	if h.o.AccessLog == "" {
		return nil
	}
	h.access, err = accesslog.Open(accesslog.Config{Path: h.o.AccessLog,
		Format: h.o.AccessLogFormat, Log: h.log})
	if err != nil {
		return fmt.Errorf("--access-log: %w: let m0serve write it, or name another file", err)
	}
	return nil
}

// answered is what is to be done behind every answer; nil: nothing.
func (h *host) answered() func(server.Answer) {
	h.recycler = worker.NewRecycler(worker.RecycleConfig{
		Requests: h.o.MaxRequests, Jitter: h.o.MaxRequestsJitter, Memory: h.o.MaxRSS,
		Ask: h.in.Replace, Log: h.log,
	})
	if h.o.Metrics != "" {
		h.durations = &metrics.Durations{}
	}
	if h.access == nil && h.durations == nil && h.o.MaxRequests == 0 {
		return nil
	}
	return func(a server.Answer) {
		if h.durations != nil {
			h.durations.Answered(a)
		}
		if h.access != nil {
			h.access.Answered(a)
		}
		h.recycler.Count()
	}
}

// openMetrics answers the supervisor, which answers on --metrics.
func (h *host) openMetrics(kind string) error {
	if h.durations == nil {
		return nil
	}
	ln, err := net.Listen("unix", metricsSocket(h.in.Supervisor, h.in.Place))
	if err != nil {
		return err
	}
	go answerMetrics(ln, func() metrics.Worker { return h.figures(kind) })
	return nil
}

func (h *host) figures(kind string) metrics.Worker {
	w := metrics.Worker{Index: h.in.Index, Version: Version, Interface: kind,
		Server: h.srv.Stats(), Durations: h.durations.Snapshot()}
	fields, hub, door := h.front.filter.Stats(), h.hub.Stats(), h.door.Stats()
	w.Fields, w.Hub, w.Publish = &fields, &hub, &door
	if h.live != nil {
		held := h.live.Stats()
		w.Held = &held
	}
	w.Subscriptions, w.PublishHTTP = h.channels.count(), h.httpDoor.stats()
	w.Postgres, w.Sockets = h.postgres.stats(h.in), h.front.socketStats()
	if h.access != nil {
		stats := h.access.Stats()
		w.AccessLog = &stats
	}
	w.Process, _ = metrics.ReadProcess(os.Getpid()) // nil where it cannot be read
	return w
}

// reopenWhenTold opens the access log's file again on SIGUSR1, for logrotate. The
// signal is taken without a log too: it would end a process that has no handler.
func (h *host) reopenWhenTold(told <-chan os.Signal) {
	for range told {
		if h.access == nil {
			continue
		}
		if err := h.access.Reopen(); err != nil {
			h.log.Error("m0serve: access log", "err", err)
		}
	}
}

// replace asks the supervisor for another worker in this one's place.
func (h *host) replace() {
	if err := h.in.Replace(); err != nil {
		h.log.Error("m0serve: replace this worker", "err", err)
	}
}

// noneIfZero turns a setting of 0 into the "none" of a Config whose zero is its
// default.
func noneIfZero[T int | int64](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

func (h *host) serve() error {
	h.drained = make(chan struct{})
	h.stops = worker.ArmStops()
	go func() {
		if err := h.srv.Serve(h.ln); !errors.Is(err, server.ErrClosed) {
			h.log.Error("m0serve: serve", "err", err)
			os.Exit(exitFailure)
		}
	}()
	go h.drainWhenTold()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	go h.reopenWhenTold(told)
	h.page.Worker(h.in.Place).SetState(bus.Ready)
	h.share.Start(h.srv.Adopt)
	letGoOfStart()
	return h.in.Ready()
}

// letGoOfStart gives back the pages of the program's file that were needed to start.
func letGoOfStart() { engine.LetGoOfStart() }

// drainWhenTold ends the server in order. Sit returns then, and Python leaves;
// where a view holds it up beyond the bound, the process ends from here.
func (h *host) drainWhenTold() {
	<-h.stops.C
	ctx, cancel := context.WithTimeout(context.Background(), h.o.GracefulTimeout)
	defer cancel()
	if h.asgi != nil {
		h.asgi.post(news{kind: engine.EventStop})
	}
	h.share.Leave()
	h.postgres.close(h.in, h.log)
	err := h.srv.Shutdown(ctx)
	if h.access != nil {
		_ = h.access.Close(leaveGrace) // what it could not write is counted and lost
	}
	if err != nil {
		h.unclean.Store(true)
		h.log.Error("m0serve: the drain was cut short", "after", h.o.GracefulTimeout, "err", err)
	}
	close(h.drained)
	if err != nil {
		time.Sleep(leaveGrace)
		os.Exit(exitFailure)
	}
}

// Status is the exit status of a worker that has done what it could. It waits for
// the end of the drain, which Sit may be ahead of.
func (h *host) Status() int {
	if h.drained == nil {
		return exitClean
	}
	<-h.drained
	h.closeDoor()
	if h.unclean.Load() {
		return exitFailure
	}
	return exitClean
}

// Sit serves on the calling thread.
func (h *host) Sit(seat *engine.Seat) error { return h.srv.Sit(seat) }

// embedded is the life of a worker whose interpreter is in this process. It
// takes the main thread, which becomes Python's.
func embedded() int {
	runtime.LockOSThread()
	library, program := os.Getenv(envLibrary), os.Getenv(envProgram)
	_ = os.Unsetenv(envLibrary)
	_ = os.Unsetenv(envProgram)
	if err := engine.Embed(library, program, python.BootEmbedded); err != nil {
		fmt.Fprintf(os.Stderr, "m0serve: %v\n", err)
		return config.ExitConfig
	}
	return exitClean
}
