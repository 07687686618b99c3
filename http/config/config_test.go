// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestDefaults(t *testing.T) {
	want := App{
		Host: "127.0.0.1", Port: 8080, Workers: 1, Threads: 1, AcceptShare: true,
		Drain: 5 * time.Second, MaxBody: 10 << 20, MaxHead: 64 << 10,
		MaxConns: 65536, Journal: 64,
	}
	for name, env := range map[string]map[string]string{
		"nothing set": {},
		"all empty":   {"M0_HOST": "", "M0_PORT": "", "M0_DRAIN_S": "", "M0_MAX_BODY": ""},
	} {
		if got, err := Parse(lookupIn(env)); err != nil || got != want {
			t.Errorf("Parse(%s) = %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestParseValues(t *testing.T) {
	got, err := Parse(lookupIn(map[string]string{
		"M0_HOST": "[::1]", "M0_PORT": "0",
		"M0_TLS_CERT": "c.pem", "M0_TLS_KEY": "k.pem", "M0_WORKERS": "4", "M0_THREADS": "2",
		"M0_BLOCKING_THREADS": "32", "M0_ACCEPT_SHARE": "0", "M0_DRAIN_S": "0.5",
		"M0_MAX_BODY": "1G", "M0_MAX_HEAD": "32k", "M0_MAX_CONNS": "10", "M0_JOURNAL": "0",
		"M0_DB": "todo.db", "M0_DATASTAR_JS": "./datastar.js",
		"M0_PUBLISH_SOCKET": "/run/site/publish.sock",
	}))
	want := App{
		Host: "::1", TLSCert: "c.pem", TLSKey: "k.pem", Workers: 4, Threads: 2, BlockingThreads: 32,
		Drain: 500 * time.Millisecond, MaxBody: 1 << 30, MaxHead: 32 << 10,
		MaxConns: 10, DB: "todo.db", DatastarJS: "./datastar.js",
		PublishSocket: "/run/site/publish.sock",
	}
	if err != nil || got != want {
		t.Errorf("Parse = %+v, %v; want %+v", got, err, want)
	}
}

func TestInvalidValueNamesVariableValueAndCure(t *testing.T) {
	for _, c := range []struct{ name, value, cure string }{
		{"M0_HOST", "unix", "an address or a name"},
		{"M0_HOST", "unix:/run/app.sock", "an address or a name"},
		{"M0_HOST", "127.0.0.1:80", "the port goes to --port"},
		{"M0_HOST", "[::1]:80", "the port goes to --port"},
		{"M0_HOST", "300.0.0.1", "an address or a name"},
		{"M0_HOST", "a b", "an address or a name"},
		{"M0_HOST", "[]", "an address or a name"},
		{"M0_HOST", "http://a", "an address or a name"},
		{"M0_PORT", "eighty", "0 to 65535"},
		{"M0_PORT", "65536", "0 to 65535"},
		{"M0_PORT", "-1", "0 to 65535"},
		{"M0_PORT", "8080 ", "whole number"},
		{"M0_WORKERS", "0", "1 to 64"},
		{"M0_WORKERS", "65", "1 to 64"},
		{"M0_THREADS", "0", "1 to 64"},
		{"M0_BLOCKING_THREADS", "many", "whole number"},
		{"M0_ACCEPT_SHARE", "maybe", "1 or 0"},
		{"M0_DRAIN_S", "NaN", "seconds"},
		{"M0_DRAIN_S", "-1", "seconds"},
		{"M0_DRAIN_S", "5s", "seconds"},
		{"M0_MAX_BODY", "9223372036854775807G", "bytes"},
		{"M0_MAX_BODY", "M", "10M"},
		{"M0_MAX_BODY", "1T", "10M"},
		{"M0_MAX_HEAD", "10", "1024"},
		{"M0_MAX_CONNS", "0", "1 to"},
		{"M0_JOURNAL", "-1", "0 to"},
	} {
		_, err := Parse(lookupIn(map[string]string{c.name: c.value}))
		var e *Error
		if !errors.As(err, &e) || e.Var != c.name || e.Value != c.value ||
			!strings.Contains(e.Error(), c.cure) {
			t.Errorf("Parse(%s=%q) error = %v; want the name, the value and %q",
				c.name, c.value, err, c.cure)
		}
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, err := Parse(lookupIn(map[string]string{"M0_PORT": "x", "M0_WORKERS": "y", "M0_DRAIN_S": "z"}))
	if got := strings.Count(err.Error(), "config: M0_"); got != 3 {
		t.Errorf("Parse with three wrong values reports %d: %v; want 3", got, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range []string{"", "0", "1", "-1", "1e3", "10M", "k", "0x10", "٣", "on", "1.5"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		env := map[string]string{}
		for _, name := range []string{"M0_PORT", "M0_WORKERS", "M0_DRAIN_S", "M0_MAX_BODY",
			"M0_MAX_HEAD", "M0_JOURNAL", "M0_ACCEPT_SHARE"} {
			env[name] = v
		}
		app, _ := Parse(lookupIn(env))
		if app.Port < 0 || app.Port > 65535 || app.Workers < 1 || app.MaxBody < 0 ||
			app.MaxHead < 1<<10 || app.Drain < 0 || app.Journal < 0 {
			t.Errorf("Parse(%q) = %+v: out of range", v, app)
		}
	})
}
