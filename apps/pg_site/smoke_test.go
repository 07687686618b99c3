// SPDX-License-Identifier: MIT

//go:build linux

package pgsite

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

const (
	workers = 2
	atOnce  = 2 * time.Second        // an event that nothing holds up, on a busy machine
	settled = 300 * time.Millisecond // how long a second delivery would be waited for
)

// A site is the application behind m0serve.
type site struct {
	*smoketest.Process
	admin string // where the metrics are
}

func config(env []string, args ...string) pyserver.Config {
	return pyserver.Config{Dir: ".", App: "streams:app", Workers: workers, Threads: 1,
		Env: env, Args: args}
}

// launch starts the application on two workers of one thread each, with a DSN in the
// environment.
func launch(t *testing.T, dsn string, args ...string) *site {
	t.Helper()
	pyserver.M0serveAlone(t)
	admin := "127.0.0.1:" + strconv.Itoa(smoketest.FreePort(t))
	args = append([]string{"--realtime", "--metrics", admin}, args...)
	return &site{servers.Start(t, config([]string{"M0_PG_LISTEN=" + dsn}, args...)),
		"http://" + admin}
}

// start is launch for a cluster that runs, and waits until it is listened to.
func start(t *testing.T, c *postgres.Cluster, args ...string) *site {
	t.Helper()
	s := launch(t, c.DSN("postgres"), args...)
	s.listening(t, 1)
	return s
}

func get(t *testing.T, address string) (string, error) {
	client := smoketest.Client()
	resp, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", address, resp.Status, text)
	}
	return string(text), err
}

// ask calls a view; more are pairs of a name and its value.
func (s *site) ask(t *testing.T, view string, more ...string) string {
	t.Helper()
	text, err := get(t, s.URL+target(view, more...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func target(view string, more ...string) string {
	q := url.Values{}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return view + "?" + q.Encode()
}

// figure is a figure of the metrics, -1 while there is none, as while worker 0 is not
// there. Labels are as they are written.
func (s *site) figure(t *testing.T, name string) int {
	text, err := get(t, s.admin+"/metrics")
	if err != nil {
		return -1
	}
	all := regexp.MustCompile("(?m)^"+name+`([{][^}]*})? (\d+)$`).FindAllStringSubmatch(text, -1)
	if len(all) != 1 {
		return -1
	}
	n, _ := strconv.Atoi(all[0][2])
	return n
}

func (s *site) listening(t *testing.T, want int) {
	t.Helper()
	smoketest.Until(t, fmt.Sprintf("m0_postgres_listening of %d", want), func() bool {
		return s.figure(t, "m0_postgres_listening") == want
	})
}

// wantFigures compares figures of the metrics.
func (s *site) wantFigures(t *testing.T, want map[string]int) {
	t.Helper()
	for name, n := range want {
		if got := s.figure(t, name); got != n {
			t.Errorf("%s is %d, want %d", name, got, n)
		}
	}
}

// dial opens a connection to the worker at an index, which stays on it.
func (s *site) dial(t *testing.T, index int) *rawhttp.Conn {
	t.Helper()
	pid := strconv.Itoa(s.Workers(t)[index])
	var conn *rawhttp.Conn
	var others []*rawhttp.Conn // kept meanwhile, so that the next one is another worker's
	smoketest.Until(t, fmt.Sprintf("a connection to worker %d, process %s", index, pid),
		func() bool {
			c, err := rawhttp.Dial(s.URL)
			if err != nil {
				return false
			}
			conn = c
			send(c, "/worker")
			r, err := c.Read("GET")
			if err != nil || string(r.Body) != pid {
				others = append(others, c)
				return false
			}
			return true
		})
	for _, c := range others {
		c.Close()
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func send(c *rawhttp.Conn, target string) {
	c.Send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
}

// stream opens a stream of channel a on the worker at an index.
func (s *site) stream(t *testing.T, index int) *rawhttp.Conn {
	t.Helper()
	c := s.dial(t, index)
	send(c, target("/stream", "channel", "a"))
	if _, err := c.ReadHead("GET"); err != nil {
		t.Fatal(err)
	}
	if hi, err := c.Piece(); err != nil || hi != ": hi\n\n" {
		t.Fatalf("the stream begins with %q, %v", hi, err)
	}
	return c
}

// streams opens two streams on each worker.
func (s *site) streams(t *testing.T) (all []*rawhttp.Conn) {
	t.Helper()
	for i := range 2 * workers {
		all = append(all, s.stream(t, i%workers))
	}
	return all
}

// idLine is the one line that differs from event to event.
var idLine = regexp.MustCompile(`(?m)^id: \d+\n`)

// next is the next event of every stream, which has to be the same to the byte and is
// returned without its id.
func next(t *testing.T, streams []*rawhttp.Conn) string {
	t.Helper()
	first := ""
	for i, c := range streams {
		got, err := c.Piece()
		if err != nil {
			t.Fatalf("stream %d: %q, %v; want an event", i, got, err)
		}
		if i == 0 {
			first = got
		}
		if got != first {
			t.Fatalf("stream %d got %q, stream 0 %q; want the same", i, got, first)
		}
	}
	if len(idLine.FindAllString(first, -1)) != 1 {
		t.Fatalf("got %q, want an event with an id", first)
	}
	return idLine.ReplaceAllString(first, "")
}

func wantNext(t *testing.T, streams []*rawhttp.Conn, name, data string) {
	t.Helper()
	if got, want := next(t, streams), "event: "+name+"\ndata: "+data+"\n\n"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// silent wants nothing more on any stream.
func silent(t *testing.T, streams []*rawhttp.Conn) {
	t.Helper()
	time.Sleep(settled)
	for i, c := range streams {
		if err := c.Silent(time.Millisecond); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
}

func numbered(n int) string {
	return postgres.Notify(fmt.Sprintf(`{"channel":"a","event":"n","data":"%d"}`, n))
}

// kill9 ends a process of the service as the kernel would.
func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// wantNoPassword fails the test when a text has the password in it.
func wantNoPassword(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, "hunter2") {
		t.Errorf("%s has the password in it:\n%s", where, text)
	}
}
