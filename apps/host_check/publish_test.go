// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// loop publishes for each line it reads: a count of numbered notes, which are
// published one by one, or =SIZE, one note of that many bytes. It answers with
// "ok FIRST LAST", the ids, or the error.
const loop = `
import sys
import m0pub
n = 0
for line in sys.stdin:
    try:
        if line.startswith("="):
            first = last = m0pub.publish("beat", "x" * int(line[1:]), event="large")
        else:
            first = 0
            for _ in range(int(line)):
                n += 1
                try:
                    last = m0pub.publish("beat", str(n), event="note")
                except m0pub.Unanswered:
                    print("unanswered", n, flush=True)
                    continue
                first = first or last
        print("ok", first, last, flush=True)
    except m0pub.PublishError as error:
        print(type(error).__name__, error, flush=True)
`

// a publisher is a Python process that publishes on demand.
type publisher struct {
	in  io.Writer
	out *bufio.Scanner
}

func startPublisher(t *testing.T, dir string, env ...string) *publisher {
	t.Helper()
	source, err := filepath.Abs("../../wsgi/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(source, "m0pub")); err != nil {
		t.Skip("SKIPPED: no wsgi/python/m0pub beside this module")
	}
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	cmd := exec.Command(exe, "-B", "-c", loop)
	cmd.Dir = dir
	cmd.Env = append([]string{"PYTHONPATH=" + source, "PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	smoketest.StartInGroup(t, cmd)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &publisher{in, bufio.NewScanner(out)}
}

func (p *publisher) ask(t *testing.T, what string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, what); err != nil {
		t.Fatalf("the publisher is gone: %v", err)
	}
}

// line is its next answer.
func (p *publisher) line(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("the publisher is gone: %v", p.out.Err())
	}
	return p.out.Text()
}

// publish asks for notes and wants all of them published.
func (p *publisher) publish(t *testing.T, what string) {
	t.Helper()
	p.ask(t, what)
	if line := p.line(t); !strings.HasPrefix(line, "ok ") {
		t.Fatalf("publish %s: %s", what, line)
	}
}

// a reader hears a service as EventSource does: a stream that is cut (it was slow,
// or its worker missed something) is opened again with the last id.
type reader struct {
	*smoketest.Stream
	url   string
	id    uint64
	beats int // of the other publisher
}

// follow begins to read a stream, with an id to come back with.
func follow(t *testing.T, s *smoketest.Stream, url string) *reader {
	t.Helper()
	r := &reader{Stream: s, url: url}
	for r.id == 0 {
		r.id = s.Next(t).Number()
	}
	return r
}

// notes reads until note last, and wants each note from first on, once and in
// order, but those in missing, which may be there or not; ids only grow, also over
// the beats between them.
func (r *reader) notes(t *testing.T, first, last int, missing map[int]bool) {
	t.Helper()
	deadline := time.Now().Add(smoketest.Patience)
	for next := first; next <= last; {
		if time.Now().After(deadline) {
			t.Fatalf("worker %s: no note %d within %v", r.Worker, next, smoketest.Patience)
		}
		e, ok := r.Read(t)
		if !ok {
			r.Stream = smoketest.Open(t, r.url, strconv.FormatUint(r.id, 10))
			continue
		}
		switch id := e.Number(); {
		case e.Name == "":
			continue // an id on its own
		case id <= r.id:
			t.Errorf("worker %s: id %d behind %d, want ids that grow", r.Worker, id, r.id)
		default:
			r.id = id
		}
		if e.Name != "note" {
			r.beats++
			continue
		}
		n, err := strconv.Atoi(e.Data)
		if err == nil && n < next && next == first {
			continue // what was still on its way to a worker that came late
		}
		for err == nil && next < n && missing[next] {
			next++
		}
		if n != next {
			t.Fatalf("worker %s: note %q where %d was due", r.Worker, e.Data, next)
		}
		next++
	}
	if r.beats == 0 && last > first {
		t.Errorf("vacuous: worker %s brought no beat of the other publisher", r.Worker)
	}
}

func TestPythonPublishesToEveryWorker(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2", "M0_HOSTCHECK_PERIOD_MS=3", "M0_JOURNAL=4096")
	var readers []*reader
	for _, s := range spread(t, p) {
		readers = append(readers, follow(t, s, p.URL+"/events"))
	}
	pub := startPublisher(t, p.Cmd.Dir)
	pub.publish(t, "500")
	for _, s := range readers {
		s.notes(t, 1, 500, nil)
	}
}

// TestPythonPublishesWhileWorkersDie kills the workers in turn, so that the
// publisher's is among them. The other one's stream hears what was published, once
// and in order, whoever had taken it.
func TestPythonPublishesWhileWorkersDie(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2", "M0_HOSTCHECK_PERIOD_MS=5", "M0_JOURNAL=4096")
	pub := startPublisher(t, p.Cmd.Dir)
	const rounds, round = 4, 1500
	for r := range rounds {
		victim, other := r%2, strconv.Itoa(1-r%2)
		var kept *reader
		for _, s := range spread(t, p) {
			if s.Worker == other && kept == nil {
				kept = follow(t, s, p.URL+"/events")
			}
		}
		old := p.Workers(t)[victim]
		pub.ask(t, strconv.Itoa(round))
		kept.notes(t, r*round+1, r*round+1, nil)
		smoketest.Kill(t, old, syscall.SIGKILL)
		missing := pub.round(t)
		kept.notes(t, r*round+2, (r+1)*round, missing)
		untilServes(t, p, victim, old)
	}
}

