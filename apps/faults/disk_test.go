// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/sqlite"
)

// A smallDisk is a file system of 1 MiB.
type smallDisk struct{ dir, ballast string }

func mountSmallDisk(t *testing.T) smallDisk {
	t.Helper()
	skipShort(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a full disk needs root to mount a small one")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("SKIPPED: mount of a small disk: %v", err)
	}
	t.Cleanup(func() { // behind the end of what has files there
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return smallDisk{dir, filepath.Join(dir, "ballast")}
}

// fill leaves no byte.
func (d smallDisk) fill(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
}

// clear makes space again.
func (d smallDisk) clear(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.ballast); err != nil {
		t.Fatal(err)
	}
}

// todos are what was asked of a todo list, by the answer.
type todos struct {
	url            string
	n              int
	kept, refused  []string
	keptBy, fullBy map[string]int // worker → answers
}

func newTodos(p *smoketest.Process) *todos {
	return &todos{url: p.URL, keptBy: map[string]int{}, fullBy: map[string]int{}}
}

// add asks for one more, and fails the test for an answer that is neither yes nor that
// the disk is full.
func (l *todos) add(t *testing.T) (isKept bool) {
	t.Helper()
	l.n++
	text := fmt.Sprintf("todo-%04d.", l.n)
	req, err := http.NewRequest("POST", l.url+"/todos", strings.NewReader(`{"draft":"`+text+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Datastar-Request", "true")
	resp, err := smoketest.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch said := string(body); {
	case err != nil:
		t.Fatal(err)
	case resp.StatusCode == http.StatusOK:
		l.kept = append(l.kept, text)
		l.keptBy[resp.Header.Get("X-Worker")]++
		return true
	case resp.StatusCode != http.StatusInsufficientStorage || !strings.Contains(said, "disk is full"):
		t.Fatalf("POST /todos on a full disk = %d %q, want 507 and why", resp.StatusCode, said)
	}
	l.refused = append(l.refused, text)
	l.fullBy[resp.Header.Get("X-Worker")]++
	return false
}

// heard reads the lists of a stream up to the one with the last todo that was kept. No
// list has one that was refused, ids rise, and the last list has all that was kept.
func (l *todos) heard(t *testing.T, s *smoketest.Stream) {
	t.Helper()
	var list string
	var last uint64
	for lastKept := l.kept[len(l.kept)-1]; !strings.Contains(list, lastKept); {
		e := s.Next(t)
		if id := e.Number(); id != 0 {
			if id <= last {
				t.Errorf("id %d comes behind %d", id, last)
			}
			last = id
		}
		if e.Name != "datastar-patch-elements" {
			continue
		}
		list = e.Data
		for _, text := range l.refused {
			if strings.Contains(list, text) {
				t.Fatalf("%s was refused, and is published", text)
			}
		}
	}
	for _, text := range l.kept {
		if !strings.Contains(list, text) {
			t.Errorf("%s was kept, and the last list lacks it", text)
		}
	}
}

// TestFullDisk is F8 on datastar_todo with two workers over one file: while the disk is
// full writes are refused with 507 by either, reads are served, streams stay and hear
// nothing of what was refused; when there is space again writes are kept at once.
func TestFullDisk(t *testing.T) {
	disk := mountSmallDisk(t)
	file := filepath.Join(disk.dir, "todo.db")
	p := smoketest.Start(t, built(t, "datastar_todo"), "M0_WORKERS=2", "M0_JOURNAL=8", "M0_DB="+file)
	workers := p.Workers(t)
	streams := smoketest.Spread(t, 2, func() *smoketest.Stream {
		return smoketest.Open(t, p.URL+"/todos/stream", "")
	})
	l := newTodos(p)
	if !l.add(t) {
		t.Fatal("the disk is full before it was filled")
	}
	for range times(2, 50) {
		disk.fill(t)
		clear(l.keptBy)
		clear(l.fullBy)
		until(t, "either worker to refuse 5 writes", func() bool {
			l.add(t) // a few fit into what the file has already
			return l.fullBy["0"] >= 5 && l.fullBy["1"] >= 5
		})
		for range 4 {
			p.Get(t, "/")
		}
		disk.clear(t)
		clear(l.keptBy)
		until(t, "either worker to keep a write", func() bool {
			if !l.add(t) {
				t.Fatal("a write is refused when there is space again")
			}
			return l.keptBy["0"] > 0 && l.keptBy["1"] > 0
		})
	}
	for _, s := range streams {
		l.heard(t, s)
	}
	t.Logf("%d writes kept, %d refused", len(l.kept), len(l.refused))
	sameWorkers(t, p, workers)
	if strings.Contains(p.Log(), "panic") {
		t.Error("a worker panicked")
	}
	l.inFile(t, file)
}

// inFile wants the file whole, with what was kept and nothing else.
func (l *todos) inFile(t *testing.T, file string) {
	t.Helper()
	db, err := sqlite.Open(file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	whole, err := sqlite.One[string](t.Context(), db, "PRAGMA integrity_check")
	if err != nil || whole != "ok" {
		t.Errorf("integrity_check: %q, %v", whole, err)
	}
	texts, err := sqlite.All[string](t.Context(), db, "SELECT text FROM todos ORDER BY id")
	if err != nil || strings.Join(texts, " ") != strings.Join(l.kept, " ") {
		t.Errorf("the file has %q, %v; want %q", texts, err, l.kept)
	}
}

// TestClockThatWasAhead is F10 over a restart: what is in the file was published an hour
// in the future, by a clock that has been set right since. Ids go on behind it.
func TestClockThatWasAhead(t *testing.T) {
	bin, file := built(t, "datastar_todo"), filepath.Join(t.TempDir(), "todo.db")
	p := smoketest.Start(t, bin, "M0_DB="+file)
	l := newTodos(p)
	l.add(t)
	p.Kill(t)
	db, err := sqlite.Open(file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(t.Context(), "UPDATE events SET id = id + 3600 * 1000000")
	if err != nil {
		t.Fatal(err)
	}
	last, err := sqlite.One[uint64](t.Context(), db, "SELECT max(id) FROM events")
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	p = smoketest.Start(t, bin, "M0_DB="+file)
	l.url = p.URL
	s := smoketest.Open(t, p.URL+"/todos/stream", strconv.FormatUint(last, 10))
	l.add(t)
	s.Until(t, "the todo of after", func(e smoketest.Event) bool {
		return strings.Contains(e.Data, l.kept[1])
	})
	if id := s.Next(t).Number(); id <= last {
		t.Errorf("id %d behind %d, want a higher one", id, last)
	}
}
