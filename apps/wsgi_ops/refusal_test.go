// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/http/publish"
)

// refusals are settings that cannot be honoured: what the message names, and the cure.
var refusals = []struct {
	name string
	args []string
	env  []string
	app  string
	want []string
}{
	{name: "preload", args: []string{"--preload"}, want: []string{"--preload", "leave it out"}},
	{name: "daemon", args: []string{"--daemon"}, want: []string{"--daemon", "systemd"}},
	{name: "tls", args: []string{"--certfile", "a.pem"},
		want: []string{"--certfile", "TLS in front"}},
	{name: "configuration", args: []string{"-c", "conf.py"}, want: []string{"-c", "--help"}},
	{name: "gevent", args: []string{"-k", "gevent"}, want: []string{"-k", "--threads"}},
	{name: "http2", args: []string{"--http", "2"}, want: []string{"--http", "proxy"}},
	{name: "rsgi", args: []string{"--interface", "rsgi"}, want: []string{"--interface", "asgi"}},
	{name: "user", args: []string{"--user", "nobody"}, want: []string{"--user"}},
	{name: "two addresses", args: []string{"--bind", "127.0.0.1:0"},
		want: []string{"--bind", "name one address"}},
	{name: "workers", args: []string{"--workers", "0"}, want: []string{"--workers", "from 1 to"}},
	{name: "threads", args: []string{"--threads", "many"},
		want: []string{"--threads", "whole number"}},
	{name: "time", args: []string{"--timeout", "-5"}, want: []string{"--timeout", "30"}},
	{name: "size", args: []string{"--limit-request-body", "big"},
		want: []string{"--limit-request-body", "size"}},
	{name: "memory", args: []string{"--workers-max-rss", "1K"},
		want: []string{"--workers-max-rss", "512M"}},
	{name: "directory", args: []string{"--chdir", "nowhere"},
		want: []string{"--chdir", "directory that exists"}},
	{name: "static", args: []string{"--static", "/s=nowhere"},
		want: []string{"--static", "directory that exists"}},
	{name: "static pair", args: []string{"--static", "public"},
		want: []string{"--static", "ROUTE=DIR"}},
	{name: "access log", args: []string{"--access-log", "nowhere/log"},
		want: []string{"--access-log", "mkdir -p "}},
	{name: "process id", args: []string{"--pid", "."}, want: []string{"--pid", "a directory"}},
	{name: "environment file", args: []string{"--env-file", "nowhere.env"},
		want: []string{"--env-file", "nowhere.env"}},
	{name: "variable", args: []string{"-e", "NOVALUE"}, want: []string{"-e", "NAME=VALUE"}},
	{name: "proxies", args: []string{"--forwarded-allow-ips", "proxy.local"},
		want: []string{"--forwarded-allow-ips", "10.0.0.0/8"}},
	{name: "log format", args: []string{"--access-log", "-", "--access-logformat", "%(zz)s"},
		want: []string{"--access-logformat", "zz"}},
	{name: "log level", args: []string{"--log-level", "loud"},
		want: []string{"--log-level", "debug"}},
	{name: "metrics", args: []string{"--metrics", "here"}, want: []string{"--metrics", "HOST:PORT"}},
	{name: "interpreter", args: []string{"--python", "/nowhere/python"},
		want: []string{"--python", "/nowhere/python"}},
	{name: "typing error", args: []string{"--wrokers", "2"},
		want: []string{"--wrokers", "--workers"}},
	{name: "variable of ours", env: []string{"M0_WORKERS=0"},
		want: []string{"M0_WORKERS", "from 1 to"}},
	{name: "variable of others", env: []string{"WEB_CONCURRENCY=x"},
		want: []string{"WEB_CONCURRENCY"}},
	{name: "gunicorn's line", env: []string{"GUNICORN_CMD_ARGS=--preload"},
		want: []string{"GUNICORN_CMD_ARGS", "--preload"}},
	{name: "two applications", args: []string{"other:app"}, want: []string{"one application"}},
	{name: "not dotted", app: "my app:app", want: []string{"module:app"}},
	{name: "root of ASGI", app: asgiApp, args: []string{"--static", "/=.", "--interface", "asgi"},
		want: []string{"--static", "another route"}},
}

// What cannot be honoured ends the start with 78, names the option and a cure, and
// comes ahead of everything else: the address that each of these is given is taken,
// and nobody complains of that.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			pid := filepath.Join(t.TempDir(), "pid")
			s := site{bind: ln.Addr().String(), app: tt.app, env: tt.env,
				args: append([]string{"--pid", pid}, tt.args...)}
			p := s.launch(t)
			if status := p.Wait(t); status != 78 {
				t.Errorf("exit status %d, want 78\n%s", status, p.Log())
			}
			for _, want := range tt.want {
				if !strings.Contains(p.Log(), want) {
					t.Errorf("the message has no %q:\n%s", want, p.Log())
				}
			}
			for _, not := range []string{"listening on", "in use", "worker: "} {
				if strings.Contains(p.Log(), not) {
					t.Errorf("it came as far as %q:\n%s", not, p.Log())
				}
			}
			if found, _ := filepath.Glob(pid); found != nil {
				t.Error("--pid was written")
			}
		})
	}
}

// What only a worker can find out is no crash loop either.
func TestRefusalOfAWorker(t *testing.T) {
	t.Parallel()
	sock := filepath.Join(t.TempDir(), "sock") // no file that anybody can write
	ln, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, s := range []site{
		{app: asgiApp, args: []string{"--static", "/=."}},
		{args: []string{"--access-log", sock}},
	} {
		p := s.launch(t)
		if status := p.Wait(t); status != 78 || !strings.Contains(p.Log(), s.args[0]) {
			t.Errorf("%v: exit status %d, want 78 and its name\n%s", s.args, status, p.Log())
		}
		if strings.Count(p.Log(), `"worker: ended"`) != 1 || strings.Contains(p.Log(), "listening on") {
			t.Errorf("one worker is to be tried, and none to listen:\n%s", p.Log())
		}
	}
}

// What is taken is no matter of configuration: 1, its name and the cure.
func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	sock := filepath.Join(t.TempDir(), "sock")
	other, err := publish.Listen(publish.ListenConfig{Path: sock})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	taken := ln.Addr().String()
	for _, c := range []struct {
		site
		want []string
	}{
		{site{bind: taken}, []string{taken, "or choose another with --port"}},
		{site{args: []string{"--metrics", taken}},
			[]string{"--metrics: ", taken, "or choose another with --metrics"}},
		{site{env: []string{publish.Env + "=" + sock}}, []string{publish.Env, sock, publish.ListenCure}},
	} {
		p := c.launch(t)
		status := p.Wait(t)
		for _, want := range c.want {
			if status != 1 || !strings.Contains(p.Log(), want) {
				t.Errorf("exit status %d, want 1 and %q\n%s", status, want, p.Log())
			}
		}
	}
}
