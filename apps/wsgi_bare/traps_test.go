// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// The traps that an interpreter inside of a server falls into: each of them hung or
// ended a prototype. They are m0serve's own, so no reference server runs here.

// trap starts the application for one trap.
func trap(t *testing.T, cfg pyserver.Config) *suite {
	t.Helper()
	cfg = trapConfig(t, cfg)
	return &suite{p: servers.Start(t, cfg), prefix: "trap-"}
}

func trapConfig(t *testing.T, cfg pyserver.Config) pyserver.Config {
	t.Helper()
	pyserver.M0serveAlone(t)
	cfg.Dir, cfg.App = ".", "app:app"
	cfg.Args = append(cfg.Args, "--graceful-timeout", "1")
	return cfg
}

// stopped sends SIGTERM and wants the service to end with status 0 within bound.
func stopped(t *testing.T, s *suite, bound time.Duration) {
	t.Helper()
	if status := ended(t, s, bound); status != 0 {
		t.Errorf("exit status %d behind SIGTERM, want 0", status)
	}
}

// ended sends SIGTERM, wants the service to end within bound, and returns its status.
func ended(t *testing.T, s *suite, bound time.Duration) int {
	t.Helper()
	begin := time.Now()
	s.p.Signal(t, syscall.SIGTERM)
	status := s.p.Wait(t)
	if took := time.Since(begin); took > bound {
		t.Errorf("the service took %v to end, want at most %v", took, bound)
	}
	return status
}

