// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// The applications.
const (
	wsgiApp = "ops:app"
	asgiApp = "ops_async:app"
)

// listening finds the address in the banner, of any kind.
var listening = regexp.MustCompile(`listening on ((?:http://|unix:)[^ ]+) \(workers`)

// A site says how m0serve is started. The zero value is the WSGI application on a
// free port of the loopback with one worker of one thread.
type site struct {
	app   string   // "": wsgiApp
	dir   string   // "": the folder of this package
	bind  string   // "": 127.0.0.1:0; "-": none
	args  []string // more flags
	env   []string // NAME=value
	under []string // a command that runs the server's
	files []*os.File
}

// command is what starts the site.
func (s site) command(t *testing.T) *exec.Cmd {
	t.Helper()
	pyserver.M0serveAlone(t)
	line := append([]string{}, s.under...)
	line = append(line, servers.M0serve(t), "--python", pyvenv.Python(t))
	switch s.bind {
	case "":
		line = append(line, "--bind", "127.0.0.1:0")
	case "-":
	default:
		line = append(line, "--bind", s.bind)
	}
	line = append(line, s.args...)
	if s.app == "" {
		s.app = wsgiApp
	}
	cmd := exec.Command(line[0], append(line[1:], s.app)...)
	cmd.Dir = s.dir
	cmd.ExtraFiles = s.files
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + t.TempDir(),
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
	}, s.env...)
	return cmd
}

// launch starts the site and waits for nothing.
func (s site) launch(t *testing.T) *smoketest.Process {
	t.Helper()
	return smoketest.Run(t, s.command(t))
}

// start starts the site and waits until it listens.
func (s site) start(t *testing.T) *smoketest.Process {
	t.Helper()
	p := s.launch(t)
	p.Listening(t, listening)
	return p
}

// get is a request without a body.
func get(path string, fields ...string) string {
	return request("GET", path, "", fields...)
}

// post is a request with one.
func post(path, body string, fields ...string) string {
	return request("POST", path, body, fields...)
}

func request(method, path, body string, fields ...string) string {
	var b strings.Builder
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: ops.example\r\n")
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	if method == "POST" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// dial connects to the site until the end of the test.
func dial(t *testing.T, p *smoketest.Process) *rawhttp.Conn {
	t.Helper()
	c, err := rawhttp.Dial(p.URL)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Log())
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends one request on a connection of its own and returns the answer.
func exchange(t *testing.T, p *smoketest.Process, text string) *rawhttp.Reply {
	t.Helper()
	c := dial(t, p)
	defer c.Close()
	return answer(t, c, text)
}

// answer sends one request on c and returns the answer.
func answer(t *testing.T, c *rawhttp.Conn, text string) *rawhttp.Reply {
	t.Helper()
	c.Send(text)
	method, _, _ := strings.Cut(text, " ")
	r, err := c.Read(method)
	if err != nil {
		line, _, _ := strings.Cut(text, "\r\n")
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

// ask returns the body of the answer to a GET, which has to be 200.
func ask(t *testing.T, p *smoketest.Process, path string, fields ...string) string {
	t.Helper()
	r := exchange(t, p, get(path, fields...))
	if r.Status != "200 OK" {
		t.Fatalf("GET %s: %s %q, want 200 OK", path, r.Status, r.Body)
	}
	return string(r.Body)
}

// askInto decodes the JSON of an answer.
func askInto(t *testing.T, p *smoketest.Process, v any, path string, fields ...string) {
	t.Helper()
	text := ask(t, p, path, fields...)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("GET %s = %q: %v", path, text, err)
	}
}

// logs waits until the service has printed a text so many times.
func logs(t *testing.T, p *smoketest.Process, text string, times int) {
	t.Helper()
	smoketest.Until(t, "log of "+text, func() bool {
		return strings.Count(p.Log(), text) >= times
	})
}

// worker is the pid of the worker at an index; 0 while there is none.
func worker(t *testing.T, p *smoketest.Process, index int) int {
	t.Helper()
	return p.Workers(t)[index]
}

// replaced waits until the site answers from another process than old, which has
// ended, and returns its pid.
func replaced(t *testing.T, p *smoketest.Process, old int) int {
	t.Helper()
	smoketest.Until(t, "the end of worker "+strconv.Itoa(old), func() bool {
		return smoketest.Gone(old)
	})
	pid := 0
	smoketest.Until(t, "a successor", func() bool {
		pid = worker(t, p, 0)
		return pid != 0 && pid != old
	})
	if got := ask(t, p, "/hello"); got != "hello" {
		t.Errorf("GET /hello = %q of the successor, want hello", got)
	}
	return pid
}

// stop sends a signal, and wants the service to end with a status, within a bound,
// and to leave no process behind.
func stop(
	t *testing.T, p *smoketest.Process, sig syscall.Signal, status int, within time.Duration,
) {
	t.Helper()
	begin := time.Now()
	workers := p.Workers(t)
	p.Signal(t, sig)
	left(t, p, workers, begin, status, within)
}

// left wants the service, which was told to end at begin, and its workers gone.
func left(
	t *testing.T, p *smoketest.Process, workers map[int]int, begin time.Time, status int,
	within time.Duration,
) {
	t.Helper()
	if got := p.Wait(t); got != status {
		t.Errorf("exit status %d, want %d\n%s", got, status, p.Log())
	}
	if took := time.Since(begin); took > within {
		t.Errorf("the service took %v to end, want at most %v", took, within)
	}
	for index, pid := range workers {
		if !smoketest.Gone(pid) {
			t.Errorf("worker %d, process %d, outlives the service", index, pid)
		}
	}
}
