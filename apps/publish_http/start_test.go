// SPDX-License-Identifier: MIT

//go:build linux

package publishhttp

import (
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// TestStartRefused: what cannot be served is said before anything listens, with status
// 78 and the cure.
func TestStartRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for what, c := range map[string]struct{ arg, want string }{
		"a taken address": {"--publish-http=" + taken.Addr().String(),
			"--publish-http: listen tcp " + taken.Addr().String() + ": bind: address already in use: " +
				"name another address, or end what listens there"},
		"no realtime": {"--no-realtime", "--publish-http: there are no channels to publish to; " +
			"add --realtime"},
		"a key that is none": {"--publish-key=base64:?", "--publish-key: write it as it is"},
	} {
		s := launch{args: []string{c.arg}}.launch(t)
		if status := s.Wait(t); status != 78 || !strings.Contains(s.Log(), c.want) ||
			strings.Contains(s.Log(), "listening") {
			t.Errorf("%s: status %d and\n%s\nwant 78 and %q", what, status, s.Log(), c.want)
		}
	}
}

// TestGripURL: the application finds the door, with a key of its own in every service
// that stays the same over a reload; what the operator says goes first.
func TestGripURL(t *testing.T) {
	keys := map[string]bool{}
	for range 2 {
		s := start(t, launch{env: []string{}})
		told := s.ask("/variable?name=GRIP_URL")
		u, err := url.Parse(told)
		if err != nil || "http://"+u.Host != s.door || u.Query().Get("iss") != "m0" {
			t.Fatalf("GRIP_URL = %q, %v; want %s with iss=m0", told, err, s.door)
		}
		keys[u.Query().Get("key")] = true
		s.streams(2, "a")
		s.ask("/publish?channel=a&data=x")
		if names := s.ask("/names"); strings.Contains(names, "_FD") ||
			strings.Contains(names, "M0_SERVE") {
			t.Errorf("the application sees %s", names)
		}
		s.Signal(t, syscall.SIGHUP)
		smoketest.Until(t, "the end of a reload", func() bool {
			return strings.Contains(s.Log(), "every worker is replaced")
		})
		if again := s.ask("/variable?name=GRIP_URL"); again != told {
			t.Errorf("GRIP_URL after a reload = %q, before it %q", again, told)
		}
		s.ask("/publish?channel=a&data=x")
	}
	if len(keys) != 2 || keys[""] {
		t.Errorf("two services have the keys %v, want two", keys)
	}
	const own = "http://127.0.0.1:1/?iss=realm&key=base64:aHVudGVyMg=="
	s := start(t, launch{env: []string{"GRIP_URL=" + own}})
	if got := s.ask("/variable?name=GRIP_URL"); got != own {
		t.Errorf("GRIP_URL of the operator = %q, want %q", got, own)
	}
	c := s.dial()
	c.Send(post(items(), "Authorization: Bearer hunter2"))
	s.read(c, "the key of the operator's GRIP_URL", 200, "Published")
	if strings.Contains(s.Log(), "hunter2") {
		t.Error("the log tells the key")
	}
}

// TestOtherMachines: without a key of the operator's a door that others can reach is
// for this machine alone, and the log says so; with one it is for all.
func TestOtherMachines(t *testing.T) {
	own := outward(t)
	const warning = "set M0_PUBLISH_KEY"
	for _, env := range [][]string{{}, {"M0_PUBLISH_KEY=" + key}} {
		s := start(t, launch{env: env, door: "0.0.0.0:0"})
		used := key
		if len(env) == 0 {
			u, err := url.Parse(s.ask("/variable?name=GRIP_URL"))
			if err != nil || "http://"+u.Host != s.door {
				t.Fatalf("GRIP_URL = %v, %v; want %s", u, err, s.door)
			}
			used = u.Query().Get("key")
		}
		if strings.Contains(s.Log(), warning) != (len(env) == 0) {
			t.Errorf("with %q: log\n%s", env, s.Log())
		}
		s.ask("/publish?channel=a&data=x")
		_, port, _ := strings.Cut(strings.TrimPrefix(s.door, "http://"), ":")
		c, err := rawhttp.Dial(net.JoinHostPort(own, port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Send(post(items(), "Authorization: Bearer "+used))
		if len(env) == 0 {
			s.read(c, "a peer that is not of the loopback", 403, "only this machine")
		} else {
			s.read(c, "a peer that is not of the loopback", 200, "Published")
		}
	}
}

// outward is an address of this machine that is not of the loopback.
func outward(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("SKIPPED: this machine has no address but the loopback's")
	return ""
}
