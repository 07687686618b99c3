// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
)

// envProxy names what holds the answers: m0serve (default) or pushpin.
const envProxy = "M0_GRIP_PROXY"

// application is what is served, by m0serve itself or by gunicorn behind pushpin.
const application = "project.wsgi:application"

var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// onPushpin reports whether the reference is run.
func onPushpin() bool { return os.Getenv(envProxy) == "pushpin" }

// A launch says how the project is served. Its zero value will do.
type launch struct {
	workers, threads int    // of Python; 0 is 2 and 4
	port             int    // of the clients; 0 is any
	db               string // the database; "" is a new one
	shut             bool   // nobody takes publishes
	key              string // of m0serve; "": it makes one
}

// A site is the running project.
type site struct {
	url  string // for clients, without a slash at the end
	grip string // GRIP_URL, as the application has it
	env  []string
	all  []*smoketest.Process // the servers, in the order of their start
}

// start serves the project until the end of the test, or skips it.
func start(t *testing.T, l launch) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	pyvenv.Find(t)
	if l.workers == 0 {
		l.workers = 2
	}
	if l.db == "" {
		l.db = filepath.Join(t.TempDir(), "site.sqlite3")
	}
	s := &site{env: []string{"SITE_DB=" + l.db}}
	if _, err := os.Stat(l.db); err != nil {
		s.manage(t, "migrate", "--verbosity=0")
	}
	switch os.Getenv(envProxy) {
	case "", "m0serve":
		s.startM0serve(t, l)
	case "pushpin":
		s.startPushpin(t, l)
	default:
		t.Fatalf("%s=%s: want m0serve or pushpin", envProxy, os.Getenv(envProxy))
	}
	s.awaitAnswer(t)
	return s
}

var banner = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)

// startM0serve serves the project with m0serve alone.
func (s *site) startM0serve(t *testing.T, l launch) {
	t.Helper()
	args := []string{"--realtime"}
	env := s.env
	if l.key != "" {
		env = append(env, "M0_PUBLISH_KEY="+l.key)
	}
	if l.shut {
		env = append(env, fmt.Sprintf("GRIP_URL=http://127.0.0.1:%d", smoketest.FreePort(t)))
	} else {
		args = append(args, fmt.Sprintf("--publish-http=127.0.0.1:%d", smoketest.FreePort(t)))
	}
	p := servers.Launch(t, pyserver.Config{
		Dir: ".", App: application, Server: "m0serve", Args: args, Env: env,
		Workers: l.workers, Threads: l.threads, Port: l.port,
	})
	smoketest.Until(t, "m0serve to listen or to end", func() bool {
		return p.Ended() != "" || banner.MatchString(p.Log())
	})
	if p.Ended() != "" {
		for _, flag := range []string{"--realtime", "--publish-http"} {
			if strings.Contains(p.Log(), flag+": this version cannot do it") {
				t.Skipf("SKIPPED: m0serve has no %s yet", flag)
			}
		}
	}
	p.Listening(t, banner)
	s.url, s.all = p.URL, []*smoketest.Process{p}
}

// awaitAnswer waits until the project answers through all that is in front of it,
// and learns where it publishes to.
func (s *site) awaitAnswer(t *testing.T) {
	t.Helper()
	smoketest.Until(t, "an answer of the project", func() bool {
		resp, err := http.Get(s.url + "/grip/")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		var told struct{ URL string }
		if resp.StatusCode != 200 || json.NewDecoder(resp.Body).Decode(&told) != nil {
			return false
		}
		s.grip = told.URL
		return true
	})
}

// kill ends all servers at once.
func (s *site) kill(t *testing.T) {
	t.Helper()
	for _, p := range s.all {
		p.Kill(t)
	}
}

// command is a Python process that knows what the operator of the site knows.
func (s *site) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, pyvenv.Python(t), args...)
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1", "SITE_URL="+s.url)
	cmd.Env = append(cmd.Env, s.env...)
	if s.grip != "" {
		cmd.Env = append(cmd.Env, "GRIP_URL="+s.grip)
	}
	return cmd
}

// run runs a Python process to its end; it has to succeed.
func (s *site) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("python %.60q: %v\n%s", args, err, out)
	}
	return string(out)
}

// manage runs a management command.
func (s *site) manage(t *testing.T, args ...string) string {
	t.Helper()
	return s.run(t, append([]string{"manage.py"}, args...)...)
}
