// SPDX-License-Identifier: MIT

package options

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// testProcess is a process of an ordinary user.
var testProcess = process{uid: 1000, pid: 77}

func parseArgs(env map[string]string, args ...string) (Options, error) {
	return parse(args, lookupIn(env), testProcess)
}

// mustParse returns the options without what differs by spelling.
func mustParse(t *testing.T, env map[string]string, args ...string) Options {
	t.Helper()
	o, err := parseArgs(env, args...)
	if err != nil {
		t.Fatalf("Parse(%q, %v) = %v", args, env, err)
	}
	o.Sources = nil
	return o
}

func abs(t *testing.T, p string) string {
	t.Helper()
	p, err := filepath.Abs(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaults(t *testing.T) {
	want := Options{
		App: App{Module: "mysite.wsgi"}, Interface: "auto", Lifespan: "auto",
		Binds: []Bind{{"tcp", "127.0.0.1:8080"}}, Backlog: 2048, AcceptShare: true,
		Workers: 1, Threads: 1, Loops: 1, Timeout: 30 * time.Second,
		GracefulTimeout: 5 * time.Second, Umask: -1, KeepAlive: 75 * time.Second,
		HeaderTimeout: 10 * time.Second, MaxConns: 65536, LimitRequestBody: 1 << 30,
		LimitRequestLine: 16 << 10, LimitRequestFields: 128, LimitHeadBytes: 64 << 10,
		ProxyHeaders: true, ForwardedAllowIPs: []string{"127.0.0.1", "::1"}, Journal: 64,
		AccessLogFormat: "json", LogLevel: "info",
	}
	if got := mustParse(t, nil, "mysite.wsgi"); !reflect.DeepEqual(got, want) {
		t.Errorf("Parse(mysite.wsgi) = %+v\nwant %+v", got, want)
	}
	empty := map[string]string{}
	for _, f := range newTable().flags {
		empty[f.variable()] = ""
		for _, name := range f.foreign {
			empty[name] = ""
		}
	}
	if got := mustParse(t, empty, "mysite.wsgi"); !reflect.DeepEqual(got, want) {
		t.Errorf("Parse with every variable empty = %+v\nwant %+v", got, want)
	}
}

// settings has a value for every flag that is honoured, and what it does.
func settings(t *testing.T) map[string]struct {
	value string
	want  func(*Options)
} {
	dir := t.TempDir()
	file := filepath.Join(dir, "prod.env")
	if err := os.WriteFile(file, []byte("A=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]struct {
		value string
		want  func(*Options)
	}{
		"bind": {"[::1]:9,unix:/run/a.sock", func(o *Options) {
			o.Binds = []Bind{{"tcp", "[::1]:9"}, {"unix", "/run/a.sock"}}
		}},
		"host":    {"0.0.0.0", func(o *Options) { o.Binds[0].Address = "0.0.0.0:8080" }},
		"port":    {"81", func(o *Options) { o.Binds[0].Address = "127.0.0.1:81" }},
		"uds":     {"a.sock", func(o *Options) { o.Binds[0] = Bind{"unix", abs(t, "a.sock")} }},
		"fd":      {"4", func(o *Options) { o.Binds[0] = Bind{"fd", "4"} }},
		"backlog": {"5", func(o *Options) { o.Backlog = 5 }},

		"interface":  {"asgi", func(o *Options) { o.Interface = "asgi" }},
		"factory":    {"1", func(o *Options) { o.App.Factory = true }},
		"lifespan":   {"off", func(o *Options) { o.Lifespan = "off" }},
		"root-path":  {"/shop/", func(o *Options) { o.RootPath = "/shop" }},
		"static":     {"/s/=" + dir, func(o *Options) { o.Static = []Static{{"/s", dir}} }},
		"chdir":      {dir, func(o *Options) { o.Chdir = dir }},
		"pythonpath": {"lib,/x", func(o *Options) { o.PythonPath = []string{abs(t, "lib"), "/x"} }},
		"python":     {"python3.11", func(o *Options) { o.Python = "python3.11" }},
		"venv":       {"venv", func(o *Options) { o.Venv = abs(t, "venv") }},
		"env":        {"A=1", func(o *Options) { o.Env = map[string]string{"A": "1"} }},
		"env-file":   {file, func(o *Options) { o.Env = map[string]string{"A": "1"} }},
		"validate":   {"1", func(o *Options) { o.Validate = true }},

		"workers":             {"3", func(o *Options) { o.Workers = 3 }},
		"threads":             {"8", func(o *Options) { o.Threads = 8 }},
		"loops":               {"2", func(o *Options) { o.Loops = 2 }},
		"accept-share":        {"0", func(o *Options) { o.AcceptShare = false }},
		"timeout":             {"1m30s", func(o *Options) { o.Timeout = 90 * time.Second }},
		"graceful-timeout":    {"2.5", func(o *Options) { o.GracefulTimeout = 2500 * time.Millisecond }},
		"max-requests":        {"1000", func(o *Options) { o.MaxRequests = 1000 }},
		"max-requests-jitter": {"50", func(o *Options) { o.MaxRequestsJitter = 50 }},
		"workers-max-rss":     {"512", func(o *Options) { o.MaxRSS = 512 << 20 }},
		"reload":              {"1", func(o *Options) { o.Reload = true }},
		"reload-dir":          {dir, func(o *Options) { o.ReloadDirs = []string{dir} }},
		"reload-include":      {"*.html", func(o *Options) { o.ReloadInclude = []string{"*.html"} }},
		"reload-exclude":      {"t/*", func(o *Options) { o.ReloadExclude = []string{"t/*"} }},
		"pid":                 {"m0.pid", func(o *Options) { o.PidFile = abs(t, "m0.pid") }},
		"umask":               {"027", func(o *Options) { o.Umask = 0o27 }},

		"keep-alive":           {"0", func(o *Options) { o.KeepAlive = 0 }},
		"header-timeout":       {"3", func(o *Options) { o.HeaderTimeout = 3 * time.Second }},
		"limit-concurrency":    {"9", func(o *Options) { o.LimitConcurrency = 9 }},
		"max-conns":            {"10", func(o *Options) { o.MaxConns = 10 }},
		"limit-request-body":   {"16M", func(o *Options) { o.LimitRequestBody = 16 << 20 }},
		"limit-request-line":   {"4094", func(o *Options) { o.LimitRequestLine = 4094 }},
		"limit-request-fields": {"100", func(o *Options) { o.LimitRequestFields = 100 }},
		"limit-head-bytes":     {"32KiB", func(o *Options) { o.LimitHeadBytes = 32 << 10 }},
		"proxy-headers":        {"0", func(o *Options) { o.ProxyHeaders = false }},
		"forwarded-allow-ips": {"10.1.2.3/8, ::2", func(o *Options) {
			o.ForwardedAllowIPs = []string{"10.0.0.0/8", "::2"}
		}},

		"realtime": {"1", func(o *Options) { o.Realtime = true }},
		"journal":  {"0", func(o *Options) { o.Journal = 0 }},
		"ws-origins": {"https://Example.com,http://localhost:3000", func(o *Options) {
			o.WSOrigins = []string{"https://example.com", "http://localhost:3000"}
		}},
		"pg-listen": {"host=/run dbname='a b'", func(o *Options) {
			o.PGListen = "host=/run dbname='a b'"
		}},
		"publish-http": {"5561", func(o *Options) { o.PublishHTTP = "127.0.0.1:5561" }},
		"publish-key":  {"base64:c2VjcmV0", func(o *Options) { o.PublishKey = []byte("secret") }},

		"access-log":        {"-", func(o *Options) { o.AccessLog = "-" }},
		"access-log-format": {"%(h)s", func(o *Options) { o.AccessLogFormat = "%(h)s" }},
		"log-level":         {"warning", func(o *Options) { o.LogLevel = "warn" }},
		"metrics":           {":9090", func(o *Options) { o.Metrics = "0.0.0.0:9090" }},
		"doctor":            {"1", func(o *Options) { o.Doctor = true }},
	}
}

// withoutCase are flags that other tests look at: they depend on the process, end
// the parse or have no effect.
var withoutCase = []string{"user", "group", "version", "help", "worker-class", "http",
	"error-logfile"}

func TestEveryFlagByEverySpelling(t *testing.T) {
	cases := settings(t)
	for _, f := range newTable().flags {
		if f.set == nil || slices.Contains(withoutCase, f.name) {
			continue
		}
		c, ok := cases[f.name]
		if !ok {
			t.Errorf("no case for --%s", f.name)
			continue
		}
		rest := []string{"m:a"}
		switch f.name {
		case "pg-listen", "publish-http", "ws-origins":
			rest = append(rest, "--realtime")
		case "max-requests-jitter":
			rest = append(rest, "--max-requests=1")
		}
		want := mustParse(t, nil, rest...)
		c.want(&want)
		check := func(env map[string]string, args ...string) {
			t.Helper()
			got := mustParse(t, env, append(args, rest...)...)
			if f.name == "env-file" {
				want.Env = map[string]string{"A": "1"}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("Parse(%q, %v) = %+v\nwant %+v", args, env, got, want)
			}
		}
		for _, s := range f.spellings() {
			switch {
			case f.value == "" && c.value == "0":
				check(nil, "--no-"+f.name)
			case f.value == "":
				check(nil, s)
			default:
				check(nil, s, c.value)
				check(nil, s+"="+c.value)
			}
			if len(s) == 2 && f.value != "" {
				check(nil, s+c.value)
			}
			check(map[string]string{"GUNICORN_CMD_ARGS": s + `="` + c.value + `"`})
		}
		for _, name := range append([]string{f.variable()}, f.foreign...) {
			value := c.value
			if name == "" || name == "PORT" { // PORT has its own rule for the host
				continue
			}
			check(map[string]string{name: value})
		}
	}
}
