// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

var sinceInPage = regexp.MustCompile(`/todos/stream\?since=(\d+)`)

// TestSmokePageContinuesFromItsOwnState: what happens between the page and the
// stream that it opens is not lost, and what the page shows does not come again.
func TestSmokePageContinuesFromItsOwnState(t *testing.T) {
	p := start(t, newDB(t), "M0_WORKERS=2")
	openSince := func() *smoketest.Stream {
		_, page, _ := send(t, "GET", p.URL+"/", nil)
		m := sinceInPage.FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the page opens no stream with ?since=:\n%s", page)
		}
		return smoketest.Open(t, p.URL+"/todos/stream?since="+m[1], "")
	}
	withText := func(s *smoketest.Stream, text string) {
		s.Until(t, "a list with "+text, func(e smoketest.Event) bool {
			return strings.Contains(e.Data, text)
		})
		s.Next(t) // its id
	}
	_, page, _ := send(t, "GET", p.URL+"/", nil)
	post(t, p, "first of all.")
	empty := sinceInPage.FindStringSubmatch(page)
	withText(smoketest.Open(t, p.URL+"/todos/stream?since="+empty[1], ""), "first of all.")

	_, page, _ = send(t, "GET", p.URL+"/", nil)
	between := sinceInPage.FindStringSubmatch(page)
	post(t, p, "in between.")
	withText(smoketest.Open(t, p.URL+"/todos/stream?since="+between[1], ""), "in between.")

	current := openSince()
	current.Next(t) // the signals that say it is live
	current.Silent(t, 100*time.Millisecond)
}

// TestSmokeWorksWithoutTheClient: the form alone adds a todo.
func TestSmokeWorksWithoutTheClient(t *testing.T) {
	p := start(t, newDB(t))
	resp, err := http.PostForm(p.URL+"/todos", url.Values{"draft": {"by form"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Request.URL.Path != "/" || resp.StatusCode != 200 {
		t.Errorf("POST of the form led to %s, %d; want back to the page", resp.Request.URL.Path,
			resp.StatusCode)
	}
	if _, page, _ := send(t, "GET", p.URL+"/", nil); !strings.Contains(page, "by form") {
		t.Error("the todo of the form is not on the page")
	}
}

// TestSmokeRefusesWrongSettings: each ends the start with 78 and says why.
func TestSmokeRefusesWrongSettings(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"M0_DATASTAR_JS=/no/such/file.js", "M0_DATASTAR_JS"},
		{"M0_TODO_RENDER_PAUSE_MS=soon", "M0_TODO_RENDER_PAUSE_MS"},
		{"M0_DB=/no/such/folder/todo.db", `M0_DB: sqlite: open "/no/such/folder/todo.db"`},
		{"M0_PORT=http", "M0_PORT"},
	} {
		for _, workers := range []string{"M0_WORKERS=1", "M0_WORKERS=2"} {
			smoketest.Refused(t, bin, c.want, c.env, workers)
		}
	}
}

// TestDoctorLooksAtTheDatabase, which it neither makes nor opens.
func TestDoctorLooksAtTheDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "todo.db")
	look := func(path string) diagnosis.Line {
		var r diagnosis.Report
		doctor(&config.App{DB: path}, &r)
		return r.Lines[0]
	}
	for range 2 {
		if l := look(path); l.Mark != diagnosis.Note || !strings.HasSuffix(l.Text, "will be made") {
			t.Errorf("doctor of a database that is not there = %+v", l)
		}
	}
	if l := look(dir); l.Mark != diagnosis.Problem || l.Text != dir+" is no file" {
		t.Errorf("doctor of a directory = %+v", l)
	}
	if l := look(filepath.Join(dir, "no", "todo.db")); l.Mark != diagnosis.Problem ||
		l.Cure != "make it: mkdir -p "+filepath.Join(dir, "no") {
		t.Errorf("doctor of a path without its directory = %+v", l)
	}
}

// TestSmokeDrainBehindNginxCutsStreams: nginx speaks HTTP/1.0 to the service,
// where a FIN would be a clean end; the client behind it has to see a cut.
func TestSmokeDrainBehindNginxCutsStreams(t *testing.T) {
	port := smoketest.FreePort(t)
	p := start(t, newDB(t), "M0_WORKERS=2", fmt.Sprintf("M0_PORT=%d", port))
	url := smoketest.Nginx(t, port)
	var streams []*smoketest.Stream
	for range 4 {
		s := smoketest.Open(t, url+"/todos/stream", "")
		s.Next(t)
		streams = append(streams, s)
	}
	p.Signal(t, syscall.SIGTERM)
	for _, s := range streams {
		if !s.Ended(t) {
			t.Error("a drained stream ends cleanly behind nginx; want it cut")
		}
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("the service ended with %d; want 0", code)
	}
}
