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
	"time"

	"m0serve.dev/apps/internal/rawhttp"
)

func TestRootPath(t *testing.T) {
	t.Parallel()
	p := site{args: []string{"--root-path", "/shop/"}}.start(t)
	var environ map[string]any
	for path, info := range map[string]string{
		"/shop/shown": "/shown", "/shown": "/shown", // a proxy may have taken it away
	} {
		askInto(t, p, &environ, path)
		if environ["SCRIPT_NAME"] != "/shop" || environ["PATH_INFO"] != info {
			t.Errorf("GET %s: SCRIPT_NAME %q, PATH_INFO %q; want /shop, %s",
				path, environ["SCRIPT_NAME"], environ["PATH_INFO"], info)
		}
	}
	if r := exchange(t, p, get("/shopshown")); string(r.Body) != "no view /shopshown" {
		t.Errorf("GET /shopshown = %q, want the path whole", r.Body)
	}
	p = site{app: asgiApp, args: []string{"--root-path", "/shop"}}.start(t)
	var scope map[string]any
	askInto(t, p, &scope, "/shop/shown")
	if scope["root_path"] != "/shop" || scope["path"] != "/shop/shown" {
		t.Errorf("root_path %q, path %q; want /shop, and the path whole",
			scope["root_path"], scope["path"])
	}
}

// Variables come from -e, the process and environment files, in this order; the
// application is found in --chdir.
func TestEnvironmentAndDirectory(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	file := filepath.Join(elsewhere, "ops.env")
	write(t, file, "# comment\nexport A=file\nB=file\nC=\"fi le\"\nM0_TIMOUT=9\n")
	pid := filepath.Join(elsewhere, "m0.pid")
	p := site{dir: elsewhere, env: []string{"B=process", "A=process", "M0_WORKRES=2"},
		args: []string{"--chdir", dir, "--env-file", file, "-e", "A=flag", "--pid", pid}}.start(t)
	for name, want := range map[string]string{"A": "flag", "B": "process", "C": "fi le"} {
		if got := ask(t, p, "/variable?name="+name); got != strconv.Quote(want) {
			t.Errorf("%s = %s, want %q", name, got, want)
		}
	}
	if got := ask(t, p, "/where"); got != dir {
		t.Errorf("the application runs in %s, want %s", got, dir)
	}
	for _, meant := range []string{"$M0_TIMOUT has no effect: no setting has this name: did " +
		"you mean M0_TIMEOUT?", "M0_WORKERS?"} {
		if strings.Count(p.Log(), meant) != 1 {
			t.Errorf("the log has not %q, once:\n%s", meant, p.Log())
		}
	}
	text, err := os.ReadFile(pid)
	if want := strconv.Itoa(p.Cmd.Process.Pid); strings.TrimSpace(string(text)) != want {
		t.Errorf("--pid has %q, %v; want the supervisor's %s", text, err, want)
	}
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
	if _, err := os.Stat(pid); !os.IsNotExist(err) {
		t.Errorf("--pid is left behind: %v", err)
	}
}

// A body beyond --limit-request-body is refused before the view is called, whether
// its length is said or found out.
func TestLimitRequestBody(t *testing.T) {
	t.Parallel()
	p := site{args: []string{"--limit-request-body", "1K"}}.start(t)
	for name, text := range map[string]string{
		"length": post("/told", strings.Repeat("x", 1025)),
		"chunks": "POST /told HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"401\r\n" + strings.Repeat("x", 1025) + "\r\n0\r\n\r\n",
		"waits": "POST /told HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n" +
			"Expect: 100-continue\r\n\r\n",
	} {
		if r := exchange(t, p, text); !strings.HasPrefix(r.Status, "413 ") || r.Continues != 0 {
			t.Errorf("%s: %s behind %d answers 100, want 413", name, r.Status, r.Continues)
		}
	}
	if strings.Contains(p.Log(), "OPS told") {
		t.Error("the view was called")
	}
	if r := exchange(t, p, post("/told", strings.Repeat("x", 1024))); len(r.Body) != 1024 {
		t.Errorf("a body of the limit: %s and %d bytes, want 1024", r.Status, len(r.Body))
	}
	logs(t, p, "OPS told", 1)
}

// --limit-concurrency refuses what is beyond it at once.
func TestLimitConcurrency(t *testing.T) {
	t.Parallel()
	for _, s := range []site{
		{args: []string{"--threads", "4", "--limit-concurrency", "2"}},
		{app: asgiApp, args: []string{"--limit-concurrency", "2"}},
	} {
		p := s.start(t)
		var busy []*rawhttp.Conn
		for n := range 2 {
			c := dial(t, p)
			c.Send(get("/sleep?s=4"))
			busy = append(busy, c)
			logs(t, p, "OPS sleeps", n+1)
		}
		begin := time.Now()
		r := exchange(t, p, get("/hello"))
		took := time.Since(begin)
		if !strings.HasPrefix(r.Status, "503 ") || took > 3500*time.Millisecond {
			t.Errorf("%v: a third request: %s after %v, want 503 at once", s.args, r.Status, took)
		}
		for _, c := range busy {
			if r, err := c.Read("GET"); err != nil || r.Status != "200 OK" {
				t.Errorf("%v: a request within the limit: %+v, %v", s.args, r, err)
			}
		}
		ask(t, p, "/hello")
	}
}

// A head that does not become whole in time is 408; a connection that is idle for
// --keep-alive ends, and with 0 each behind its answer.
func TestTimesOfConnections(t *testing.T) {
	t.Parallel()
	p := site{args: []string{"--header-read-timeout", "0.4s", "--keep-alive", "0.6s"}}.start(t)
	c := dial(t, p)
	begin := time.Now()
	c.Send("GET /hello HTTP/1.1\r\nHost: a\r\nX-Slow: ")
	if r, err := c.Read("GET"); err != nil || !strings.HasPrefix(r.Status, "408 ") {
		t.Errorf("half a head: %+v, %v; want 408", r, err)
	}
	if took := time.Since(begin); took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("408 after %v, want 0.4 s", took)
	}
	c = dial(t, p)
	answer(t, c, get("/hello"))
	answer(t, c, get("/hello"))
	begin = time.Now()
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 400*time.Millisecond || took > 3*time.Second {
		t.Errorf("an idle connection ended after %v, want 0.6 s", took)
	}
	p = site{args: []string{"--keep-alive", "0"}}.start(t)
	c = dial(t, p)
	if r := answer(t, c, get("/hello")); r.Get("Connection") != "close" {
		t.Errorf("--keep-alive 0: %q, want the end of the connection announced", r.Fields)
	}
	if err := c.Ended(); err != nil {
		t.Errorf("--keep-alive 0: %v", err)
	}
}
