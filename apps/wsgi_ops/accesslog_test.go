// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// lines waits until a log has so many lines, and returns them.
func lines(t *testing.T, path string, n int) []string {
	t.Helper()
	var got []string
	smoketest.Until(t, path+" to be written", func() bool {
		text, _ := os.ReadFile(path)
		got = strings.SplitAfter(string(text), "\n")
		return len(got) > n
	})
	if len(got) != n+1 || got[n] != "" {
		t.Fatalf("%s has %q, want %d lines", path, got, n)
	}
	return got[:n]
}

// Each format names the client of a trusted proxy and the request; nothing that a
// request holds can end a line or a quoted value.
func TestAccessLogFormats(t *testing.T) {
	t.Parallel()
	const day = `\[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]`
	common := `203\.0\.113\.9 - - ` + day + ` "GET /hello\?q=1 HTTP/1\.1" 200 5`
	agent := `Mozilla \\" \[x\] \\\\n \\xc3\\xa9`
	for _, tt := range []struct{ name, format, want string }{
		{"json", "json", `\{"time":"[^"]+","remote":"203\.0\.113\.9","method":"GET",` +
			`"path":"/hello","protocol":"HTTP/1\.1","host":"ops\.example","referer":"http://a/",` +
			`"agent":"Mozilla \\" \[x\] \\\\n é","status":200,"bytes":5,"seconds":[0-9.e-]+,` +
			`"pid":\d+\}`},
		{"common", "common", common},
		{"combined", "combined", common + ` "http://a/" "` + agent + `"`},
		{"atoms", `%(m)s %(U)s ?%(q)s %(s)s %(B)s %(h)s %({x-thing}i)s %({content-length}o)s %%`,
			`GET /hello \?q=1 200 5 203\.0\.113\.9 a\\"b 5 %`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "access.log")
			p := site{args: []string{"--access-log", path, "--access-logformat", tt.format}}.start(t)
			ask(t, p, "/hello?q=1", "X-Forwarded-For: 203.0.113.9", "Referer: http://a/",
				`User-Agent: Mozilla " [x] \n é`, `X-Thing: a"b`)
			line := strings.TrimSuffix(lines(t, path, 1)[0], "\n")
			if !regexp.MustCompile("^" + tt.want + "$").MatchString(line) {
				t.Errorf("access log line\n%s, want\n%s", line, tt.want)
			}
		})
	}
}

// A request that tries to write lines of its own writes one, and a line that is
// refused is one as well.
func TestAccessLogCannotBeForged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.log")
	p := site{args: []string{"--access-log", path}}.start(t)
	forged := `%0d%0a{"status":999}`
	exchange(t, p, get("/hello%0a"+forged, "User-Agent: x\" , \"status\": 999 \x85 \u2028"))
	r := exchange(t, p, "GET /hello HTTP/1.1\r\nHost: a\r\nUser-Agent: a\rb\r\n\r\n")
	if !strings.HasPrefix(r.Status, "400 ") {
		t.Errorf("a bare CR in a value: %s, want 400", r.Status)
	}
	for _, line := range lines(t, path, 2) {
		if l := parseLogLine(t, line); l.Status != 404 && l.Status != 400 {
			t.Errorf("status %d in %q, want 404 or 400", l.Status, line)
		}
	}
}

// SIGUSR1 to the service has every worker open the file again, as logrotate asks for.
func TestAccessLogIsReopened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log")
	p := site{args: []string{"--workers", "2", "--access-log", path}}.start(t)
	ask(t, p, "/hello?1")
	lines(t, path, 1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	workers := p.Workers(t)
	p.Signal(t, syscall.SIGUSR1)
	smoketest.Until(t, "both workers to have the new file", func() bool {
		for _, pid := range workers {
			if !hasOpen(pid, path) {
				return false
			}
		}
		return true
	})
	ask(t, p, "/hello?2")
	lines(t, path, 1)
	lines(t, path+".1", 1)
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
}

// A service without a log does not mind.
func TestSIGUSR1WithoutALog(t *testing.T) {
	t.Parallel()
	p := site{}.start(t)
	old := worker(t, p, 0)
	p.Signal(t, syscall.SIGUSR1)
	p.Signal(t, syscall.SIGTTIN) // is taken behind it
	smoketest.Until(t, "two workers", func() bool { return len(p.Workers(t)) == 2 })
	if got := worker(t, p, 0); got != old || strings.Contains(p.Log(), "worker: ended") {
		t.Errorf("worker %d serves, want %d as before", got, old)
	}
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, path string) bool {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == path {
			return true
		}
	}
	return false
}
