// SPDX-License-Identifier: MIT

//go:build linux

package publishhttp

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/grip"
)

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// key is the operator's in most tests.
const key = "the key of the suite has 32 bytes"

// A site is the application behind m0serve, and its door.
type site struct {
	*smoketest.Process
	t       *testing.T
	door    string // http://127.0.0.1:PORT
	metrics string // their URL
}

// A launch says how the application is served. Its zero value will do.
type launch struct {
	workers, threads int      // 0: 2 and 1
	env              []string // instead of the key
	args             []string
	door             string // its address; "": a port of the loopback
}

// start serves the application with a door on a free port.
func start(t *testing.T, l launch) *site {
	t.Helper()
	s := l.launch(t)
	s.Listening(t, banner)
	s.door = "http://127.0.0.1:" + doorPort.FindStringSubmatch(s.Log())[1]
	s.metrics = metricsURL.FindStringSubmatch(s.Log())[1]
	return s
}

var (
	banner     = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+) .*"version"`)
	doorPort   = regexp.MustCompile(`"publish-http":"http://[^"]*:(\d+)/publish/"`)
	metricsURL = regexp.MustCompile(`"metrics":"(http://[^"]*)"`)
)

// launch is start without the waiting.
func (l launch) launch(t *testing.T) *site {
	t.Helper()
	pyserver.M0serveAlone(t)
	if l.door == "" {
		l.door = "127.0.0.1:0"
	}
	if l.env == nil {
		l.env = []string{"M0_PUBLISH_KEY=" + key}
	}
	if l.workers == 0 {
		l.workers = 2
	}
	if l.threads == 0 {
		l.threads = 1
	}
	cfg := pyserver.Config{Dir: ".", App: "door:app", Server: "m0serve", Env: l.env,
		Workers: l.workers, Threads: l.threads,
		Args: append([]string{"--realtime", "--metrics=127.0.0.1:0",
			"--publish-http=" + l.door}, l.args...)}
	return &site{Process: servers.Launch(t, cfg), t: t}
}

// streams opens a stream of channel at each of the workers.
func (s *site) streams(workers int, channel string) []*smoketest.Stream {
	s.t.Helper()
	return smoketest.Spread(s.t, workers, func() *smoketest.Stream {
		return smoketest.Open(s.t, s.URL+"/stream?channel="+url.QueryEscape(channel), "")
	})
}

// ask is the body of a view's answer.
func (s *site) ask(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.URL + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		s.t.Fatalf("GET %s: %s %q, %v", path, resp.Status, body, err)
	}
	return string(body)
}

// bearer is the field of somebody who has the key.
func bearer(key string) string {
	token := grip.Sign(grip.Claims{Issuer: "m0", Expires: time.Now().Add(time.Minute)}, []byte(key))
	return "Authorization: Bearer " + token
}

// post is a request that publishes body, with field lines beside the usual ones.
func post(body string, fields ...string) string {
	return "POST /publish/ HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(fields, ""), "\r\n") +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// dial connects to the door.
func (s *site) dial() *rawhttp.Conn {
	s.t.Helper()
	c, err := rawhttp.Dial(s.door)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// read reads an answer and wants its status and a part of its body.
func (s *site) read(c *rawhttp.Conn, what string, status int, part string) *rawhttp.Reply {
	s.t.Helper()
	r, err := c.Read("POST")
	if err != nil {
		s.t.Fatalf("%s: no answer: %v", what, err)
	}
	if !strings.HasPrefix(r.Status, strconv.Itoa(status)+" ") ||
		!strings.Contains(string(r.Body), part) {
		s.t.Errorf("%s: %s %q, want %d and %q", what, r.Status, r.Body, status, part)
	}
	return r
}

// publish posts a body on a connection of its own, with the key.
func (s *site) publish(what, body string, status int, part string, fields ...string) {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	c.Send(post(body, append(fields, bearer(key))...))
	s.read(c, what, status, part)
}

// item is an item for event streams.
func item(channel, data string) string {
	return fmt.Sprintf(`{"channel":%q,"http-stream":{"content":"data: %s\n\n"}}`, channel, data)
}

func items(list ...string) string { return `{"items":[` + strings.Join(list, ",") + `]}` }

// want wants the next event of every stream.
func want(t *testing.T, streams []*smoketest.Stream, data string) {
	t.Helper()
	for i, st := range streams {
		if e := st.Next(t); e.Data != data {
			t.Fatalf("stream %d got %+v, want the data %q", i, e, data)
		}
	}
}

// figure is a figure of the metrics, those of all workers added.
func (s *site) figure(name string) (sum int) {
	s.t.Helper()
	resp, err := http.Get(s.metrics)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	name, label, _ := strings.Cut(name, "{")
	line := regexp.MustCompile("(?m)^" + name + `\{[^}]*` + label + `[^}]*\} (\d+)$`)
	all := line.FindAllSubmatch(text, -1)
	if all == nil {
		s.t.Fatalf("there is no figure %s{%s in\n%s", name, label, text)
	}
	for _, m := range all {
		n, _ := strconv.Atoi(string(m[1]))
		sum += n
	}
	return sum
}
