// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/ledger"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
)

// listens finds the listener in what m0serve prints.
var listens = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)

// startPython serves an application, and waits for it as long as for anything here.
func startPython(t *testing.T, b *pyserver.Builder, cfg pyserver.Config) *smoketest.Process {
	t.Helper()
	pyserver.M0serveAlone(t)
	p := b.Launch(t, cfg)
	until(t, "a service that listens, or ends", func() bool {
		return listens.MatchString(p.Log()) || p.Ended() != ""
	})
	p.Listening(t, listens)
	return p
}

// startWild serves a copy of testdata/wild.py.
func startWild(t *testing.T, workers int, args ...string) *smoketest.Process {
	t.Helper()
	return startPython(t, &servers, pyserver.Config{Dir: copied(t, "wild"), App: "wild:app",
		Workers: workers, Threads: 2, Args: append([]string{"--realtime"}, args...)})
}

// copied is a folder with a copy of an application of testdata, for its service alone.
func copied(t *testing.T, app string) (dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", app+".py"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, app+".py"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wildWord asks for what harms nobody.
func wildWord(int) question {
	return question{method: "GET", path: "/word", check: func(body string) error {
		if body != "wild\n" {
			return fmt.Errorf("got %.40q", body)
		}
		return nil
	}}
}

// TestPythonFaults is F16: views that end, crash and hold up their worker, under load
// and beside streams. What a view says is an error is one answer; what ends or blocks a
// worker costs that worker's requests, and no stream an event, not even while the
// interpreter is held.
func TestPythonFaults(t *testing.T) {
	p := startWild(t, 3, "--timeout", "3", "--graceful-timeout", "1")
	ls := listen(t, p.URL+"/events", 9)
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, random(t), wildWord)
	for range times(1, 10) {
		for _, view := range []string{"/raises", "/leaves"} {
			if status, err := harm(t, p, view); err != nil || status != http.StatusInternalServerError {
				t.Errorf("GET %s = %d, %v; want 500", view, status, err)
			}
		}
		c.more(t, 50)
		for _, view := range []string{"/drops", "/crashes"} {
			c.harmed(t, p, view)
			c.more(t, 50)
		}
		c.harmed(t, p, "/holds", "/locks")
		c.more(t, 50)
	}
	if n := c.Refusals(); n != 0 {
		t.Errorf("%d connections were refused, want 0", n)
	}
	c.verdict(t, 200)
	if v := ls.verdict(t, w, 50, 4); v.Told > 0 {
		t.Errorf("%d events in journals were missed, and told of: want 0", v.Told)
	}
	for _, want := range []string{`"signal":"segmentation fault"`, `"status":7`} {
		if n := strings.Count(p.Log(), want); n != times(1, 10) {
			t.Errorf("%s is logged %d times, want once for each", want, n)
		}
	}
	if n := strings.Count(p.Log(), "longer than --timeout"); n != 2*times(1, 10) {
		t.Errorf("%d workers are replaced for their time, want %d", n, 2*times(1, 10))
	}
}

// harmed sends requests that each end another worker, notes the deaths, wants events to
// go on meanwhile, and waits for the successors.
func (c *crowd) harmed(t *testing.T, p *smoketest.Process, views ...string) {
	t.Helper()
	old := p.Workers(t)
	began := make(map[int]time.Time)
	for _, view := range views {
		conn, pid := victim(t, p, began)
		began[pid] = time.Now()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", view); err != nil {
			t.Fatal(err)
		}
	}
	for pid, from := range began {
		until(t, "the end of a worker by "+strings.Join(views, ", "), func() bool {
			return smoketest.Gone(pid)
		})
		c.Died(ledger.Death{Worker: strconv.Itoa(pid), From: from, To: time.Now()})
	}
	until(t, "successors", func() bool {
		now := p.Workers(t)
		for index, pid := range old {
			if _, died := began[pid]; died && (now[index] == 0 || now[index] == pid) {
				return false
			}
		}
		return len(now) == len(old)
	})
}

