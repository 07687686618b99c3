// SPDX-License-Identifier: MIT

//go:build linux

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
)

var address = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+) \(workers 2\)`)

// The command of the README, which builds what it needs, serves the page with its files and
// holds its stream, and ends as m0serve does.
func TestLaunch(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: builds m0serve")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "django_live")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--bind", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(gocache)),
		"XDG_CACHE_HOME="+dir, "VIRTUAL_ENV="+pyvenv.Find(t), "LIVE_DB="+filepath.Join(dir, "live.db"))
	p := smoketest.Run(t, cmd)
	begins := func(step string) bool { return strings.Contains(p.Log(), step) || p.Ended() != "" }
	// It builds m0serve and migrates a database, which takes as long as the machine lets it.
	for ready := time.Now().Add(5 * time.Minute); !begins("starting"); time.Sleep(time.Millisecond) {
		if time.Now().After(ready) {
			t.Fatalf("m0serve is not started; so far:\n%s", p.Log())
		}
	}
	p.Listening(t, address)
	for path, kind := range map[string]string{
		"/": "text/html", "/static/board/live.js": "text/javascript", "/events": "text/event-stream",
	} {
		resp, err := http.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 ||
			!strings.HasPrefix(got, kind) {
			t.Errorf("GET %s = %s, %q, want 200 and %s", path, resp.Status, got, kind)
		}
	}
	p.Signal(t, syscall.SIGTERM)
	if status := p.Wait(t); status != 0 {
		t.Errorf("it ended with %d, want 0", status)
	}
}
