// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/worker"
	"m0serve.dev/http/ws"
)

// The second half of a service's steps: those of a process that serves.

var (
	// errStopped ends a start that was told to stop; nothing is wrong.
	errStopped = errors.New("stopped before it served")
	errAgain   = errors.New("a second signal ended the drain")
)

// adopt takes this worker's place at the bus. A process that serves alone has a
// bus and a page of its own.
func (s *service) adopt() (err error) {
	if s.inherited == nil {
		s.bus = bus.Local()
		s.page = s.bus.Page()
	} else {
		in := s.inherited
		if err := in.WatchSupervisor(s.orphaned); err != nil {
			return err
		}
		s.duties.mine = in.Duties()
		s.page.Worker(in.Place).Claim(os.Getpid())
		s.bus, err = bus.Open(bus.Config{
			Page: s.page, Read: in.BusRead, Write: in.Bus, Index: in.Place, Log: s.log,
			Lost: s.lost,
		})
		if err != nil {
			return wrongInheritance(worker.EnvBus, err)
		}
	}
	sockets := ws.NewHub(ws.HubConfig{Bus: s.bus, Log: s.log})
	s.context = &Context{
		Config: s.cfg, Index: s.index(), Workers: s.workers(),
		Publisher: newPublisher(s.bus), Page: s.words, Log: s.log, page: s.page,
		server:  new(atomic.Pointer[server.Server]),
		Sockets: sockets,
		Hub: sse.NewHub(sse.HubConfig{
			Bus: s.bus, Journal: noneIfZero(s.cfg.Journal), Log: s.log,
			Reserved: sockets.Receive, // the bus has one receiver
		}),
	}
	return nil
}

// lost tells the application's streams and sockets that frames did not get here.
func (s *service) lost(frames uint64) {
	s.context.Hub.Lost(frames)
	s.context.Sockets.Lost(frames)
}

// noneIfZero turns a setting of 0 into the "none" of a Config whose zero is its
// default.
func noneIfZero[T int | int64 | time.Duration](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

// orphaned ends a worker whose supervisor is gone: nobody would stop it.
func (s *service) orphaned() {
	s.log.Error("host: the supervisor is gone, leaving", "index", s.index())
	os.Exit(exitFailure)
}

// bindAcceptShare counts this worker's connections, and shares them with its
// siblings when channels for that were made.
func (s *service) bindAcceptShare() (err error) {
	var channels []int
	if s.inherited != nil {
		channels = s.inherited.Accept
	}
	s.share, err = worker.NewShare(s.page, s.place(), channels)
	return err
}

func (s *service) armSignals() error {
	s.stops = worker.ArmStops()
	if s.inherited == nil && s.certificate != nil && worker.HearsHangup(s.log) {
		s.armHangup()
	}
	return nil
}

// armHangup has the certificate read again on SIGHUP, where there is no supervisor
// that replaces workers. It ends with the process, or in close.
func (s *service) armHangup() {
	s.hangups = make(chan os.Signal, 1)
	signal.Notify(s.hangups, syscall.SIGHUP)
	go func() {
		for range s.hangups {
			s.certificate.again()
		}
	}()
}

func (s *service) buildHandler() (err error) {
	s.handler, err = build(s, "handler", s.app.Handler)
	return err
}

// gcPercent is the garbage collector's target unless GOGC says otherwise: with
// more processors than cores, which the engine needs, the default collects so
// often that the loop feels it.
const gcPercent = 400

// buildServer builds the server around the handler. What the application says
// about it comes before what the host has to.
func (s *service) buildServer() (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	cfg := server.Config{
		Log: s.log, Loops: s.cfg.Threads, BlockingMax: s.cfg.BlockingThreads,
		Limits:       wire.Limits{HeadBytes: s.cfg.MaxHead, LineBytes: s.cfg.MaxHead / 2},
		MaxBody:      noneIfZero(s.cfg.MaxBody),
		MaxConns:     s.cfg.MaxConns,
		DrainTimeout: noneIfZero(s.cfg.Drain), // drain has its own deadline
	}
	if s.certificate != nil {
		cfg.TLS = s.certificate.config()
	}
	if s.app.Config != nil {
		s.app.Config(s.context, &cfg)
	}
	cfg.HTTP = s.handler
	cfg.Accepted, cfg.Closed = s.share.Accepted, s.share.Closed
	if s.index() != 0 {
		cfg.Tick = nil
	}
	if cfg.Tick != nil {
		cfg.Tick = s.duties.tick(cfg.Tick)
	}
	if s.server, err = server.New(cfg); err != nil {
		return err
	}
	s.context.server.Store(s.server)
	s.server.OnDrain(func() {
		s.context.Sockets.Drain() // net/http does not know them
		s.context.Hub.Drain(retryBase, retryJitter)
	})
	return nil
}

// What a stream that is cut by a drain tells its client to wait before it comes
// back: long enough for a restart, and not all at once.
const (
	retryBase   = 500 * time.Millisecond
	retryJitter = 2 * time.Second
)

// startHub delivers what the bus brings, from here on. The application restored
// its journals while its handler was built; what a predecessor had in its own,
// the siblings have too (contract row H8a).
func (s *service) startHub() error {
	s.context.Hub.Start()
	s.context.Hub.SyncJournals(syncTimeout)
	return nil
}

// syncTimeout bounds the wait for a sibling that does not answer; streams whose
// history is missing then get a snapshot.
const syncTimeout = time.Second

func (s *service) startProducer() error {
	if s.app.Producer == nil || s.index() != 0 {
		return nil
	}
	producer, err := build(s, "producer", s.app.Producer)
	if err != nil {
		return err
	}
	s.producer = startRunner(s.app.name(), producer, s.context.Publisher, s.log, s.duties.mine)
	return nil
}

// build has the application build a part of itself. It is not waited for when
// the service is told to stop meanwhile. An error or a panic is a refusal: the
// next try would end the same.
func build[T any](s *service, what string, of func(*Context) (T, error)) (T, error) {
	type result struct {
		part T
		err  error
	}
	built := make(chan result, 1)
	go func() {
		r := result{err: errors.New("it ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				r.err = fmt.Errorf("panic: %v", v)
			}
			built <- r
		}()
		r.part, r.err = of(s.context)
	}()
	select {
	case r := <-built:
		if r.err == nil && any(r.part) == nil {
			r.err = errors.New("got nil")
		}
		if r.err != nil {
			return r.part, refusal{fmt.Errorf("the %s cannot be built: %w", what, r.err)}
		}
		return r.part, nil
	case <-s.stops.C:
		var none T
		return none, errStopped
	}
}

// serve serves until told to stop, and then drains.
func (s *service) serve() error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	if err := s.ready(); err != nil {
		return err
	}
	defer s.tellReady()() // signs of life go on while it drains
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-s.stops.C:
	}
	s.tell(s.manager.Stopping())
	return s.drain()
}