// round waits for the end of a round and returns what had no answer: at most what
// was on its way when the worker died.
func (p *publisher) round(t *testing.T) map[int]bool {
	t.Helper()
	missing := make(map[int]bool)
	for line := p.line(t); !strings.HasPrefix(line, "ok "); line = p.line(t) {
		n, err := strconv.Atoi(strings.TrimPrefix(line, "unanswered "))
		if err != nil || len(missing) > 0 {
			t.Fatalf("in a round with one dead worker, and %v unanswered: %s", missing, line)
		}
		missing[n] = true
	}
	return missing
}

func TestPythonPublishesOverARestart(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	pub := startPublisher(t, p.Cmd.Dir)
	pub.publish(t, "1")
	old := p.Workers(t)
	p.Signal(t, syscall.SIGHUP) // a rolling restart is nobody's concern
	until(t, "both workers to be replaced", func() bool {
		pub.publish(t, "20")
		s, ok := askFleet(p)
		return ok && len(s.Fleet) == 2 && s.Fleet[0].PID != old[0] && s.Fleet[1].PID != old[1]
	})
	pub.publish(t, "1")
	p.Signal(t, syscall.SIGTERM)
	if code := p.Wait(t); code != 0 {
		t.Fatalf("exit %d, want 0", code)
	}
	pub.ask(t, "1")
	if line := pub.line(t); !strings.HasPrefix(line, "NobodyListens m0pub: nobody listens") ||
		!strings.Contains(line, p.Cmd.Dir) {
		t.Errorf("publishing to nobody: %s; want that said, with the directory", line)
	}
	again := smoketest.StartIn(t, p.Cmd.Dir, bin)
	s := smoketest.Open(t, again.URL+"/events", "")
	pub.publish(t, "1")
	s.Until(t, "the note", func(e smoketest.Event) bool { return e.Name == "note" })
}

func TestPythonPublishesLargeNotes(t *testing.T) {
	skipShort(t)
	// A beat behind the large note would be more than a stream keeps for its client.
	p := smoketest.Start(t, bin, "M0_WORKERS=2", "M0_HOSTCHECK_PERIOD_MS=60000")
	streams := spread(t, p)
	pub := startPublisher(t, p.Cmd.Dir)
	pub.publish(t, "=1048576")
	for _, s := range streams {
		e := s.Until(t, "the large note", func(e smoketest.Event) bool { return e.Name == "large" })
		if len(e.Data) != 1<<20 || strings.Trim(e.Data, "x") != "" {
			t.Errorf("worker %s: a note of 1 MiB came as %d bytes", s.Worker, len(e.Data))
		}
	}
	for size, want := range map[string]string{
		"=5242880": "Refused m0pub: data has 5242880 bytes, at most 4194304",
		"=4194304": "Refused m0pub: refused: bus: body is too large: 41943",
	} {
		pub.ask(t, size)
		if line := pub.line(t); !strings.HasPrefix(line, want) {
			t.Errorf("a note of %s bytes: %s; want %s", size[1:], line, want)
		}
	}
	pub.publish(t, "1")
}

func TestTwoServicesOfADirectoryAreToldApart(t *testing.T) {
	skipShort(t)
	a := smoketest.Start(t, bin)
	b := smoketest.StartIn(t, a.Cmd.Dir, bin)
	pub := startPublisher(t, a.Cmd.Dir)
	pub.ask(t, "1")
	line := pub.line(t)
	const want = "SeveralListen m0pub: 2 services run in this directory, and which one is meant?"
	if !strings.HasPrefix(line, want) {
		t.Fatalf("publishing beside two services: %s; want %s", line, want)
	}
	port := b.URL[strings.LastIndexByte(b.URL, ':')+1:]
	for _, path := range strings.Split(line[strings.LastIndex(line, ": ")+2:], ", ") {
		if !strings.HasSuffix(path, "-"+port+".sock") {
			continue
		}
		s := smoketest.Open(t, b.URL+"/events", "")
		startPublisher(t, a.Cmd.Dir, "M0_PUBLISH_SOCKET="+path).publish(t, "1")
		s.Until(t, "the note", func(e smoketest.Event) bool { return e.Name == "note" })
		return
	}
	t.Errorf("%s names no socket of port %s", line, port)
}

// TestStoppedWorkerHoldsUpNoPublisher: its connections are silent until it goes
// on; new ones are taken by the sibling.
func TestStoppedWorkerHoldsUpNoPublisher(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	kept := spread(t, p)
	publish := func(n string) time.Duration {
		begun := time.Now()
		startPublisher(t, p.Cmd.Dir).publish(t, n)
		return time.Since(begun)
	}
	usual := publish("99")
	stopped := p.Workers(t)[0]
	smoketest.Stop(t, stopped)
	if d := publish("100"); d > 3*time.Second+5*usual {
		t.Errorf("100 notes beside a stopped worker took %v, without %v: want no wait for it", d, usual)
	}
	for _, s := range kept {
		if s.Worker == "1" {
			s.Until(t, "the last note", func(e smoketest.Event) bool { return e.Data == "100" })
		}
	}
}
