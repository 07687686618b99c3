// SPDX-License-Identifier: MIT

//go:build linux

package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/http/publish"
	"m0serve.dev/wsgi/internal/options"
)

// lookAtDoors is the part of a report on a service in dir; env has more variables.
func lookAtDoors(t *testing.T, dir string, env []string, args ...string) *Report {
	t.Helper()
	lookup := func(name string) (string, bool) { v := variable(env, name); return v, v != "" }
	o, err := options.Parse(append([]string{"m:a", "--realtime", "--chdir", dir}, args...), lookup)
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{}
	r.doors(&Config{Options: o, Environ: env})
	return r
}

// listenAt makes a publish socket, as a service does.
func listenAt(t *testing.T, c publish.ListenConfig) string {
	t.Helper()
	s, err := publish.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Path()
}

func TestPublishSocketIsNamed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	place, err := publish.Place(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, own := filepath.Join(other, "file"), filepath.Join(other, "own.sock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := listenAt(t, publish.ListenConfig{Path: filepath.Join(other, "taken.sock")})
	left := filepath.Join(other, "left.sock")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	second := listenAt(t, publish.ListenConfig{Dir: dir, Name: "127.0.0.1:8001"})
	whose := fmt.Sprintf("; for processes of user %d and root", os.Geteuid())
	const made = ", not there yet; m0serve makes it"
	for _, c := range []struct {
		socket, bind string
		mark         Mark
		text, cure   string
	}{
		{"", "127.0.0.1:8000", Good, place + "/127.0.0.1-8000.sock" + made + whose, ""},
		{"", "localhost:8000", Good, place + "/127.0.0.1-8000.sock" + made + whose, ""},
		{"", "127.0.0.1:8001", Good, strings.Replace(second, ".sock", "-2.sock", 1) + made + whose, ""},
		{"", "127.0.0.1:0", Good, place + "/*.sock" + made + whose, ""},
		{"", "unix:/run/a.sock", Good, place + "/run-a.sock.sock" + made + whose, ""},
		{own, "127.0.0.1:8000", Good, own + made + whose, ""},
		{left, "127.0.0.1:8000", Good, left + ", where nobody listens; m0serve takes it" + whose, ""},
		{file, "127.0.0.1:8000", Problem, "publish: socket " + file +
			": a file that is no socket is there",
			publish.ListenCure},
		{taken, "127.0.0.1:8000", Problem, fmt.Sprintf("publish: socket %s: publish: another service "+
			"listens there (process %d)", taken, os.Getpid()),
			publish.ListenCure},
		{"off", "127.0.0.1:8000", Note, "none, by $M0_PUBLISH_SOCKET", ""},
	} {
		env := []string{publish.Env + "=/not/this/one", publish.Env + "=" + c.socket}
		r := lookAtDoors(t, dir, env, "-b", c.bind)
		l := find(r, "Doors", "publish socket")
		if l.Mark != c.mark || l.Text != c.text || l.Cure != c.cure {
			t.Errorf("%s=%q, -b %s:\n%+v; want\n%q, %q", publish.Env, c.socket, c.bind, l, c.text, c.cure)
		}
	}
	if _, err := os.Lstat(own); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the doctor made %s (%v)", own, err)
	}
}

func TestHTTPDoorIsNamedWithItsKey(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	for _, c := range []struct {
		address, key string
		mark         Mark
		text         string
	}{
		{"", "", Note, "not given; publishers of GRIP have no address"},
		{"127.0.0.1:0", "", Good, "http://127.0.0.1:0/publish/ (--publish-http); " +
			"for this machine alone, with a key that m0serve makes"},
		{"127.0.0.1:0", "hunter2", Good,
			"http://127.0.0.1:0/publish/ (--publish-http); for who has the key"},
		{"0.0.0.0:0", "", Warning, "http://0.0.0.0:0/publish/ (--publish-http); " +
			"other machines reach it and are refused, since there is no key for them"},
		{"0.0.0.0:0", "hunter2", Good, "http://0.0.0.0:0/publish/ (--publish-http); for who has the key"},
		{taken, "", Problem, taken + " is taken by another process (--publish-http)"},
	} {
		var args []string
		if c.address != "" {
			args = append(args, "--publish-http", c.address)
		}
		r := lookAtDoors(t, t.TempDir(), []string{"M0_PUBLISH_KEY=" + c.key}, args...)
		if l := find(r, "Doors", "publish-http"); l.Mark != c.mark || l.Text != c.text ||
			(l.Mark >= Warning) != (l.Cure != "") {
			t.Errorf("--publish-http %s, key %q:\n%+v; want\n%q", c.address, c.key, l, c.text)
		}
	}
}

func TestPostgresIsNamedWithoutItsPassword(t *testing.T) {
	for dsn, want := range map[string]Line{
		"": {Mark: Note, Text: "not given"},
		"postgres://u:hunter2@db.invalid:5433/site": {Mark: Note,
			Text: "u@db.invalid:5433/site ($M0_PG_LISTEN); not connected to"},
		"host=db.invalid user=u password=hunter2 replication=database": {Mark: Problem,
			Text: "the DSN has replication, which is not supported here: leave it out ($M0_PG_LISTEN)",
			Cure: "mend it there"},
	} {
		r := lookAtDoors(t, t.TempDir(), []string{"M0_PG_LISTEN=" + dsn})
		if l := find(r, "Doors", "postgres"); l.Mark != want.Mark || l.Text != want.Text ||
			l.Cure != want.Cure {
			t.Errorf("M0_PG_LISTEN=%s:\n%+v; want\n%+v", dsn, l, want)
		}
		if got := text(t, r, false); strings.Contains(got, "hunter2") {
			t.Errorf("the report has the password:\n%s", got)
		}
	}
}
