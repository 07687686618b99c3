// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/http/ws"
)

// TestWebsockets: the package websockets agrees on everything.
func TestWebsockets(t *testing.T) {
	s := start(t, 2)
	out, err := exec.Command(pyvenv.Python(t), "testdata/websockets_client.py", s.URL).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "all is well\n") {
		t.Errorf("websockets: %v\n%s", err, out)
	}
}

// TestDjango: a chat in synchronous views, with the session of the page.
func TestDjango(t *testing.T) {
	s := startWith(t, pyserver.Config{App: "site_django:app", Workers: 2, Threads: 1})
	r := s.refused(403, "/chat/a")
	if r.Body != "log in first\n" {
		t.Errorf("the refusal is %q, want the view's", r.Body)
	}
	ann, bob, carl := s.chat("ann", "a"), s.chat("bob", "a"), s.chat("carl", "b")
	ann.send("hello")
	for _, c := range []*socket{ann, bob} {
		c.want("ann: hello")
	}
	bob.send("ü")
	for _, c := range []*socket{ann, bob} {
		c.want("bob: ü")
	}
	carl.silent()
	s.refused(403, "/chat/a", "Origin: https://evil.example", "Cookie: "+s.session("ann"))

	s = startWith(t, pyserver.Config{App: "site_django:app", Workers: 1, Threads: 1,
		Env: []string{"WITH_CSRF=1"}})
	dora := s.chat("dora", "a")
	dora.send("hello")
	dora.wantEnd(ws.CodePolicy)
}

// session logs somebody in and gives the cookie.
func (s *site) session(name string) string {
	s.t.Helper()
	r := s.get("/login?name=" + name)
	if r.StatusCode != http.StatusOK || len(r.Cookies()) != 1 {
		s.t.Fatalf("login of %s: %s %v", name, r.Status, r.Header)
	}
	return r.Cookies()[0].Name + "=" + r.Cookies()[0].Value
}

// chat is somebody's socket in a room.
func (s *site) chat(name, room string) *socket {
	s.t.Helper()
	c := s.open("/chat/"+room, "Cookie: "+s.session(name), "Origin: "+s.URL)
	c.want("welcome " + name)
	return c
}
