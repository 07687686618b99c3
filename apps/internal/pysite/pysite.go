// SPDX-License-Identifier: MIT

//go:build unix

// Package pysite is the contract of the sites in Python: requests and what has to
// come, the same for each framework, so that a difference is one of the server. A
// site runs behind the server that pyserver starts, plain and under
// wsgiref.validate.
package pysite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// A visit is a visitor of a running site, with cookies.
type visit struct {
	p      *smoketest.Process
	client *http.Client
}

// newVisit is a visitor who was never there.
func newVisit(t *testing.T, p *smoketest.Process) *visit {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &visit{p, &http.Client{
		Jar: jar, Transport: transport, Timeout: smoketest.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An answer is a response that was read whole.
type answer struct {
	*http.Response
	body string
}

// do sends a request with fields "Name: value".
func (v *visit) do(t *testing.T, method, path, body string, fields ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return v.send(t, method, path, reader, fields...)
}

// send is do with a body that may be of unknown length.
func (v *visit) send(t *testing.T, method, path string, body io.Reader, fields ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, v.p.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "pysite")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", method, path, err)
	}
	return answer{resp, string(text)}
}

// compact takes the spaces out of JSON, which frameworks write in ways of their own.
// Other text stays as it is.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// A Site is one implementation of the contract.
type Site struct {
	Prepare func(*testing.T) pyserver.Config // of a site that nobody visited yet

	// IgnoresChunks says that the framework reads no body without a length.
	IgnoresChunks bool

	// ReadsAll says that the framework calls read() without a size, which PEP 3333
	// allows and wsgiref.validate does not: the contract runs plain only.
	ReadsAll bool
}

// Contract runs the whole contract against the site.
func (s Site) Contract(t *testing.T, servers *pyserver.Builder) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	for _, validate := range []bool{false, true} {
		if validate && (s.ReadsAll || pyserver.Name() != "m0serve") {
			continue // references cannot wrap an application
		}
		t.Run(map[bool]string{false: "plain", true: "validated"}[validate], func(t *testing.T) {
			cfg := s.Prepare(t)
			cfg.Validate = validate
			p := servers.Start(t, cfg)
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) { c.run(t, newVisit(t, p)) })
			}
			for _, f := range flows {
				t.Run(f.name, func(t *testing.T) { f.run(t, newVisit(t, p)) })
			}
			t.Run("chunked-body", func(t *testing.T) { s.chunked(t, newVisit(t, p)) })
			if state := p.Ended(); state != "" {
				t.Errorf("the server ended by itself: %s", state)
			}
		})
	}
	t.Run("workers", func(t *testing.T) {
		cfg := s.Prepare(t)
		cfg.Workers = 2
		p := servers.Start(t, cfg)
		for _, f := range workerFlows {
			t.Run(f.name, func(t *testing.T) { f.run(t, newVisit(t, p)) })
		}
	})
}

// A check is one request and what has to come.
type check struct {
	name         string
	method, path string // "" is GET
	fields       []string
	body         string
	status       int      // 0 is 200
	want         string   // the whole body, when has is nil
	has          []string // parts of the body, JSON without spaces; []string{}: not looked at
	head         []string // "Name: value", or "Name" that is not there
	log          string   // what the server has printed
}

func (c *check) run(t *testing.T, v *visit) {
	method := c.method
	if method == "" {
		method = "GET"
	}
	a := v.do(t, method, c.path, c.body, c.fields...)
	status := c.status
	if status == 0 {
		status = 200
	}
	if a.StatusCode != status {
		t.Errorf("%s %s = %s %.200q, want %d", method, c.path, a.Status, a.body, status)
	}
	if c.has == nil && a.body != c.want {
		t.Errorf("%s %s = %.200q, want %.200q", method, c.path, a.body, c.want)
	}
	body := compact(a.body)
	for _, part := range c.has {
		if !strings.Contains(body, part) {
			t.Errorf("%s %s = %.500q, want %q in it", method, c.path, body, part)
		}
	}
	for _, line := range c.head {
		name, value, present := strings.Cut(line, ": ")
		got := strings.Join(a.Header.Values(name), " | ")
		if got != value || present != (got != "") {
			t.Errorf("%s %s: %s is %q, want %q", method, c.path, name, got, value)
		}
	}
	if c.log != "" {
		smoketest.Until(t, fmt.Sprintf("%q in the log", c.log), func() bool {
			return strings.Contains(v.p.Log(), c.log)
		})
	}
}
