// SPDX-License-Identifier: MIT

package serve

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/worker"
	"m0serve.dev/wsgi/internal/options"
)

// The HTTP door is bound once in a service, by the supervisor, and every worker
// serves it (contract row R6). The application finds it in GRIP_URL.

// gripIssuer is the name of publishers, unless GRIP_URL has another.
const gripIssuer = "m0"

// keyBytes is the length of a key that nobody chose, as HS256 wants it.
const keyBytes = 32

// errDoorTaken is a wrong setting: trying again does not help.
var errDoorTaken = errors.New("name another address, or end what listens there")

// chooseKey makes a key where nobody chose one. It stays the same over reloads.
func (s *service) chooseKey() {
	if !s.o.Realtime || s.o.PublishKey != nil {
		return
	}
	s.o.PublishKey = make([]byte, keyBytes)
	_, _ = rand.Read(s.o.PublishKey) // it never fails
	s.o.PublishLocal = true
}

// openHTTPDoor binds --publish-http, ahead of all else, and tells the application. The
// listener is this process's until it ends: views publish as long as they run.
func (s *service) openHTTPDoor() (err error) {
	if s.o.PublishHTTP == "" {
		return nil
	}
	if s.httpDoor, err = net.Listen("tcp", s.o.PublishHTTP); err != nil {
		return fmt.Errorf("--publish-http: %w: %w", err, errDoorTaken)
	}
	ip := s.httpDoor.Addr().(*net.TCPAddr).IP
	if s.o.PublishLocal && !ip.IsLoopback() {
		s.log.Warn("m0serve: --publish-http can be reached from other machines, which are " +
			"refused until there is a key for them: set M0_PUBLISH_KEY")
	}
	if !isSet(s.command.Env, options.GripURL) {
		s.command.Env = withEnv(s.command.Env, options.GripURL, s.gripURL())
	}
	s.handed.PublishHTTP, err = worker.ListenerFD(s.httpDoor)
	return err
}

// gripURL is where the application publishes, with its key.
func (s *service) gripURL() string {
	address := s.httpDoor.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return grip.URL{
		Base:   "http://" + net.JoinHostPort(host, strconv.Itoa(address.Port)),
		Issuer: cmp.Or(s.o.PublishIssuer, gripIssuer), Key: s.o.PublishKey,
	}.String()
}

// isSet reports whether a variable of an environment has a value.
func isSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool {
		value, ok := strings.CutPrefix(entry, name+"=")
		return ok && value != ""
	})
}
