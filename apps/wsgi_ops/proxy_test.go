// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// A seen is what an application is told of a request, in either interface.
type seen struct {
	scheme, client string
	fields         map[string]string // by their names as environ has them
}

// see asks the site what it is told of a request with these fields.
func see(t *testing.T, p *smoketest.Process, isASGI bool, fields ...string) seen {
	t.Helper()
	s := seen{fields: map[string]string{}}
	if !isASGI {
		var environ map[string]any
		askInto(t, p, &environ, "/shown", fields...)
		s.scheme, s.client = fmt.Sprint(environ["wsgi.url_scheme"]), fmt.Sprint(environ["REMOTE_ADDR"])
		for name, value := range environ {
			if name, is := strings.CutPrefix(name, "HTTP_"); is {
				s.fields[name] = fmt.Sprint(value)
			}
		}
		return s
	}
	var scope struct {
		Scheme  string
		Client  []any
		Headers [][2]string
	}
	askInto(t, p, &scope, "/shown", fields...)
	s.scheme = scope.Scheme
	if len(scope.Client) > 0 {
		s.client = fmt.Sprint(scope.Client[0])
	}
	for _, h := range scope.Headers {
		name := strings.ToUpper(strings.ReplaceAll(h[0], "-", "_"))
		if old, is := s.fields[name]; is {
			h[1] = old + "," + h[1]
		}
		s.fields[name] = h[1]
	}
	return s
}

var proxyCases = []struct {
	name           string
	trusted        bool
	fields         []string
	scheme, client string
	absent         []string // names that the application is not told
	present        []string
}{
	{name: "nothing", trusted: true, scheme: "http", client: "127.0.0.1"},
	{name: "trusted", trusted: true, scheme: "https", client: "203.0.113.9",
		fields:  []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https"},
		present: []string{"X_FORWARDED_FOR", "X_FORWARDED_PROTO"}},
	{name: "untrusted", scheme: "http", client: "127.0.0.1",
		fields: []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https",
			"Forwarded: for=203.0.113.9", "X-Real-IP: 203.0.113.9", "X-Forwarded-Host: evil.example"},
		absent: []string{"X_FORWARDED_FOR", "X_FORWARDED_PROTO", "FORWARDED", "X_REAL_IP",
			"X_FORWARDED_HOST"}},
	{name: "said by the client", trusted: true, scheme: "http", client: "203.0.113.9",
		fields: []string{"X-Forwarded-For: 192.0.2.66", "X-Forwarded-For: 203.0.113.9, 127.0.0.1"}},
	{name: "scheme twice", trusted: true, scheme: "http", client: "127.0.0.1",
		fields: []string{"X-Forwarded-Proto: https", "X-Forwarded-Proto: http"},
		absent: []string{"X_FORWARDED_PROTO"}},
	{name: "scheme of none", trusted: true, scheme: "http", client: "127.0.0.1",
		fields: []string{"X-Forwarded-Proto: javascript"}, absent: []string{"X_FORWARDED_PROTO"}},
	{name: "ours", trusted: true, scheme: "http", client: "127.0.0.1",
		fields: []string{"Grip-Hold: stream", "grip-channel: a", "M0-Worker: 7", "Gripe: yes",
			"X-Grip: yes"},
		absent:  []string{"GRIP_HOLD", "GRIP_CHANNEL", "M0_WORKER"},
		present: []string{"GRIPE", "X_GRIP"}},
	{name: "underscores", trusted: true, scheme: "http", client: "127.0.0.1",
		fields: []string{"X_Forwarded_For: 192.0.2.66", "Remote_User: root", "X-User: me"},
		absent: []string{"X_FORWARDED_FOR", "REMOTE_USER"}, present: []string{"X_USER"}},
}

// An application is told what a trusted proxy says of its client, and nothing that a
// stranger says; the server's own words and names that environ cannot tell apart
// never come through.
func TestProxyFields(t *testing.T) {
	t.Parallel()
	for _, app := range []string{wsgiApp, asgiApp} {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			near := site{app: app}.start(t) // 127.0.0.1 is trusted unless told otherwise
			far := site{app: app, args: []string{"--forwarded-allow-ips", "198.51.100.1"}}.start(t)
			for _, tt := range proxyCases {
				t.Run(tt.name, func(t *testing.T) {
					p := far
					if tt.trusted {
						p = near
					}
					got := see(t, p, app == asgiApp, tt.fields...)
					if got.scheme != tt.scheme || got.client != tt.client {
						t.Errorf("scheme %q, client %q; want %q, %q",
							got.scheme, got.client, tt.scheme, tt.client)
					}
					for _, name := range tt.absent {
						if v, is := got.fields[name]; is {
							t.Errorf("the application is told %s: %q", name, v)
						}
					}
					for _, name := range tt.present {
						if _, is := got.fields[name]; !is {
							t.Errorf("the application is not told %s: %v", name, got.fields)
						}
					}
				})
			}
		})
	}
}

// logLine is what a JSON access log says of a request.
type logLine struct {
	Remote, Method, Path, Agent string
	Status                      int
}

func parseLogLine(t *testing.T, line string) logLine {
	t.Helper()
	var l logLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Errorf("access log line %q: %v", line, err)
	}
	return l
}
