// SPDX-License-Identifier: MIT

//go:build linux

package publishops

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/wsgi/python"
)

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// A site is one running service in a directory of its own, so that who looks for the
// service by its directory finds no other.
type site struct {
	*smoketest.Process
	dir string
}

// start serves an application of this folder, with m0pub beside it.
func start(t *testing.T, cfg pyserver.Config) *site {
	t.Helper()
	return startWith(t, cfg, true)
}

// startWith is start with m0pub beside the application, or with none at all.
func startWith(t *testing.T, cfg pyserver.Config, m0pub bool) *site {
	t.Helper()
	pyserver.M0serveAlone(t)
	cfg.Dir = t.TempDir()
	// The applications are the files that are no Go; a test folder has no secrets.
	if err := os.CopyFS(cfg.Dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if m0pub {
		if err := os.CopyFS(cfg.Dir, python.Publisher()); err != nil {
			t.Fatal(err)
		}
	}
	return &site{servers.Start(t, cfg), cfg.Dir}
}

// both are two workers of an application.
func both(app string) pyserver.Config { return pyserver.Config{App: app, Workers: 2} }

// get returns the body of the answer to a GET, which has to be 200.
func (s *site) get(t *testing.T, view string, query ...string) string {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Add(query[i], query[i+1])
	}
	client := http.Client{Timeout: smoketest.Patience}
	view += "?" + values.Encode()
	r, err := client.Get(s.URL + "/" + view)
	if err != nil {
		t.Fatalf("GET /%s: %v\n%s", view, err, s.Log())
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("GET /%s = %s %q, %v; want 200\n%s", view, r.Status, body, err, s.Log())
	}
	return string(body)
}

// into decodes what get returns.
func (s *site) into(t *testing.T, v any, view string, query ...string) {
	t.Helper()
	text := s.get(t, view, query...)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("GET /%s = %q: %v", view, text, err)
	}
}

// streams opens streams of a channel until each of two workers holds two.
func (s *site) streams(t *testing.T, channel string) []*smoketest.Stream {
	t.Helper()
	at := s.URL + "/events?channel=" + url.QueryEscape(channel)
	return smoketest.Spread(t, 2, func() *smoketest.Stream { return smoketest.Open(t, at, "") })
}

// expect reads the next event of every stream, which has to have these data.
func expect(t *testing.T, streams []*smoketest.Stream, data string, id string) {
	t.Helper()
	for i, stream := range streams {
		if e := stream.Next(t); e.Data != data || (id != "" && e.ID != id) {
			t.Fatalf("stream %d of worker %s: id %s, %q; want id %s, %q",
				i, stream.Worker, e.ID, e.Data, id, data)
		}
	}
}

// shell is a command of the virtual environment's python in the service's directory,
// as a person types it: its environment knows nothing of the service.
func (s *site) shell(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(pyvenv.Python(t), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"PYTHONDONTWRITEBYTECODE=1"}
	return cmd
}

// run runs a shell command and returns what it prints.
func (s *site) run(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	cmd := s.shell(t, args...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%q: %v", args, err)
	}
	return strings.TrimSpace(string(text)), cmd.ProcessState.ExitCode()
}

// metric is the sum of a metric's samples. A worker that is busy is left out of a
// scrape, so there may be none for a while.
func metric(t *testing.T, at, name string) (sum float64) {
	t.Helper()
	smoketest.Until(t, "a sample of "+name, func() (found bool) {
		sum, found = scrape(at, name)
		return found
	})
	return sum
}

func scrape(at, name string) (sum float64, found bool) {
	r, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		return 0, false
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var value float64
		series, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, _, _ := strings.Cut(series, "{"); n != name {
			continue
		}
		if _, err := fmt.Sscan(rest, &value); err == nil {
			sum, found = sum+value, true
		}
	}
	return sum, found
}
