// SPDX-License-Identifier: MIT

package options

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPrecedence goes from the weakest source to the strongest.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prod.env")
	if err := os.WriteFile(file, []byte("WEB_CONCURRENCY=2\nM0_WORKERS=6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreignFile := filepath.Join(t.TempDir(), "web.env")
	if err := os.WriteFile(foreignFile, []byte("WEB_CONCURRENCY=2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		args string
		want int
		from string
	}{
		{nil, "", 1, "default"},
		{map[string]string{"UVICORN_WORKERS": "9"}, "", 9, "$UVICORN_WORKERS"},
		{nil, "--env-file " + foreignFile, 2, "WEB_CONCURRENCY in " + foreignFile},
		{map[string]string{"WEB_CONCURRENCY": "3", "UVICORN_WORKERS": "9"},
			"--env-file " + foreignFile, 3, "$WEB_CONCURRENCY"},
		{map[string]string{"WEB_CONCURRENCY": "3"}, "-e WEB_CONCURRENCY=4", 4,
			"WEB_CONCURRENCY in -e"},
		{map[string]string{"WEB_CONCURRENCY": "3", "GUNICORN_CMD_ARGS": "-w 5"}, "", 5,
			"-w in GUNICORN_CMD_ARGS"},
		{map[string]string{"GUNICORN_CMD_ARGS": "-w 5"}, "--env-file " + file, 6,
			"M0_WORKERS in " + file},
		{map[string]string{"M0_WORKERS": "7", "GUNICORN_CMD_ARGS": "-w 5"}, "--env-file " + file,
			7, "$M0_WORKERS"},
		{map[string]string{"M0_WORKERS": "7", "WEB_CONCURRENCY": "3"}, "-w 8", 8, "-w"},
		{map[string]string{"M0_WORKERS": "x"}, "-w 7 --workers 8", 8, "--workers"},
	} {
		o, err := parseArgs(c.env, append(strings.Fields(c.args), "m:a")...)
		if from := o.Source("workers"); err != nil || o.Workers != c.want || from.String() != c.from {
			t.Errorf("Parse(%s, %v): workers %d from %s, %v; want %d from %s",
				c.args, c.env, o.Workers, from, err, c.want, c.from)
		}
	}
}

func TestListsOfOneSourceAddUp(t *testing.T) {
	env := map[string]string{"M0_FORWARDED_ALLOW_IPS": "10.0.0.1", "FORWARDED_ALLOW_IPS": "*"}
	o := mustParse(t, env, "m:a")
	if got := fmt.Sprint(o.ForwardedAllowIPs); got != "[10.0.0.1]" {
		t.Errorf("ForwardedAllowIPs = %s; want that of M0_FORWARDED_ALLOW_IPS alone", got)
	}
	o = mustParse(t, env, "m:a", "--forwarded-allow-ips", "::1", "--forwarded-allow-ips=1.1.1.1")
	if got := fmt.Sprint(o.ForwardedAllowIPs); got != "[::1 1.1.1.1]" {
		t.Errorf("ForwardedAllowIPs = %s; want both flags and nothing else", got)
	}
}

// TestBinds has the addresses and what gave them.
func TestBinds(t *testing.T) {
	listen := map[string]string{"LISTEN_FDS": "2", "LISTEN_PID": "77"}
	for _, c := range []struct {
		env              map[string]string
		args, want, from string
	}{
		{nil, "", "127.0.0.1:8080", "default"},
		{nil, "--host ::", "[::]:8080", "--host"},
		{nil, "--host [::1] --port 0", "[::1]:0", "--port"},
		{nil, "--host localhost", "localhost:8080", "--host"},
		{nil, "-b :8000", "0.0.0.0:8000", "-b"},
		{nil, "-b 8000", "127.0.0.1:8000", "-b"},
		{nil, "-b localhost", "localhost:8080", "-b"},
		{nil, "-b ::1", "[::1]:8080", "-b"},
		{nil, "-b [::1]", "[::1]:8080", "-b"},
		{nil, "-b tcp://1.2.3.4:5", "1.2.3.4:5", "-b"},
		{nil, "-b 1.2.3.4:5,unix:/a --bind fd://7", "1.2.3.4:5 unix:/a fd://7", "--bind"},
		{nil, "-b unix:@m0", "unix:@m0", "-b"},
		{nil, "-b unix:///run/m0", "unix:/run/m0", "-b"},
		{nil, "--uds /a --fd 3", "unix:/a fd://3", "--uds"},
		{nil, "-b 127.0.0.1:0 -b 127.0.0.1:0", "127.0.0.1:0 127.0.0.1:0", "-b"},
		{map[string]string{"PORT": "5000"}, "", "0.0.0.0:5000", "$PORT"},
		{map[string]string{"PORT": "5000"}, "--host 127.0.0.1", "127.0.0.1:5000", "--host"},
		{map[string]string{"PORT": "5000", "M0_PORT": "81"}, "", "127.0.0.1:81", "$M0_PORT"},
		{map[string]string{"PORT": "5000"}, "--port 82", "127.0.0.1:82", "--port"},
		{map[string]string{"PORT": "5000", "M0_PORT": "81"}, "-b :1", "0.0.0.0:1", "-b"},
		{map[string]string{"M0_BIND": ":1", "M0_HOST": "::1"}, "", "0.0.0.0:1", "$M0_BIND"},
		{map[string]string{"M0_BIND": ":1"}, "--port 2", "127.0.0.1:2", "--port"},
		{map[string]string{"M0_BIND": "localhost", "PORT": "5000"}, "", "localhost:5000", "$M0_BIND"},
		{map[string]string{"GUNICORN_CMD_ARGS": "-b :1"}, "", "0.0.0.0:1", "-b in GUNICORN_CMD_ARGS"},
		{map[string]string{"GUNICORN_CMD_ARGS": "-b :1"}, "--port 2", "127.0.0.1:2", "--port"},
		{listen, "", "fd://3 fd://4", "$LISTEN_FDS"},
		{listen, "-b :1", "0.0.0.0:1", "-b"},
		{map[string]string{"LISTEN_FDS": "1", "LISTEN_PID": "78"}, "", "127.0.0.1:8080", "default"},
		{map[string]string{"LISTEN_FDS": "1", "LISTEN_PID": "77", "PORT": "5"}, "", "fd://3",
			"$LISTEN_FDS"},
	} {
		o, err := parseArgs(c.env, append(strings.Fields(c.args), "m:a")...)
		got := strings.Trim(fmt.Sprint(o.Binds), "[]")
		if strings.HasPrefix(c.want, "[") { // Trim took a bracket of the address
			got = "[" + strings.TrimPrefix(got, "[")
		}
		if from := o.Source("bind").String(); err != nil || got != c.want || from != c.from {
			t.Errorf("Parse(%s, %v): binds %s from %s, %v; want %s from %s",
				c.args, c.env, got, from, err, c.want, c.from)
		}
	}
}

func TestWrongSystemdCountIsRefused(t *testing.T) {
	_, err := parseArgs(map[string]string{"LISTEN_FDS": "x", "LISTEN_PID": "77"}, "m:a")
	if want := `LISTEN_FDS="x": let systemd set it`; errorText(err) != want {
		t.Errorf("Parse with LISTEN_FDS=x: error = %v; want %s", err, want)
	}
	o, _ := parseArgs(map[string]string{"LISTEN_FDS": "1", "LISTEN_PID": "77"}, "m:a", "--port=1")
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], "LISTEN_FDS has no effect") {
		t.Errorf("Parse with a socket and --port warns %q; want LISTEN_FDS named", o.Warnings)
	}
}

