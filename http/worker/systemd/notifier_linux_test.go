// SPDX-License-Identifier: MIT

package systemd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"m0serve.dev/http/config"
)

const patience = 10 * time.Second

func TestNotifierReadsItsNames(t *testing.T) {
	me := strconv.Itoa(os.Getpid())
	const x, us, half = "@x", "3000000", 1500 * time.Millisecond
	const huge = "9223372036854775807"
	type names = map[string]string
	for name, c := range map[string]struct {
		env  names
		want time.Duration // between signs of life
		none bool
		bad  string
	}{
		"nothing":     {none: true},
		"no watchdog": {env: names{envNotify: "/run/x"}},
		"watchdog":    {env: names{envNotify: x, envWatchdog: us}, want: half},
		"own watchdog": {env: names{envNotify: x, envWatchdog: us, envWatchdogPID: me},
			want: half},
		"another's":        {env: names{envNotify: x, envWatchdog: us, envWatchdogPID: "1"}},
		"a vsock":          {env: names{envNotify: "vsock:2:1234"}, bad: envNotify},
		"no number":        {env: names{envNotify: x, envWatchdog: "soon"}, bad: envWatchdog},
		"too large":        {env: names{envNotify: x, envWatchdog: huge}, bad: envWatchdog},
		"never":            {env: names{envNotify: x, envWatchdog: "0"}, bad: envWatchdog},
		"watchdog, no way": {env: names{envWatchdog: us}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }
			n, err := newNotifier(lookup, os.Getpid())
			var wrong *config.Error
			switch {
			case c.bad != "":
				if !errors.As(err, &wrong) || wrong.Var != c.bad {
					t.Errorf("newNotifier = %v, want %s refused", err, c.bad)
				}
			case err != nil || (n == nil) != c.none || n.WatchdogEvery() != c.want:
				t.Errorf("newNotifier = %+v, %v, every %v; want every %v, none %v",
					n, err, n.WatchdogEvery(), c.want, c.none)
			}
		})
	}
}

// A manager that is gone, or reads nothing, costs a log line and no service.
func TestDeafManagerEndsNothing(t *testing.T) {
	addr := net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	m, err := net.ListenUnixgram("unixgram", &addr)
	must(t, err)
	n := &Notifier{addr: addr}
	began, full := time.Now(), false
	for range 2000 {
		if err := n.Status("nobody reads this"); err != nil {
			full = errors.Is(err, os.ErrDeadlineExceeded)
			break
		}
	}
	if !full || time.Since(began) > patience {
		t.Errorf("a full socket: deadline exceeded %v after %v, want true, soon",
			full, time.Since(began))
	}
	must(t, m.Close())
	if err := n.Ready(""); err == nil {
		t.Error("Ready to a manager that is gone = nil, want an error")
	}
	if err := (*Notifier)(nil).Ready(""); err != nil {
		t.Errorf("Ready to nobody = %v, want nil", err)
	}
}
