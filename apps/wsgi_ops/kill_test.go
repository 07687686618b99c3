// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// kill -9 of a worker costs its own connections, and another takes its place.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	p := site{args: []string{"--workers", "2"}}.start(t)
	old := p.Workers(t)
	conns := map[int]*rawhttp.Conn{}
	smoketest.Until(t, "a connection to each worker", func() bool {
		c := dial(t, p)
		pid, _ := strconv.Atoi(string(answer(t, c, get("/pid")).Body))
		conns[pid] = c
		return len(conns) == 2
	})
	if err := syscall.Kill(old[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := conns[old[1]].Ended(); err != nil {
		t.Error(err)
	}
	smoketest.Until(t, "a successor", func() bool {
		fresh := p.Workers(t)[1]
		return fresh != 0 && fresh != old[1]
	})
	answeredBy(t, p, p.Workers(t)[1])
	if got := string(answer(t, conns[old[0]], get("/pid")).Body); got != strconv.Itoa(old[0]) {
		t.Errorf("the other's connection is answered by %s, want %d", got, old[0])
	}
	if n := strings.Count(p.Log(), `"signal":"killed"`); n != 1 {
		t.Errorf("the death is logged %d times, want once", n)
	}
}

// kill -9 of the supervisor leaves no worker and frees the port.
func TestKilledSupervisor(t *testing.T) {
	t.Parallel()
	for _, app := range []string{wsgiApp, asgiApp} {
		p := site{app: app, args: []string{"--workers", "2"}}.start(t)
		workers := p.Workers(t)
		p.Signal(t, syscall.SIGKILL)
		p.Wait(t)
		for _, pid := range workers {
			smoketest.Until(t, "the end of worker "+strconv.Itoa(pid), func() bool {
				return smoketest.Gone(pid)
			})
		}
		ln, err := net.Listen("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Errorf("the port is still taken: %v", err)
			continue
		}
		_ = ln.Close()
	}
}

// Workers that die before they are ready end the service, with the reason.
func TestFiveDeathsAtTheStartEndTheService(t *testing.T) {
	t.Parallel()
	p := site{env: []string{"OPS_DIES=1"}}.launch(t)
	if status := p.Wait(t); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	if n := strings.Count(p.Log(), `"worker: ended"`); n != 5 {
		t.Errorf("%d workers were started, want 5\n%s", n, p.Log())
	}
	for _, want := range []string{"giving up", "signal 9 (killed)"} {
		if !strings.Contains(p.Log(), want) {
			t.Errorf("the log has no %q:\n%s", want, p.Log())
		}
	}
}

// An application that cannot be imported is a matter of configuration: the traceback
// once, status 78, and no second try.
func TestApplicationThatCannotBeImported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, app, want string }{
		{"raises", "raise RuntimeError('OPS cannot')\n", "broken:app", "RuntimeError: OPS cannot"},
		{"imports", "import missing_module_of_ops\n", "broken:app",
			"No module named 'missing_module_of_ops'"},
		{"syntax", "def app(:\n", "broken:app", "SyntaxError: "},
		{"missing", "", "nowhere:app", "there is no module 'nowhere'"},
		{"nameless", "x = 1\n", "broken:app", "broken has no 'app'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "broken.py"), tt.text)
			p := site{app: tt.app, dir: dir}.launch(t)
			if status := p.Wait(t); status != 78 {
				t.Errorf("exit status %d, want 78", status)
			}
			if n := strings.Count(p.Log(), tt.want); n != 1 {
				t.Errorf("%q was shown %d times, want once:\n%s", tt.want, n, p.Log())
			}
			if strings.Count(p.Log(), `"worker: ended"`) != 1 ||
				strings.Contains(p.Log(), "listening on") {
				t.Errorf("one worker is to be tried, and none to listen:\n%s", p.Log())
			}
		})
	}
}
