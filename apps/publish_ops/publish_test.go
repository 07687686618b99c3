// SPDX-License-Identifier: MIT

//go:build linux

package publishops

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

const djangoApp = "shop.asgi"

// TestPublishFromEverywhere: whatever code of a project publishes, all streams of both
// workers get it once, under the id that the publisher was told.
func TestPublishFromEverywhere(t *testing.T) {
	s := start(t, both(djangoApp))
	streams := s.streams(t, "news")
	for _, how := range []string{"directly", "in_a_thread", "in_a_child", "in_a_fork"} {
		var said struct {
			ID    uint64
			Error string
			Text  string
		}
		s.into(t, &said, "say", "how", how, "channel", "news", "data", how)
		if said.ID == 0 {
			t.Fatalf("a view that publishes %s: %s: %s", how, said.Error, said.Text)
		}
		expect(t, streams, how, strconv.FormatUint(said.ID, 10))
	}
	for _, args := range [][]string{
		{"manage.py", "announce", "news", "from a command"},
		{"-m", "m0pub", "news", "from a shell"},
	} {
		out, status := s.run(t, args...)
		if _, err := strconv.ParseUint(out, 10, 64); err != nil || status != 0 {
			t.Fatalf("%q = %q, status %d; want an id, 0", args, out, status)
		}
		expect(t, streams, args[len(args)-1], out)
	}
}

// TestPublishMany: events of one call come in order, from wherever.
func TestPublishMany(t *testing.T) {
	s := start(t, both(djangoApp))
	streams := s.streams(t, "news")
	s.get(t, "say", "how", "many", "channel", "news", "data", "n")
	for i := range 50 {
		expect(t, streams, fmt.Sprintf("n %d", i), "")
	}
}

// atTheEnd is the word of an exit handler that has published, with the id; a traceback has
// its source line alone.
var atTheEnd = regexp.MustCompile(`published at the end: [0-9]`)

// TestPublishWithOneThread: a view publishes from the only thread of the only worker,
// which serves the socket as well; so does an exit handler, when the rest is over.
func TestPublishWithOneThread(t *testing.T) {
	s := start(t, pyserver.Config{App: "plain:app", Workers: 1, Threads: 1})
	began := time.Now()
	var ids []uint64
	s.into(t, &ids, "", "count", "200")
	if took := time.Since(began); len(ids) != 200 || took > 4*time.Second {
		t.Errorf("200 events took %v, and have %d ids; want less than one timeout", took, len(ids))
	}
	for i, id := range ids[1:] {
		if id <= ids[i] {
			t.Errorf("id %d behind id %d; want them to grow", id, ids[i])
		}
	}
	s.Signal(t, syscall.SIGTERM)
	if status := s.Wait(t); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	if !atTheEnd.MatchString(s.Log()) {
		t.Errorf("the exit handler did not publish:\n%s", s.Log())
	}
}

