// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Client has a connection of its own for each request, so that the workers share
// them.
func Client() *http.Client {
	return &http.Client{Timeout: Patience, Transport: &http.Transport{DisableKeepAlives: true}}
}

// Get asks for path and wants an answer 200.
func (p *Process) Get(t *testing.T, path string) (body string, head http.Header) {
	t.Helper()
	resp, err := Client().Get(p.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d, %v", path, resp.StatusCode, err)
	}
	return string(text), resp.Header
}

var (
	inline  = regexp.MustCompile(` (on[a-z]+|style)="`)
	linked  = regexp.MustCompile(`(?:href|src)="(/[^"]+)"`)
	scripts = regexp.MustCompile(`from "\./([^"]+)"`)
)

// CheckPage wants all that the page at / loads from p, so many files with what the
// scripts import, and a policy that allows no more.
func (p *Process) CheckPage(t *testing.T, files int) {
	t.Helper()
	page, head := p.Get(t, "/")
	policy := head.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q, want %q in it", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || inline.MatchString(page) {
		t.Errorf("policy %q and page need what is unsafe", policy)
	}
	loaded := 0
	for _, m := range linked.FindAllStringSubmatch(page, -1) {
		text, _ := p.Get(t, m[1])
		loaded++
		for _, m := range scripts.FindAllStringSubmatch(text, -1) {
			_, head := p.Get(t, "/js/"+m[1])
			loaded++
			if kind := head.Get("Content-Type"); !strings.HasPrefix(kind, "text/javascript") ||
				head.Get("X-Worker") != "0" {
				t.Errorf("/js/%s is %v, want a script from worker 0", m[1], head)
			}
		}
	}
	if loaded != files {
		t.Errorf("the page loads %d files, want %d", loaded, files)
	}
}

// Refused starts bin with env and wants the start refused: exit 78 with want among
// what it printed, and neither a banner nor a trace. It returns what was printed.
func Refused(t *testing.T, bin, want string, env ...string) (log string) {
	t.Helper()
	p := Launch(t, bin, env...)
	Until(t, "the end, or a banner", func() bool {
		return p.Ended() != "" || strings.Contains(p.Log(), "listening")
	})
	code := -1
	if p.Ended() != "" {
		code = p.Wait(t)
	}
	log = p.Log()
	if code != 78 || !strings.Contains(log, want) || strings.Contains(log, "listening") ||
		strings.Contains(log, "goroutine ") {
		t.Errorf("with %q: exit %d, want 78 and the name, %s, without a banner or a trace:\n%s",
			env, code, want, log)
	}
	return log
}

// Kill sends sig to a process of the service.
func Kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("signal %v to %d: %v", sig, pid, err)
	}
}
