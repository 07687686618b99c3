// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
)

// sources is the project: each test runs a copy, in a folder of its own.
//
//go:embed manage.py live/*.py board/*.py board/migrations/*.py board/management/*.py
//go:embed board/management/commands/*.py board/templates board/static
var sources embed.FS

var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// A site is the project, served by two workers.
type site struct {
	p       *smoketest.Process
	dir     string
	env     []string
	metrics string // address of the metrics
}

// serve runs the project with env added to its environment.
func serve(t *testing.T, env ...string) *site {
	t.Helper()
	return serveApp(t, "live.wsgi", env...)
}

// elsewhere is a module that makes the project publish to a service that is not there.
const elsewhere = `import os
os.environ["M0_PUBLISH_SOCKET"] = "/nobody/there.sock"
from live.wsgi import application
`

// serveApp is serve for another module than the project's own.
func serveApp(t *testing.T, app string, env ...string) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	publisher, err := filepath.Abs("../../wsgi/python")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{dir: t.TempDir()}
	if err := os.CopyFS(s.dir, sources); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(s.dir, "elsewhere.py")
	if err := os.WriteFile(other, []byte(elsewhere), 0o666); err != nil {
		t.Fatal(err)
	}
	s.metrics = fmt.Sprintf("127.0.0.1:%d", smoketest.FreePort(t))
	s.env = append([]string{
		"PYTHONPATH=" + publisher, "PYTHONDONTWRITEBYTECODE=1", "PATH=" + os.Getenv("PATH"),
	}, env...)
	if out, err := s.manage(t, "migrate", "--verbosity=0").CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	s.p = servers.Start(t, pyserver.Config{
		Dir: s.dir, App: app, Workers: 2, Env: s.env,
		Args: []string{"--realtime", "--static", "/static=board/static", "--metrics", s.metrics},
	})
	return s
}

// manage is a command of manage.py, in a process beside the service.
func (s *site) manage(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(pyvenv.Python(t), append([]string{"manage.py"}, args...)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

var heldCount = regexp.MustCompile(`m0_connections_held\{worker="(\d)"\} (\d+)`)

// held tells how many streams each worker holds.
func (s *site) held(t *testing.T) map[string]string {
	t.Helper()
	resp, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, m := range heldCount.FindAllStringSubmatch(string(text), -1) {
		held[m[1]] = m[2]
	}
	return held
}

// onBoth opens one more stream with open until each worker holds some. A run in which one
// worker has them all proves nothing.
func (s *site) onBoth(t *testing.T, open func()) {
	t.Helper()
	smoketest.Until(t, "streams on each of two workers", func() bool {
		open()
		held := s.held(t)
		return len(held) == 2 && held["0"] != "0" && held["1"] != "0"
	})
}

// A visitor is a client with cookies that follows no redirect.
type visitor struct {
	site   *site
	client *http.Client
	token  string
}

func (s *site) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{site: s, client: &http.Client{
		Jar: jar, Timeout: smoketest.Patience,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	m := tokenInput.FindStringSubmatch(v.page(t))
	if m == nil {
		t.Fatal("the page holds no CSRF token")
	}
	v.token = m[1]
	return v
}

var tokenInput = regexp.MustCompile(`name="csrfmiddlewaretoken" value="([^"]+)"`)

func (v *visitor) page(t *testing.T) string {
	t.Helper()
	resp, err := v.client.Get(v.site.p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return body(t, resp)
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// post sends a form of names and values and gives status and body of the answer.
func (v *visitor) post(t *testing.T, path string, values ...string) (int, string) {
	t.Helper()
	form := url.Values{"csrfmiddlewaretoken": {v.token}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	resp, err := v.client.PostForm(v.site.p.URL+path, form)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body(t, resp)
}

// write posts a comment as a page without script would.
func (v *visitor) write(t *testing.T, text string) {
	t.Helper()
	if status, answer := v.post(t, "/comment", "author", "Ada", "text", text); status != 302 {
		t.Fatalf("POST /comment = %d, want 302: %.500q", status, answer)
	}
}

func (s *site) open(t *testing.T, lastID string) *smoketest.Stream {
	t.Helper()
	return smoketest.Open(t, s.p.URL+"/events", lastID)
}

// is tells whether an event brings a comment of that text.
func is(text string) func(smoketest.Event) bool {
	return func(e smoketest.Event) bool {
		return e.Name == "comment" && strings.Contains(e.Data, "<p>"+text+"</p>")
	}
}

// want fails the test when the next event is not the one that is due.
func want(t *testing.T, s *smoketest.Stream, what string, ok func(smoketest.Event) bool) string {
	t.Helper()
	e := s.Next(t)
	if !ok(e) {
		t.Fatalf("event %+v, want %s", e, what)
	}
	return e.ID
}

func TestSourcesAreWhole(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == "__pycache__" || d.Name() == ".venv") {
				return fs.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".py", ".html", ".css", ".js", ".svg":
			if _, err := fs.Stat(sources, filepath.ToSlash(path)); err != nil {
				t.Errorf("the tests run without %s", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