// ready tells the world that this process serves.
func (s *service) ready() error {
	s.share.Start(s.server.Adopt)
	s.page.Worker(s.place()).SetState(bus.Ready) // siblings hand over from here on
	if s.inherited != nil {
		return s.inherited.Ready()
	}
	s.announce()
	return nil
}

// drain ends everything at once: the streams, the requests and the producer
// have one bound in common, and it begins now.
func (s *service) drain() error {
	s.deadline = time.After(s.cfg.Drain)
	s.leaveSocket()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	if s.producer != nil {
		s.producer.stop()
	}
	go s.giveUpDuties() // ends with the process at the latest
	drained := make(chan error, 1)
	go func() {
		s.share.Leave()
		drained <- s.server.Shutdown(ctx)
	}()
	select {
	case s.unclean = <-drained:
		// What is left of the drain still belongs to the producer.
		return nil
	case <-s.again():
		return errAgain
	}
}

// again is the signal that ends a drain at once. A worker leaves that to its
// supervisor: a terminal and a service manager signal both, and twice is not
// twice then.
func (s *service) again() <-chan os.Signal {
	if s.inherited != nil {
		return nil
	}
	return s.stops.C
}

// stopProducer waits for the producer's step until the drain is over, and then
// leaves without it.
func (s *service) stopProducer() error {
	if s.producer == nil {
		return nil
	}
	select {
	case <-s.producer.done:
		return nil
	case <-s.deadline:
		fmt.Fprintf(s.stderr, "host: abandoned a producer step still running %g s after the drain;"+
			" exiting without it\n", s.cfg.Drain.Seconds())
		return nil
	case <-s.again():
		return errAgain
	}
}

// leave says whether the end was clean.
func (s *service) leave() error {
	if s.unclean != nil {
		return fmt.Errorf("the drain was not over after %g s: %w", s.cfg.Drain.Seconds(), s.unclean)
	}
	return nil
}

// close gives back what a process that goes on would miss.
func (s *service) close() {
	s.stops.Retire()
	if s.hangups != nil {
		signal.Stop(s.hangups)
		close(s.hangups)
	}
	if s.server != nil {
		_ = s.server.Close()
	}
	s.closeDoor()
	if s.bus != nil {
		s.bus.Close()
	}
	_ = s.listener.Close()
	s.closeSocket()
}
