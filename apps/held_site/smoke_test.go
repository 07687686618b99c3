// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

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

type rawConn = rawhttp.Conn

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// A site is the application behind m0serve.
type site struct {
	*smoketest.Process
	t     *testing.T
	admin string          // where the metrics are; "": nowhere
	conns []*rawhttp.Conn // all that were opened
	door  grip.URL        // of --publish-http
}

// of is s for a part of its test.
func (s *site) of(t *testing.T) *site {
	part := *s
	part.t = t
	return &part
}

// metrics is the flag for metrics on a free port.
func metrics(t *testing.T) string {
	return "--metrics=127.0.0.1:" + strconv.Itoa(smoketest.FreePort(t))
}

// start serves the application with --realtime and more flags.
func start(t *testing.T, workers int, args ...string) *site {
	t.Helper()
	return startIn(t, nil, workers, args...)
}

// startIn is start with more in the environment.
func startIn(t *testing.T, env []string, workers int, args ...string) *site {
	t.Helper()
	pyserver.M0serveAlone(t)
	cfg := pyserver.Config{Dir: ".", App: "held:app", Workers: workers, Threads: 1, Env: env,
		Args: append([]string{"--realtime"}, args...)}
	s := &site{Process: servers.Start(t, cfg), t: t}
	for _, arg := range args {
		if address, ok := strings.CutPrefix(arg, "--metrics="); ok {
			s.admin = "http://" + address
		}
	}
	return s
}

// say is the target of an answer with these fields ("Name: value"); what holds a "="
// is another part of the query.
func say(parts ...string) string { return "/say?" + query(parts...) }

func query(parts ...string) string {
	var all []string
	for _, p := range parts {
		name, value, found := strings.Cut(p, "=")
		if !found || strings.Contains(name, ":") {
			name, value = "f", p
		}
		all = append(all, name+"="+url.QueryEscape(value))
	}
	return strings.Join(all, "&")
}

// send opens a connection and sends a request with more field lines.
func (s *site) send(method, target string, lines ...string) *rawhttp.Conn {
	s.t.Helper()
	return s.sendAs("HTTP/1.1", method, target, lines...)
}

func (s *site) sendAs(version, method, target string, lines ...string) *rawhttp.Conn {
	s.t.Helper()
	c, err := rawhttp.Dial(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	s.conns = append(s.conns, c)
	c.Send(method + " " + target + " " + version + "\r\nHost: a\r\n" +
		strings.Join(append(lines, "", ""), "\r\n"))
	return c
}

// open asks for a stream and reads its head and its first piece.
func (s *site) open(target string, lines ...string) (*rawhttp.Conn, *rawhttp.Reply, string) {
	s.t.Helper()
	c := s.send("GET", target, lines...)
	head, err := c.ReadHead("GET")
	if err != nil {
		s.t.Fatalf("GET %s: %v", target, err)
	}
	if head.Framing != rawhttp.Chunked {
		body := &rawhttp.Reply{}
		s.t.Fatalf("GET %s: %s, framing %s %q; want a stream", target, head.Status, head.Framing,
			body.Body)
	}
	return c, head, s.piece(c)
}

// piece is the next piece of a stream.
func (s *site) piece(c *rawhttp.Conn) string {
	s.t.Helper()
	text, err := c.Piece()
	if err != nil {
		s.t.Fatalf("a piece of a stream was due, got %q, %v", text, err)
	}
	return text
}

// wantPiece compares the next piece of a stream.
func (s *site) wantPiece(c *rawhttp.Conn, want string) {
	s.t.Helper()
	if got := s.piece(c); got != want {
		s.t.Fatalf("the next piece is %q, want %q", got, want)
	}
}

// get is the whole answer to a request, which has to be of this status.
func (s *site) get(status, target string, lines ...string) *rawhttp.Reply {
	s.t.Helper()
	return s.read(s.send("GET", target, lines...), status, target)
}

// read reads a whole answer.
func (s *site) read(c *rawhttp.Conn, status, target string) *rawhttp.Reply {
	s.t.Helper()
	r, err := c.Read("GET")
	if err != nil {
		s.t.Fatalf("GET %s: %v", target, err)
	}
	if r.Status != status {
		s.t.Fatalf("GET %s: %s %q, want %s", target, r.Status, r.Body, status)
	}
	return r
}

// publish publishes from a view and returns the id.
func (s *site) publish(channel, data string, more ...string) string {
	s.t.Helper()
	parts := append([]string{"channel=" + channel, "data=" + data}, more...)
	return string(s.get("200 OK", "/publish?"+query(parts...)).Body)
}

// event is an event as streams get it.
func event(id, name, data string) string {
	text := ""
	if name != "" {
		text = "event: " + name + "\n"
	}
	return fmt.Sprintf("%sid: %s\ndata: %s\n\n", text, id, data)
}

// silent fails when anything comes within a moment.
func (s *site) silent(c *rawhttp.Conn) {
	s.t.Helper()
	if err := c.Silent(100 * time.Millisecond); err != nil {
		s.t.Fatal(err)
	}
}

// bytes reads n bytes as they are on the wire.
func (s *site) bytes(c *rawhttp.Conn, n int) string {
	s.t.Helper()
	b, err := c.Bytes(n)
	if err != nil {
		s.t.Fatalf("read %d bytes: %q, %v", n, b, err)
	}
	return string(b)
}

// figure is a figure of the metrics; several of a name are added.
func (s *site) figure(name string) (sum int) {
	s.t.Helper()
	resp, err := http.Get(s.admin + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	line := regexp.MustCompile("(?m)^" + name + `(?:{[^}]*})? (\d+)$`)
	all := line.FindAllSubmatch(text, -1)
	if all == nil {
		s.t.Fatalf("there is no figure %s in\n%s", name, text)
	}
	for _, m := range all {
		n, _ := strconv.Atoi(string(m[1]))
		sum += n
	}
	return sum
}

// held is how many answers are held: streams, and what else has channels, which are the
// long polls here.
func (s *site) held() int { return s.figure("m0_streams") + s.figure("m0_listeners") }

// nothingHeld waits until no answer is held.
func (s *site) nothingHeld() {
	s.t.Helper()
	for deadline := time.Now().Add(rawhttp.Patience); s.held() > 0; {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d answers are still held", s.held())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// eachWorker opens the target on a connection to each of so many workers.
func (s *site) eachWorker(workers int, target string) map[string]*rawConn {
	s.t.Helper()
	conns := map[string]*rawConn{}
	smoketest.Until(s.t, "a stream of each worker", func() bool {
		c := s.send("GET", "/worker")
		who := string(s.read(c, "200 OK", "/worker").Body)
		if conns[who] != nil {
			return false
		}
		c.Send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, err := c.ReadHead("GET"); err != nil {
			s.t.Error(err)
			return true
		}
		s.piece(c)
		conns[who] = c
		return len(conns) == workers
	})
	return conns
}

func now() time.Time      { return time.Now() }
func inAnHour() time.Time { return time.Now().Add(time.Hour) }
