// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// rollingLeast is how many requests each rolling restart has to stand.
const rollingLeast = 20_000

// SIGHUP replaces every worker, one after the other, and no request is lost.
func TestRollingRestartLosesNothing(t *testing.T) {
	for _, tt := range []struct {
		name, app string
		workers   int
	}{
		{"wsgi-1", wsgiApp, 1}, {"wsgi-2", wsgiApp, 2}, {"asgi-2", asgiApp, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := site{app: tt.app, args: []string{
				"--workers", strconv.Itoa(tt.workers), "--threads", "2"}}.start(t)
			old := p.Workers(t)
			c := gather(p, 8)
			rounds := 0
			for rounds < 2 || c.answered.Load() < rollingLeast && !t.Failed() {
				rounds++
				p.Signal(t, syscall.SIGHUP)
				logs(t, p, "every worker is replaced", rounds)
			}
			c.leave(t, rollingLeast)
			t.Logf("%d requests over %d restarts, by %d processes",
				c.answered.Load(), rounds, len(c.pids))
			fresh := p.Workers(t)
			for index, pid := range old {
				if fresh[index] == 0 || fresh[index] == pid || !smoketest.Gone(pid) {
					t.Errorf("worker %d: process %d before and %d after", index, pid, fresh[index])
				}
			}
			if least := tt.workers * (rounds + 1); len(c.pids) < tt.workers*2 {
				t.Errorf("%d processes answered, want up to %d", len(c.pids), least)
			}
		})
	}
}

// An application that cannot be loaded any more leaves the old workers in charge.
func TestBrokenCodeAtSIGHUPLeavesTheOldServing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeVersion(t, dir, "1")
	p := site{app: "version:app", dir: dir, args: []string{"--workers", "2"}}.start(t)
	old := p.Workers(t)
	write(t, filepath.Join(dir, "version.py"), "def app(\n")
	p.Signal(t, syscall.SIGHUP)
	logs(t, p, "SyntaxError", 1)
	logs(t, p, "the old ones go on serving", 1)
	if got := ask(t, p, "/"); got != "version 1" {
		t.Errorf("GET / = %q behind a reload that failed, want version 1", got)
	}
	for index, pid := range p.Workers(t) {
		if old[index] != pid {
			t.Errorf("worker %d: process %d, want %d as before", index, pid, old[index])
		}
	}
	writeVersion(t, dir, "2")
	p.Signal(t, syscall.SIGHUP)
	logs(t, p, "every worker is replaced", 1)
	if got := ask(t, p, "/"); got != "version 2" {
		t.Errorf("GET / = %q behind a reload of mended code, want version 2", got)
	}
}

// wsgi.multiprocess tells whether other processes call the application, at each start
// and behind SIGTTIN and SIGTTOU too.
func TestMultiprocessIsTold(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2} {
		p := site{args: []string{"--workers", strconv.Itoa(workers)}}.start(t)
		var environ map[string]any
		askInto(t, p, &environ, "/shown")
		if got := environ["wsgi.multiprocess"]; got != (workers > 1) {
			t.Errorf("wsgi.multiprocess = %v with %d workers", got, workers)
		}
	}
}

// SIGTTIN makes it one worker more, SIGTTOU one less, down to the last.
func TestWorkersAreAddedAndTakenAway(t *testing.T) {
	t.Parallel()
	p := site{}.start(t)
	await := func(n int) {
		t.Helper()
		smoketest.Until(t, strconv.Itoa(n)+" workers", func() bool { return len(p.Workers(t)) == n })
	}
	first := worker(t, p, 0)
	p.Signal(t, syscall.SIGTTIN)
	await(2)
	answeredBy(t, p, worker(t, p, 1))
	p.Signal(t, syscall.SIGTTOU)
	await(1)
	p.Signal(t, syscall.SIGTTOU)
	logs(t, p, "the last worker stays", 1)
	if got := ask(t, p, "/pid"); got != strconv.Itoa(first) {
		t.Errorf("GET /pid = %s, want the first worker's %d", got, first)
	}
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
}

// answeredBy asks until the process of a pid answers.
func answeredBy(t *testing.T, p *smoketest.Process, pid int) {
	t.Helper()
	smoketest.Until(t, "an answer of process "+strconv.Itoa(pid), func() bool {
		return ask(t, p, "/pid") == strconv.Itoa(pid)
	})
}

// writeVersion writes an application that tells its version.
func writeVersion(t *testing.T, dir, version string) {
	t.Helper()
	write(t, filepath.Join(dir, "version.py"), strings.ReplaceAll(`
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"version $"]
`, "$", version))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