func TestApplicationSpellings(t *testing.T) {
	for _, c := range []struct {
		args string
		want App
		path string
	}{
		{"mysite.wsgi", App{Module: "mysite.wsgi"}, ""},
		{"mysite.wsgi:application", App{Module: "mysite.wsgi", Attr: "application"}, ""},
		{"m:obj.app", App{Module: "m", Attr: "obj.app"}, ""},
		{"m:make()", App{Module: "m", Attr: "make", Factory: true}, ""},
		{`m:make("x",debug=True)`,
			App{Module: "m", Attr: "make", Factory: true, Args: `"x",debug=True`}, ""},
		{"m:make --factory", App{Module: "m", Attr: "make", Factory: true}, ""},
		{"--factory m", App{Module: "m", Factory: true}, ""},
		{"proj/wsgi.py:app", App{Module: "proj.wsgi", Attr: "app", Path: "proj/wsgi.py"}, ""},
		{"./wsgi.py", App{Module: "wsgi", Path: "./wsgi.py"}, ""},
		{"/srv/site/wsgi.py", App{Module: "wsgi", Path: "/srv/site/wsgi.py"}, "/srv/site"},
		{"../wsgi.py", App{Module: "wsgi", Path: "../wsgi.py"}, abs(t, "..")},
		{"my-proj/wsgi.py", App{Module: "wsgi", Path: "my-proj/wsgi.py"}, abs(t, "my-proj")},
		{"café:größe", App{Module: "café", Attr: "größe"}, ""},
		{"-- m:a", App{Module: "m", Attr: "a"}, ""},
	} {
		o := mustParse(t, nil, strings.Fields(c.args)...)
		if got := strings.Join(o.PythonPath, ","); o.App != c.want || got != c.path {
			t.Errorf("Parse(%s) = %#v, path %q; want %#v, %q", c.args, o.App, got, c.want, c.path)
		}
	}
	for name, want := range map[string]string{"M0_APP": "a:b", "UVICORN_APP": "a:b"} {
		o := mustParse(t, map[string]string{name: want})
		if o.App.String() != want {
			t.Errorf("Parse with %s=%s = %s; want it", name, want, o.App)
		}
	}
}