// victim gives a connection to a worker that is not harmed yet.
func victim(t *testing.T, p *smoketest.Process, harmed map[int]time.Time) (conn interface {
	Write([]byte) (int, error)
}, pid int) {
	t.Helper()
	until(t, "a connection to a worker that is well", func() bool {
		c := dial(t, p)
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write([]byte("GET /word HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
			return false
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		pid, _ = strconv.Atoi(resp.Header.Get("X-Worker"))
		_, isHarmed := harmed[pid]
		conn = c
		return pid != 0 && !isHarmed
	})
	return conn, pid
}

// harm asks for a view that is answered.
func harm(t *testing.T, p *smoketest.Process, view string) (status int, err error) {
	t.Helper()
	resp, err := smoketest.Client().Get(p.URL + view)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// TestPythonReloads is F5 on m0serve: SIGHUP under load, with an application that works
// and with one that cannot be loaded.
func TestPythonReloads(t *testing.T) {
	reloads, least := times(5, 20), times(5_000, 20_000)
	p := startWild(t, 2)
	ls := listen(t, p.URL+"/events", 6)
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, random(t), wildWord)
	program := filepath.Join(p.Cmd.Dir, "wild.py")
	good, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	install := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(program, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range reloads {
		c.more(t, least/reloads/2)
		old := p.Workers(t)
		install([]byte("def app(\n"))
		p.Signal(t, syscall.SIGHUP)
		says(t, p, n+1, "the old ones go on serving")
		c.more(t, least/reloads/2)
		sameWorkers(t, p, old) // behind a reload that failed
		install(good)
		p.Signal(t, syscall.SIGHUP)
		says(t, p, n+1, "every worker is replaced")
		for _, pid := range old {
			until(t, "the end of a worker that was replaced", func() bool {
				return smoketest.Gone(pid)
			})
		}
	}
	c.more(t, 50)
	if n := c.Refusals() + len(c.Failures()); n != 0 {
		t.Errorf("%d requests failed or were refused, want 0", n)
	}
	c.verdict(t, least)
	if v := ls.verdict(t, w, 20, 6); v.Told > 0 || v.Doubtful > 0 {
		t.Errorf("%v: want nothing missed, and nothing in doubt", v)
	}
}

// TestDjangoUnderFaults is F1 and F4 on a Django project: workers are killed while
// clients ask, and then the service is told to stop. As with TestKilledWorkers the short
// run kills those of several services.
func TestDjangoUnderFaults(t *testing.T) {
	pyserver.M0serveAlone(t)
	kills, each := times(20, 50), times(4, 50)
	rnd := random(t)
	site, db := djangoSite(t)
	for n := range kills / each {
		if !t.Run(name(n), func(t *testing.T) { killDjango(t, rnd, site, db, each) }) {
			return
		}
	}
}

// djangoSite is the folder of the Django project, and the setting that names a database
// for it that is there.
func djangoSite(t *testing.T) (site, db string) {
	t.Helper()
	db = "SITE_DB=" + filepath.Join(t.TempDir(), "site.sqlite3")
	site, err := filepath.Abs("../django_site")
	if err != nil {
		t.Fatal(err)
	}
	migrate := exec.Command(pyvenv.Python(t), "manage.py", "migrate", "--verbosity=0")
	migrate.Dir, migrate.Env = site, append(migrate.Environ(), db, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	return site, db
}

// killDjango kills workers of one service so many times, and ends it.
func killDjango(t *testing.T, rnd *rand.Rand, site, db string, kills int) {
	p := startPython(t, &servers, pyserver.Config{Dir: site, App: "mysite.wsgi:application",
		Workers: 2, Threads: 2, Env: []string{db}})
	var pair []int
	const some = "some" // worker: Django does not say which
	c := gather(t, p.URL, clients, rnd, func(n int) question {
		q := question{method: "GET", path: "/notes.json",
			worker: func(*http.Response, string) string { return some }}
		if n%2 == 0 {
			q.path = "/"
		}
		return q
	})
	// In pairs of both: whoever dies again and again before it serves ends the service.
	for n := range kills {
		if n%2 == 0 {
			pair = rnd.Perm(2)
		}
		c.more(t, 20+rnd.IntN(100))
		index := pair[n%2]
		old := p.Workers(t)[index]
		from := time.Now()
		smoketest.Kill(t, old, syscall.SIGKILL)
		until(t, "the end of a killed worker", func() bool { return smoketest.Gone(old) })
		c.Died(ledger.Death{Worker: some, From: from, To: time.Now()})
		says(t, p, 1, fmt.Sprintf(`"pid":%d,"index":%d,"signal":"killed"`, old, index))
		until(t, "a successor", func() bool {
			pid := p.Workers(t)[index]
			return pid != 0 && pid != old
		})
	}
	c.more(t, 50)
	if strange := c.Unexplained(clients); len(strange) > 0 {
		t.Errorf("a request failed, and no death explains it: %v", strange[0])
	}
	told := c.endsWith(t, p)
	t.Logf("requests: %v", &c.Requests)
	// What waited for the successor of a killed worker is lost with that when it is told to
	// stop before it serves: it is the death's.
	for _, f := range c.Unexplained(clients) {
		if !isUnseen(f, told) {
			t.Errorf("a request that was accepted before the stop: %v", f)
		}
	}
	if err := c.Floor(kills * 20); err != nil {
		t.Error(err)
	}
}