// forked has the application fork a child that stays, and ends it with the test.
func forked(t *testing.T, s *suite) int {
	t.Helper()
	pid, err := strconv.Atoi(s.ask(t, "/fork/stays"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// A child that outlives the server does not keep its port.
func TestTrapForkedChildLeavesThePort(t *testing.T) {
	s := trap(t, pyserver.Config{})
	child := forked(t, s)
	stopped(t, s, smoketest.Patience)
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child is gone (%v): nothing is shown", err)
	}
	ln, err := net.Listen("tcp", strings.TrimPrefix(s.p.URL, "http://"))
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = ln.Close()
}

// A child does not keep the connection open either.
func TestTrapForkedChildLeavesTheConnection(t *testing.T) {
	s := trap(t, pyserver.Config{})
	c := s.dial(t)
	c.Send(get("/fork/stays", "Connection: close"))
	r := read(t, c, "GET")
	pid, err := strconv.Atoi(string(r.Body))
	if err != nil {
		t.Fatalf("/fork/stays: %s %q", r.Status, r.Body)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
}

// An application that asks for SIGTERM while it is imported does not keep the server
// from stopping.
func TestTrapApplicationTakesSIGTERM(t *testing.T) {
	s := trap(t, pyserver.Config{Env: []string{"BARE_TAKES_SIGTERM=1"}})
	s.ask(t, "/hello")
	stopped(t, s, 5*time.Second)
}

// A view on the main thread may ask for any signal.
func TestTrapViewTakesSignals(t *testing.T) {
	s := trap(t, pyserver.Config{Threads: 1})
	for _, name := range []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGCHLD", "SIGUSR1", "SIGALRM"} {
		s.ask(t, "/signal/take?name="+name)
	}
	if got := s.ask(t, "/child/many"); got != "[0, 1, 2, 3, 4, 5, 6, 7]" {
		t.Errorf("/child/many = %q behind a handler for SIGCHLD", got)
	}
	stopped(t, s, 5*time.Second)
}

// A view that runs for a minute is waited for as long as the bound says.
func TestTrapLongViewsEndWithTheServer(t *testing.T) {
	for _, path := range []string{
		"/sleep?ms=60000&id=$ID", "/spin?ms=60000&id=$ID", "/hold?ms=60000",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
		t.Run(name, func(t *testing.T) {
			s := trap(t, pyserver.Config{})
			c := s.dial(t)
			c.Send(on(s.id(name), get(path)))
			if name == "hold" { // it cannot say that it began: nobody else runs then
				_ = c.Silent(100 * time.Millisecond)
			} else {
				s.waitEvents(t, s.id(name), "begin")
			}
			ended(t, s, 8*time.Second) // 1 says that the drain was cut short
		})
	}
}

func TestTrapThreadThatIsNoDaemon(t *testing.T) {
	s := trap(t, pyserver.Config{})
	s.ask(t, "/thread/lingering?s=60")
	ended(t, s, 12*time.Second)
}

func TestTrapAtexitRuns(t *testing.T) {
	s := trap(t, pyserver.Config{})
	s.ask(t, "/atexit")
	stopped(t, s, 5*time.Second)
	if !strings.Contains(s.p.Log(), "BARE atexit") {
		t.Error("what was registered with atexit did not run")
	}
}

// What fails while it is imported ends the start, with the reason and without a loop.
func TestTrapImportFails(t *testing.T) {
	for _, tt := range []struct {
		how, log string
		status   int // 0: any but 0
	}{
		{"error", "RuntimeError: BARE import failed", 78},
		{"exit", "", 5},
	} {
		t.Run(tt.how, func(t *testing.T) {
			p := servers.Launch(t, trapConfig(t, pyserver.Config{
				Env: []string{"BARE_IMPORT=" + tt.how}}))
			status := p.Wait(t)
			if status == 0 || tt.how == "error" && status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			if n := strings.Count(p.Log(), tt.log); tt.log != "" && n != 1 {
				t.Errorf("the reason was printed %d times, want once:\n%s", n, p.Log())
			}
			if strings.Contains(p.Log(), "listening on") {
				t.Error("it says that it listens")
			}
		})
	}
}

func TestTrapThreadOfTheImport(t *testing.T) {
	s := trap(t, pyserver.Config{Env: []string{"BARE_IMPORT=thread"}})
	s.ask(t, "/hello")
	stopped(t, s, 5*time.Second)
}

// waitReplaced waits until a worker with another pid answers.
func waitReplaced(t *testing.T, s *suite, old string) {
	t.Helper()
	deadline := time.Now().Add(smoketest.Patience)
	for time.Now().Before(deadline) {
		c, err := rawhttp.Dial(s.p.URL)
		if err != nil {
			t.Fatalf("the listener is gone: %v", err)
		}
		c.Send(get("/pid"))
		r, err := c.Read("GET")
		_ = c.Close()
		if err == nil && string(r.Body) != old {
			return
		}
	}
	t.Fatalf("worker %s was not replaced", old)
}

// A worker that crashes in C, on a thread of the server or of the application, that
// leaves by itself or is aborted, is replaced, with faulthandler on as well. The log
// names what ended it, and the line of Python that did.
func TestTrapCrashes(t *testing.T) {
	traces := map[string][]string{
		"crash":        {`"signal":"segmentation fault"`, "in leave\n"},
		"thread-crash": {`"signal":"segmentation fault"`, "in string_at\n"},
		"abort":        {`"signal":"aborted"`, "in leave\n"},
		"exit":         {`"status":3`},
	}
	for _, env := range []string{"PYTHONFAULTHANDLER=", "PYTHONFAULTHANDLER=1"} {
		for _, how := range []string{"crash", "thread-crash", "abort", "exit"} {
			t.Run(env+how, func(t *testing.T) {
				s := trap(t, pyserver.Config{Env: []string{env}})
				pid := s.ask(t, "/pid")
				c := s.dial(t)
				c.Send(get("/leave?how=" + how))
				if _, err := c.Read("GET"); err == nil {
					t.Error("a worker that crashed has answered")
				}
				waitReplaced(t, s, pid)
				stopped(t, s, 5*time.Second)
				for _, want := range traces[how] {
					if !strings.Contains(s.p.Log(), want) {
						t.Errorf("the log has no %q:\n%s", want, s.p.Log())
					}
				}
			})
		}
	}
}

// As process 1 of a container, where signals without a handler do nothing.
func TestTrapProcessOne(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root and unshare")
	}
	if out, err := exec.Command(unshare, "--pid", "--fork", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no name space for processes here: %v %s", err, out)
	}
	s := trap(t, pyserver.Config{Under: []string{
		unshare, "--pid", "--fork", "--kill-child", "--mount-proc"}})
	pid := s.ask(t, "/pid")
	if pid == "1" {
		t.Error("the interpreter runs in process 1")
	}
	if got := s.ask(t, "/child/many"); got != "[0, 1, 2, 3, 4, 5, 6, 7]" {
		t.Errorf("/child/many = %q", got)
	}
	c := s.dial(t)
	c.Send(get("/leave?how=thread-crash"))
	_, _ = c.Read("GET")
	waitReplaced(t, s, pid)
}

// A program that the application starts gets nothing of the server: no descriptor, no
// name of ours but where to publish, no signal that is ignored or blocked.
func TestTrapChildrenInheritNothing(t *testing.T) {
	s := trap(t, pyserver.Config{Workers: 2})
	if got := s.ask(t, "/child/environment?prefix=M0_"); got != `["M0_PUBLISH_SOCKET"]` {
		t.Errorf("names of ours in the environment: %s, want M0_PUBLISH_SOCKET alone", got)
	}
	if got := s.ask(t, "/child/files"); strings.Contains(got, "socket:") ||
		strings.Contains(got, "memfd:") || strings.Contains(got, "anon_inode:") {
		t.Errorf("descriptors of ours in a child: %s", got)
	}
	if got := s.ask(t, "/child/mask"); !strings.Contains(got, `"blocked": 0`) {
		t.Errorf("signals of a child: %s", got)
	}
}

// The application runs in the interpreter and the environment that it was given.
func TestTrapInterpreterIsTheUsers(t *testing.T) {
	s := trap(t, pyserver.Config{Env: []string{"BARE_VARIABLE=x"}})
	r := s.answer(t, get("/interpreter", "Connection: close"))
	for _, fault := range checkEntries(r.Body, entries{
		"executable": `/\/bin\/python/`, "prefix": `/venv/`, "main": `"__main__"`,
		"encoding": `"utf-8"`, "argv": `/m0serve/`,
	}) {
		t.Error(fault)
	}
	if got := s.ask(t, "/variable?name=BARE_VARIABLE"); got != `"x"` {
		t.Errorf("BARE_VARIABLE is %s", got)
	}
}

// What is loaded before the first request is there for good.
func TestTrapLoadedObjectsAreFrozen(t *testing.T) {
	s := trap(t, pyserver.Config{})
	n, err := strconv.Atoi(string(s.answer(t, get("/frozen")).Body))
	if err != nil || n < 1000 {
		t.Errorf("%d objects are frozen (%v), want those of Python's own modules at least", n, err)
	}
}

// wsgi.multiprocess and wsgi.multithread tell the truth, and two workers share.
func TestTrapWorkersAndThreadsAreTold(t *testing.T) {
	for _, tt := range []struct {
		workers, threads      int
		processes, threadsAre string
	}{
		{1, 1, "false", "false"}, {1, 2, "false", "true"},
		{2, 1, "true", "false"}, {2, 2, "true", "true"},
	} {
		t.Run(strconv.Itoa(tt.workers)+"-"+strconv.Itoa(tt.threads), func(t *testing.T) {
			s := trap(t, pyserver.Config{Workers: tt.workers, Threads: tt.threads})
			r := s.answer(t, get("/environ", "Connection: close"))
			for _, fault := range checkEntries(r.Body, entries{
				"wsgi.multiprocess": tt.processes, "wsgi.multithread": tt.threadsAre,
			}) {
				t.Error(fault)
			}
			overlapped(t, connectionsOf(t, s, tt.workers), tt.workers*tt.threads)
		})
	}
}

// connectionsOf opens two connections, on two processes where there are two.
func connectionsOf(t *testing.T, s *suite, workers int) []*rawhttp.Conn {
	t.Helper()
	var conns []*rawhttp.Conn
	seen := map[string]bool{}
	deadline := time.Now().Add(smoketest.Patience)
	for len(conns) < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("processes %v answer, want %d", seen, workers)
		}
		c := s.dial(t)
		c.Send(get("/pid"))
		pid := string(read(t, c, "GET").Body)
		if workers == 1 || !seen[pid] {
			conns = append(conns, c)
		}
		seen[pid] = true
	}
	return conns
}

// overlapped runs two slow views: they take the time of one where two can run.
func overlapped(t *testing.T, conns []*rawhttp.Conn, lanes int) {
	t.Helper()
	const view = 800 * time.Millisecond
	begin := time.Now()
	for _, c := range conns {
		c.Send(get("/sleep?ms=" + strconv.FormatInt(view.Milliseconds(), 10)))
	}
	for _, c := range conns {
		expect(t, c, "GET", "200 OK", "slept")
	}
	took := time.Since(begin)
	if lanes > 1 && took >= 2*view {
		t.Errorf("two views of %v took %v on %d lanes", view, took, lanes)
	}
	if lanes == 1 && took < 2*view {
		t.Errorf("two views of %v took %v on one lane: nothing is shown", view, took)
	}
}
