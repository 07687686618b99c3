// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"m0serve.dev/http/publish"
	"m0serve.dev/http/worker"
)

// The publish socket is made once in a service, by the process that was started
// by hand, and every worker serves it.

// openSocket makes the socket and names it to every process that this one starts.
// One that was configured has to be there; without one nobody asked for a service
// goes on.
func (s *service) openSocket() (err error) {
	if s.inherited != nil || s.cfg.PublishSocket == publish.Off {
		return nil
	}
	s.socket, err = publish.Listen(publish.ListenConfig{
		Path: s.cfg.PublishSocket, Name: s.listener.Addr().String(),
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported) && s.cfg.PublishSocket == "":
		return nil
	case err != nil && s.cfg.PublishSocket != "":
		return fmt.Errorf("%s: %w: %s", s.subject(publish.Env), err, publish.ListenCure)
	case err != nil:
		s.log.Warn("host: no publish socket, so no other process can publish", "err", err)
		return nil
	}
	if err := os.Setenv(publish.Env, s.socket.Path()); err != nil {
		return err
	}
	if s.supervises() {
		s.handed.Publish, err = worker.ListenerFD(s.socket.Listener())
	}
	return err
}

// openDoor serves the socket in this process.
func (s *service) openDoor() error {
	var ln net.Listener
	switch {
	case s.socket != nil:
		ln = s.socket.Listener()
	case s.inherited != nil:
		var err error
		if ln, err = s.inherited.ListenPublish(); err != nil {
			return wrongInheritance(worker.EnvPublish, err)
		}
	}
	if ln == nil {
		return nil
	}
	s.door = publish.NewDoor(publish.Config{Bus: s.bus, Log: s.log})
	go func() { _ = s.door.Serve(ln) }() // it returns in closeDoor, and says nothing else
	return nil
}

// doorTimeout bounds what a publisher may still be told when all else is over.
const doorTimeout = time.Second

// closeDoor comes behind the drain: until then requests publish too.
func (s *service) closeDoor() {
	if s.door == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), doorTimeout)
	defer cancel()
	if err := s.door.Shutdown(ctx); err != nil {
		s.log.Warn("host: publish socket", "err", err)
	}
}

// leaveSocket gives the socket's path to a successor that may start by now.
func (s *service) leaveSocket() {
	if s.socket == nil {
		return
	}
	if err := s.socket.Leave(); err != nil {
		s.log.Warn("host: publish socket", "err", err)
	}
}

func (s *service) closeSocket() {
	if s.socket == nil {
		return
	}
	if s.cfg.PublishSocket == "" {
		_ = os.Unsetenv(publish.Env) // it fails for malformed names only
	}
	if err := s.socket.Close(); err != nil {
		s.log.Warn("host: publish socket", "err", err)
	}
}