// TestStoppedSiblingHoldsUpNobody: while one worker is stopped, views of the other publish
// as quickly as ever.
func TestStoppedSiblingHoldsUpNobody(t *testing.T) {
	s := start(t, both("plain:app"))
	for range 20 { // both have published, on whatever they keep for the next time
		s.get(t, "", "count", "1")
		http.DefaultClient.CloseIdleConnections()
	}
	for index, pid := range s.Workers(t) {
		// One connection, so that the answers are those of one worker.
		// m0pub would wait for 5 s for an answer.
		client := http.Client{Timeout: 4 * time.Second,
			Transport: &http.Transport{MaxConnsPerHost: 1}}
		s.awaken(t, &client, pid)
		began := time.Now()
		r, err := client.Get(s.URL + "/?count=500")
		if err != nil {
			t.Fatalf("with worker %d stopped: %v", index, err)
		}
		r.Body.Close()
		if took := time.Since(began); r.StatusCode != 200 || took > 3*time.Second {
			t.Errorf("with worker %d stopped 500 events: %s in %v", index, r.Status, took)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		client.CloseIdleConnections()
	}
}

// awaken stops a worker, and gives client a connection to another.
func (s *site) awaken(t *testing.T, client *http.Client, stopped int) {
	t.Helper()
	smoketest.Stop(t, stopped)
	smoketest.Until(t, "an answer of the worker that runs", func() bool {
		r, err := client.Get(s.URL + "/?count=0")
		if err != nil {
			client.CloseIdleConnections()
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return true
	})
}

// socketPath is the publish socket of the service, which is the only one that has this
// directory.
func socketPath(t *testing.T, s *site) string {
	t.Helper()
	out, status := s.run(t, "-c", "import m0pub._find as f; print(f.candidates()[0])")
	if status != 0 {
		t.Fatalf("no socket is found: %s", out)
	}
	return out
}

// TestNobodyListens: behind the end of a service its socket is gone, and who publishes is
// told what to do; with the socket off so is who is outside.
func TestNobodyListens(t *testing.T) {
	s := start(t, both("plain:app"))
	path := socketPath(t, s)
	s.Signal(t, syscall.SIGTERM)
	if status := s.Wait(t); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	out, status := s.run(t, "-m", "m0pub", "news", "x")
	if want := "nobody listens: no service of this user runs in " + s.dir; status != 1 ||
		!strings.Contains(out, want) || !strings.Contains(out, "Start the service (m0serve)") {
		t.Errorf("m0pub = %q, status %d; want %q and the cure, 1", out, status, want)
	}
	for _, left := range []string{path, path + ".old", filepath.Dir(path)} {
		if _, err := os.Lstat(left); !os.IsNotExist(err) {
			t.Errorf("Lstat(%s) = %v; want nothing left of the service", left, err)
		}
	}
	off := start(t, pyserver.Config{App: djangoApp, Env: []string{"M0_PUBLISH_SOCKET=off"}})
	var said struct {
		ID    uint64
		Error string
	}
	if off.into(t, &said, "say", "how", "directly", "channel", "news", "data", "x"); said.ID == 0 {
		t.Errorf("a view without a socket: %s; want an id, since it needs none", said.Error)
	}
	if out, status := off.run(t, "-m", "m0pub", "news", "x"); status != 1 {
		t.Errorf("m0pub of a service without a socket = %q, status %d; want 1", out, status)
	}
}

// TestSocketThatIsTaken: a socket that was asked for and cannot be had ends the start.
func TestSocketThatIsTaken(t *testing.T) {
	s := start(t, pyserver.Config{App: "plain:app"})
	path := socketPath(t, s)
	p := servers.Launch(t, pyserver.Config{App: "plain:app", Dir: s.dir,
		Env: []string{"M0_PUBLISH_SOCKET=" + path}})
	status := p.Wait(t)
	if want := "M0_PUBLISH_SOCKET: "; status != 1 || !strings.Contains(p.Log(), want) ||
		!strings.Contains(p.Log(), "another service listens there") {
		t.Errorf("status %d, want 1, and %q in\n%s", status, want, p.Log())
	}
	if out, status := s.run(t, "-m", "m0pub", "news", "x"); status != 0 {
		t.Errorf("m0pub to the one that has it = %q, status %d; want 0", out, status)
	}
}

// TestSocketOfAnotherDirectory: --chdir is where the project is, and where people type
// its commands.
func TestSocketOfAnotherDirectory(t *testing.T) {
	s := start(t, pyserver.Config{App: "plain:app", Args: []string{"--chdir", "shop",
		"--pythonpath", ".."}})
	s.dir = filepath.Join(s.dir, "shop")
	cmd := s.shell(t, "-m", "m0pub", "news", "x")
	cmd.Env = append(cmd.Env, "PYTHONPATH=..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("m0pub in the folder of --chdir: %v\n%s", err, out)
	}
}

// TestReservedNamesAtTheSocket: a name that is the server's own is refused to every
// process (contract row B4), and the rest of its batch is published.
func TestReservedNamesAtTheSocket(t *testing.T) {
	s := start(t, both(djangoApp))
	streams := s.streams(t, "news")
	var said struct{ Error, Text string }
	s.into(t, &said, "say", "how", "directly", "channel", "\x01journal", "data", "x")
	if said.Error != "Refused" || !strings.Contains(said.Text, "reserved for the server") {
		t.Errorf("a view that publishes to \\x01journal: %s: %s; want Refused", said.Error, said.Text)
	}
	const batch = `
import m0pub
try:
    m0pub.publish_many([("news", "1"), ("\x01journal", "2"), ("news", "3")])
except m0pub.Refused as error:
    print(sorted(error.reasons), len([i for i in error.ids if i]), error)
`
	out, _ := s.run(t, "-c", batch)
	if want := "[1] 2 m0pub: refused: 1 of 3, message 1: "; !strings.HasPrefix(out, want) ||
		!strings.Contains(out, "reserved for the server") {
		t.Errorf("publish_many = %q; want %q", out, want)
	}
	expect(t, streams, "1", "")
	expect(t, streams, "3", "")
}

// TestKilledWorkersWhilePublishing: both workers are killed in turn, so the one that a
// publisher is connected to is among them. It goes on, and is told where nobody knows.
// What had an id reaches the streams of the worker that stays, in order and once, and
// that worker is a successor itself.
func TestKilledWorkersWhilePublishing(t *testing.T) {
	s := start(t, both(djangoApp))
	workers := s.Workers(t)
	cmd := s.shell(t, "flood.py")
	stop, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	smoketest.StartInGroup(t, cmd)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	kill(t, workers[1])
	var stream *smoketest.Stream
	smoketest.Until(t, "a stream of the successor", func() bool {
		stream = smoketest.Open(t, s.URL+"/events?channel=flood", "")
		return stream.Worker != strconv.Itoa(workers[0])
	})
	first := stream.Next(t)
	kill(t, workers[0])
	seen := map[string]string{first.Data: first.ID}
	for last := first; last.Data != "end"; {
		e := stream.Next(t)
		if e.Number() <= last.Number() {
			t.Errorf("id %s behind id %s; want each once, in order", e.ID, last.ID)
		}
		seen[e.Data], last = e.ID, e
		if len(seen) == 200 {
			_ = stop.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("flood.py: %v", err)
			}
			s.run(t, "-m", "m0pub", "flood", "end")
		}
	}
	checkFlood(t, out.String(), first.Data, seen)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

var flooded = regexp.MustCompile(`(?m)^(\d+) (\w+)$`)

// checkFlood compares what flood.py was told with what a stream has seen since the event
// number first.
func checkFlood(t *testing.T, out, first string, seen map[string]string) {
	t.Helper()
	from, _ := strconv.Atoi(first)
	known, unknown := 0, 0
	for _, m := range flooded.FindAllStringSubmatch(out, -1) {
		number, _ := strconv.Atoi(m[1])
		switch {
		case m[2] == "unanswered":
			unknown++
		case number < from:
		case seen[m[1]] != m[2]:
			t.Errorf("event %s was published under id %s, and came under %q", m[1], m[2], seen[m[1]])
		default:
			known++
		}
	}
	if known < 190 || unknown > 2 {
		t.Errorf("%d events have ids and %d are unanswered; want 190, and two at most", known, unknown)
	}
}

// TestForkedChildHasNoSocket: a child of fork that outlives the service holds its publish
// socket no more than its port: who publishes is told at once that nobody listens.
func TestForkedChildHasNoSocket(t *testing.T) {
	s := start(t, pyserver.Config{App: djangoApp})
	var orphan struct{ ID int }
	s.into(t, &orphan, "say", "how", "orphan", "channel", "", "data", "")
	t.Cleanup(func() { _ = syscall.Kill(orphan.ID, syscall.SIGKILL) })
	worker := s.Workers(t)[0]
	s.Signal(t, syscall.SIGKILL)
	s.Wait(t)
	smoketest.Until(t, "the end of the worker", func() bool {
		return syscall.Kill(worker, 0) == syscall.ESRCH
	})
	if err := syscall.Kill(orphan.ID, 0); err != nil {
		t.Fatalf("the child of fork has ended (%v): nothing is proven", err)
	}
	if out, status := s.run(t, "-m", "m0pub", "news", "x"); status != 1 ||
		!strings.HasPrefix(out, "m0pub: nobody listens") {
		t.Errorf("m0pub = %q, status %d; want that nobody listens, 1", out, status)
	}
}

// TestM0pubOfTheEngine: an application has m0pub without installing it, in a child that
// it forks as well; where one is installed, it has that.
func TestM0pubOfTheEngine(t *testing.T) {
	for _, installed := range []bool{false, true} {
		s := startWith(t, pyserver.Config{App: "alone:app"}, installed)
		want := "<m0serve>/m0pub.py"
		if installed {
			want = filepath.Join(s.dir, "m0pub", "__init__.py")
		}
		if got := s.get(t, ""); got != want {
			t.Errorf("installed=%v: the application has %q, want %q", installed, got, want)
		}
	}
}