func TestApplicationIsPrintedAsTyped(t *testing.T) {
	for _, s := range []string{"m", "m:a", "m:make()", "m:make(1)", "p/wsgi.py:app"} {
		if got := mustParse(t, nil, s).App.String(); got != s {
			t.Errorf("App of %s prints as %s; want it as typed", s, got)
		}
	}
}

func TestGranianAndUvicornHabits(t *testing.T) {
	o := mustParse(t, nil, "m:a", "--interface", "asginl")
	if o.Interface != "asgi" || o.Lifespan != "off" {
		t.Errorf("--interface asginl = %s, lifespan %s; want asgi, off", o.Interface, o.Lifespan)
	}
	o = mustParse(t, map[string]string{"UVICORN_ACCESS_LOG": "true"}, "m:a")
	if o.AccessLog != "-" {
		t.Errorf("UVICORN_ACCESS_LOG=true logs to %q; want -", o.AccessLog)
	}
	o = mustParse(t, map[string]string{"M0_ACCESS_LOG": "-"}, "m:a", "--no-access-log")
	if o.AccessLog != "" {
		t.Errorf("--no-access-log logs to %q; want nowhere", o.AccessLog)
	}
}

func TestOptionsSurviveJSON(t *testing.T) {
	o, err := parseArgs(map[string]string{"WEB_CONCURRENCY": "3"}, "m:make(1)", "-b", ":1",
		"-e", "A=1", "--static", "/s=.", "--ws-origins", "*", "-t", "1.5", "--umask", "22")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var back Options
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, o) {
		t.Errorf("Options through JSON = %+v, %v\nwant %+v", back, err, o)
	}
}

func TestGivenSettingsKeepTheOrderOfTheHelp(t *testing.T) {
	o, err := parseArgs(map[string]string{"WEB_CONCURRENCY": "3"}, "m:a", "-t", "5", "--realtime",
		"--pg-listen", "postgres://u:hunter2@h/d", "-e", "A=hunter2", "-b:1", "-b:2",
		"--no-proxy-headers", "-k", "sync", "--reuse-port")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range o.Given() {
		lines = append(lines, fmt.Sprintf("%s=%s from %s", s.Name, s.Value, s.Source))
	}
	const want = "bind=:1,:2 from -b|env= from -e|workers=3 from $WEB_CONCURRENCY|timeout=5 from -t|" +
		"proxy-headers=0 from --no-proxy-headers|realtime=1 from --realtime|pg-listen= from --pg-listen"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("Given = %s\nwant %s", got, want)
	}
	base := []string{"A=1", "M0_PG_LISTEN=hunter2"}
	if got := fmt.Sprint(o.Environ(base)); got != "[A=1 A=hunter2]" || len(base) != 2 {
		t.Errorf("Environ = %s; want that of -e behind the base, without the DSN", got)
	}
}

func TestHelpTeachesOnTwoPages(t *testing.T) {
	help := Help()
	lines := strings.Split(help, "\n")
	if len(lines) > 100 {
		t.Errorf("Help has %d lines; want at most 100", len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 || strings.Contains(l, "\t") {
			t.Errorf("line %q has %d columns; want at most 80 and no tab", l, n)
		}
	}
	if !strings.Contains(strings.Join(lines[:12], "\n"), "m0serve main:app --reload") {
		t.Errorf("Help opens with %q; want examples", lines[:12])
	}
	for _, f := range newTable().flags {
		if f.set != nil && f.group == "" != strings.Contains("worker-class http error-logfile", f.name) {
			t.Errorf("--%s: group %q; want every honoured flag in the help", f.name, f.group)
		}
		if f.group == "" {
			continue
		}
		name := "--" + f.name
		if f.value == "" && f.def == "1" {
			name = "--no-" + f.name
		}
		if !strings.Contains(help, " "+name+" ") {
			t.Errorf("Help lacks %s", name)
		}
		if f.def != "" && f.value != "" && f.def != "0" && !strings.Contains(help, "["+f.def+"]") {
			t.Errorf("Help lacks the default %s of --%s", f.def, f.name)
		}
	}
	for _, ask := range []string{"-h", "--help"} {
		if o, err := parseArgs(nil, "--nonsense", ask); err != nil || !o.Help {
			t.Errorf("Parse(%s) = %v, %v; want Help and no error", ask, o.Help, err)
		}
	}
	for _, ask := range []string{"-v", "--version"} {
		if o, err := parseArgs(nil, ask); err != nil || !o.Version {
			t.Errorf("Parse(%s) = %v, %v; want Version and no error", ask, o.Version, err)
		}
	}
}
