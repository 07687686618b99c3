// SPDX-License-Identifier: MIT

package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
)

// The names under which a service manager says where it listens (sd_notify(3),
// sd_watchdog_enabled(3)).
const (
	envNotify      = "NOTIFY_SOCKET"
	envWatchdog    = "WATCHDOG_USEC"
	envWatchdogPID = "WATCHDOG_PID"
)

// A Notifier tells a service manager of the kind of systemd what becomes of this
// process (Type=notify, notify-reload). A nil Notifier tells nobody.
type Notifier struct {
	addr     net.UnixAddr
	watchdog time.Duration // what the manager waits for a sign of life; 0: it does not
}

// AdoptNotifier takes the manager's address from the environment, where no child
// process shall find it, and returns nil when there is none. The error is a
// *config.Error.
func AdoptNotifier() (*Notifier, error) {
	n, err := newNotifier(os.LookupEnv, os.Getpid())
	for _, name := range []string{envNotify, envWatchdog, envWatchdogPID} {
		_ = os.Unsetenv(name) // fails for malformed names only
	}
	return n, err
}

func newNotifier(lookup func(string) (string, bool), pid int) (*Notifier, error) {
	path, _ := lookup(envNotify)
	if path == "" {
		return nil, nil
	}
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") {
		return nil, &config.Error{Var: envNotify, Value: path,
			Cure: "it is neither a path nor an abstract socket: unset it"}
	}
	n := &Notifier{addr: net.UnixAddr{Name: path, Net: "unixgram"}}
	usec, ok := lookup(envWatchdog)
	if !ok {
		return n, nil
	}
	if whose, ok := lookup(envWatchdogPID); ok && whose != strconv.Itoa(pid) {
		return n, nil
	}
	us, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || us <= 0 || us > int64(time.Duration(1<<63-1)/time.Microsecond) {
		return nil, &config.Error{Var: envWatchdog, Value: usec,
			Cure: "it is no number of microseconds: unset it"}
	}
	n.watchdog = time.Duration(us) * time.Microsecond
	return n, nil
}

// Ready says that the service serves, at the start and after a reload.
func (n *Notifier) Ready(status string) error { return n.Send("READY=1", "STATUS="+status) }

// Reloading says that a reload has begun; Ready ends it.
func (n *Notifier) Reloading() error {
	return n.Send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", bus.Uptime().Microseconds()))
}

// Stopping says that the service is about to end.
func (n *Notifier) Stopping() error { return n.Send("STOPPING=1") }

// Status says in a line, for people, how the service is.
func (n *Notifier) Status(text string) error { return n.Send("STATUS=" + text) }

// Watchdog is the sign of life that a manager asks for; see WatchdogEvery.
func (n *Notifier) Watchdog() error { return n.Send("WATCHDOG=1") }

// WatchdogEvery is how often a sign of life is due, twice as often as the manager
// asks for; 0: never.
func (n *Notifier) WatchdogEvery() time.Duration {
	if n == nil {
		return 0
	}
	return n.watchdog / 2
}

// Send sends assignments, which must not contain a newline, as one message. It
// does not wait for a manager that does not read for longer than 100 ms.
func (n *Notifier) Send(assignments ...string) error {
	if n == nil {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &n.addr)
	if err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	err = conn.SetWriteDeadline(time.Now().Add(notifyWait))
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(assignments, "\n")))
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	return nil
}

const notifyWait = 100 * time.Millisecond
