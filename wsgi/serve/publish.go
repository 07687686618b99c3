// SPDX-License-Identifier: MIT

package serve

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"m0serve.dev/http/publish"
	"m0serve.dev/http/worker"
)

// The publish socket is made once in a service, by the supervisor, and every
// worker serves it (contract row R2).

// openSocket makes the socket and names it to the workers, and so to what the
// application starts. One that was configured has to be there; without one nobody
// asked for, a service goes on.
func (s *service) openSocket() (err error) {
	path := os.Getenv(publish.Env)
	if path == publish.Off {
		return nil
	}
	s.socket, err = publish.Listen(publish.ListenConfig{
		Path: path, Dir: s.o.Chdir, Name: s.listener.Addr().String(),
	})
	switch {
	case err != nil && path != "":
		return fmt.Errorf("%s: %w: %s", publish.Env, err, publish.ListenCure)
	case err != nil:
		if !errors.Is(err, errors.ErrUnsupported) {
			s.log.Warn("m0serve: no publish socket, so nobody can publish with m0pub", "err", err)
		}
		// Lest m0pub finds the socket of another service in the same directory.
		s.command.Env = withEnv(s.command.Env, publish.Env, publish.Off)
		return nil
	}
	s.command.Env = withEnv(s.command.Env, publish.Env, s.socket.Path())
	s.handed.Publish, err = worker.ListenerFD(s.socket.Listener())
	return err
}

// withEnv sets a variable of an environment.
func withEnv(env []string, name, value string) []string {
	kept := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			kept = append(kept, entry)
		}
	}
	return append(kept, name+"="+value)
}

// leaveSocket gives the socket's path to a successor that may start by now.
func (s *service) leaveSocket() {
	if s.socket == nil {
		return
	}
	if err := s.socket.Leave(); err != nil {
		s.log.Warn("m0serve: publish socket", "err", err)
	}
}

func (s *service) closeSocket() {
	if s.socket == nil {
		return
	}
	if err := s.socket.Close(); err != nil {
		s.log.Warn("m0serve: publish socket", "err", err)
	}
}
