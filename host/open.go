// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/worker"
)

// The first steps of a service: what all its processes share is made by the
// one that was started by hand and taken over by its workers.

// refuse comes behind the settings, which were read before (see run).
func (s *service) refuse() (err error) {
	s.inherited, err = worker.Adopt()
	return err
}

func (s *service) listen() (err error) {
	if s.inherited != nil {
		s.listener, err = s.inherited.Listen()
		return err
	}
	if s.listener = s.activated; s.listener == nil {
		at := net.JoinHostPort(s.cfg.Host, strconv.Itoa(s.cfg.Port))
		if s.listener, err = net.Listen("tcp", at); err != nil {
			return s.cannotListen(at, err)
		}
	}
	if s.supervises() {
		s.handed.Listener, err = worker.ListenerFD(s.listener)
	}
	return err
}

// cannotListen names the setting at fault, what is wrong with it, and the cure. It is a
// failure and no refusal: who has the port may end.
func (s *service) cannotListen(at string, err error) error {
	env := "M0_HOST"
	problem, cure, ofPort := diagnosis.ListenProblem(at, "--port", err)
	if ofPort || s.find(env) == nil {
		env = "M0_PORT"
	}
	return fmt.Errorf("%s: %s %s: %s", s.subject(env), at, problem, cure)
}

func (s *service) openPage() (err error) {
	switch {
	case s.inherited != nil:
		s.page, err = bus.OpenPage(s.inherited.Page)
		return wrongInheritance(worker.EnvPage, err)
	case s.supervises():
		s.page, s.handed.Page, err = bus.NewPage(s.places())
	}
	return err
}

func (s *service) openAppPage() (err error) {
	count := 0
	if s.app.PageSlots != nil {
		count = s.app.PageSlots(s.workers())
	}
	switch {
	case s.inherited != nil && s.inherited.AppPage != 0:
		s.words, err = bus.OpenWords(s.inherited.AppPage)
		return wrongInheritance(worker.EnvAppPage, err)
	case count <= 0 || s.inherited != nil:
		return nil
	case s.supervises():
		s.words, s.handed.AppPage, err = bus.NewWords(count)
		return err
	}
	s.words = make([]atomic.Uint64, count)
	return nil
}

func (s *service) openChannels() (err error) {
	if s.supervises() {
		s.handed.Bus, err = bus.NewChannels(s.places())
	}
	return err
}

func (s *service) openAcceptShare() (err error) {
	if s.supervises() && s.cfg.AcceptShare {
		s.handed.Accept, err = bus.NewChannels(s.places())
	}
	return err
}

// places is how many workers the page and the channels are made for: in a
// rolling restart there is one more than serve.
func (s *service) places() int { return s.cfg.Workers + worker.Spares }

// spawn runs the workers until the service is over.
func (s *service) spawn() int {
	return worker.Supervise(worker.Config{
		Workers: s.cfg.Workers, Handed: s.handed, Page: s.page,
		Drain: noneIfZero(s.cfg.Drain), Log: s.log, Notify: s.manager,
		Ready: s.announce, Stopping: s.closeListener,
	})
}

// closeListener closes both of the supervisor's descriptors: once the workers
// have closed theirs, a connection is refused and does not wait for nobody.
func (s *service) closeListener() {
	s.leaveSocket()
	_ = s.listener.Close()
	if err := worker.CloseFD(s.handed.Listener); err != nil {
		s.log.Error("host: listener", "err", err)
	}
}

// workers is the number of processes that serve.
func (s *service) workers() int {
	if s.inherited != nil {
		return s.inherited.Workers
	}
	return s.cfg.Workers
}

func (s *service) index() int {
	if s.inherited != nil {
		return s.inherited.Index
	}
	return 0
}

// place is the number of this worker's line on the page. It is not the index: a
// predecessor that drains has the same index and another place.
func (s *service) place() int {
	if s.inherited != nil {
		return s.inherited.Place
	}
	return 0
}

// announce prints the banner, once all workers serve.
func (s *service) announce() {
	fmt.Fprintf(s.stderr, "listening on %s://%s (workers %d)\n",
		s.scheme(), s.listener.Addr(), s.workers())
}

// wrongInheritance makes an inherited page that is none a refusal.
func wrongInheritance(name string, err error) error {
	if err == nil {
		return nil
	}
	return refusal{fmt.Errorf("%s: %w", name, err)}
}
