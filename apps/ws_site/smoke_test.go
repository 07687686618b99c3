// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

// servers makes m0serve once for all tests of the package.
var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// A site is the application behind m0serve.
type site struct {
	*smoketest.Process
	t *testing.T
}

// start serves the application with --realtime and more flags.
func start(t *testing.T, workers int, args ...string) *site {
	t.Helper()
	return startWith(t, pyserver.Config{Workers: workers, Threads: 1, Args: args})
}

func startWith(t *testing.T, cfg pyserver.Config) *site {
	t.Helper()
	pyserver.M0serveAlone(t)
	if cfg.Dir = "."; cfg.App == "" {
		cfg.App = "ws:app"
	}
	cfg.Args = append([]string{"--realtime"}, cfg.Args...)
	return &site{servers.Start(t, cfg), t}
}

// ask is the target of an upgrade whose answer has these fields ("Name: value"); what
// has a "=" ahead of any colon is another part of the query.
func ask(parts ...string) string {
	var all []string
	for _, p := range parts {
		name, value, found := strings.Cut(p, "=")
		if !found || strings.Contains(name, ":") {
			name, value = "f", p
		}
		all = append(all, name+"="+url.QueryEscape(value))
	}
	return "/ws?" + strings.Join(all, "&")
}

// on is the target of a socket with these channels.
func on(channels string, more ...string) string {
	return ask(append([]string{"M0-Hold: websocket", "M0-Channel: " + channels}, more...)...)
}

// A socket is a client's.
type socket struct {
	*rawws.Conn
	t *testing.T
}

// open opens a socket, which has to be accepted.
func (s *site) open(target string, lines ...string) *socket {
	s.t.Helper()
	c, err := rawws.Dial(s.URL, target, lines...)
	if err != nil {
		s.t.Fatalf("open %s: %v", target, err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &socket{c, s.t}
}

// refused opens a socket that has to be refused with a status.
func (s *site) refused(status int, target string, lines ...string) *rawws.Refused {
	s.t.Helper()
	c, err := rawws.Dial(s.URL, target, lines...)
	if err == nil {
		c.Close()
		s.t.Fatalf("open %s %q: accepted, want %d", target, lines, status)
	}
	var refused *rawws.Refused
	if !errors.As(err, &refused) || refused.Status != status {
		s.t.Fatalf("open %s %q: %v, want %d", target, lines, err, status)
	}
	return refused
}

// send sends a text.
func (c *socket) send(text string) {
	c.t.Helper()
	if err := c.Send(ws.OpText, text); err != nil {
		c.t.Fatalf("send %.60q: %v", text, err)
	}
}

// want compares the next text.
func (c *socket) want(text string) {
	c.t.Helper()
	got, err := c.Text()
	if err != nil || got != text {
		c.t.Fatalf("the next message is %.200q, %v; want %.200q", got, err, text)
	}
}

// wantBinary compares the next message, which has to be binary.
func (c *socket) wantBinary(data string) {
	c.t.Helper()
	op, got, err := c.Next(rawws.Timeout)
	if err != nil || op != ws.OpBinary || got != data {
		c.t.Fatalf("the next message is %d %.200q, %v; want binary %.200q", op, got, err, data)
	}
}

// wantEnd reads up to the end, which has to have a code.
func (c *socket) wantEnd(code ws.Code) (reason string) {
	c.t.Helper()
	got, reason, err := c.End()
	if err != nil || got != code {
		c.t.Fatalf("the socket ended with %v %q, %v; want %v", got, reason, err, code)
	}
	return reason
}

// silent fails when anything comes within a moment.
func (c *socket) silent() {
	c.t.Helper()
	if err := c.Silent(100 * time.Millisecond); err != nil {
		c.t.Fatal(err)
	}
}

// do makes a request and wants a status.
func (s *site) do(status int, method, target string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, s.URL+target, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		s.t.Fatalf("%s %s: %d %.200q, %v; want %d", method, target, resp.StatusCode, body, err, status)
	}
	return string(body)
}

// publish publishes through a view.
func (s *site) publish(channel, data string, more ...string) {
	s.t.Helper()
	q := url.Values{"channel": {channel}, "data": {data}}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		q.Set(name, value)
	}
	s.do(200, "GET", "/publish?"+q.Encode())
}
