// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/config"
)

// TestRefusals has the whole text of what an operator reads.
func TestRefusals(t *testing.T) {
	const tls = "m0serve does not end TLS yet; end TLS in front of it (nginx, Caddy, " +
		"a load balancer) and leave the option out"
	for _, c := range []struct{ args, want string }{
		{"", "application: none was given; name one, such as m0serve mysite.wsgi or " +
			"m0serve main:app"},
		{"--access-log m:a", `application: none was given; --access-log took "m:a" as its value: ` +
			"give it one, or leave it out"},
		{"m:a n:b", `"n:b": leave it out; one application is served, "m:a"`},
		{"m:a --preload", "--preload: workers are started afresh and never forked, so nothing " +
			"can be loaded before them; leave it out"},
		{"m:a -D", "-D: a service manager wants it in the foreground; leave it out, and use " +
			"systemd, a container or setsid"},
		{"m:a --daemon", "--daemon: a service manager wants it in the foreground; leave it out, " +
			"and use systemd, a container or setsid"},
		{"m:a -c gunicorn.conf.py", `-c "gunicorn.conf.py": a gunicorn configuration is a Python ` +
			"program of gunicorn's; give its settings as flags or as M0_ variables; see --help"},
		{"m:a --certfile c.pem", `--certfile "c.pem": ` + tls},
		{"m:a --keyfile=k.pem", `--keyfile "k.pem": ` + tls},
		{"m:a --tls-cert c.pem", `--tls-cert "c.pem": ` + tls},
		{"m:a --ssl-keyfile=k.pem", "--ssl-keyfile: " + tls},
		{"m:a -k gevent", `-k "gevent": there is no monkey-patched worker; leave it out and use ` +
			"--threads N: a view that waits does not hold up the others"},
		{"m:a --worker-class tornado", `--worker-class "tornado": leave it out; sync, gthread and ` +
			"uvicorn.workers.* are accepted"},
		{"m:a --interface rsgi", `--interface "rsgi": set it to asgi or wsgi; RSGI is spoken by ` +
			"granian alone"},
		{"m:a --http 2", `--http "2": let the proxy in front speak it; m0serve speaks HTTP/1.1`},
		{"m:a --worker 4", "--worker: there is no such option; did you mean --workers?"},
		{"m:a --wrokers=4", "--wrokers: there is no such option; did you mean --workers?"},
		{"m:a --relaod", "--relaod: there is no such option; did you mean --reload?"},
		{"m:a --frobnicate", "--frobnicate: there is no such option; see m0serve --help"},
		{"m:a -z", "-z: there is no such option; see m0serve --help"},
		{"m:a -w", "-w: give it a value (N)"},
		{"m:a -w 0", `-w "0": set it to a whole number from 1 to 64, or to auto`},
		{"m:a --workers=65", `--workers "65": set it to a whole number from 1 to 64, or to auto`},
		{"m:a --threads 0", `--threads "0": set it to a whole number from 1 to 1024`},
		{"m:a --loops many", `--loops "many": set it to a whole number from 1 to 64`},
		{"m:a --timeout -1s", `--timeout "-1s": set it to a time from 0 to 86400 s, such as 30, ` +
			"2.5s or 1m30s"},
		{"m:a --header-timeout 0", `--header-timeout "0": set it to a time from 1ms to 3600 s, ` +
			"such as 10 or 2.5s; without one, slow heads would hold their connections"},
		{"m:a --limit-request-body x", `--limit-request-body "x": set it to a size from 0 to 16T, ` +
			"such as 64k or 16M"},
		{"m:a --limit-request-line 0", `--limit-request-line "0": set it to a size from 256 to 1M, ` +
			"such as 64k or 16M"},
		{"m:a --workers-max-rss 1k", `--workers-max-rss "1k": set it to 0 or to a size from 16M, ` +
			"such as 512M"},
		{"m:a --umask 888", `--umask "888": set it to an octal number from 0 to 777, such as 022`},
		{"m:a --user daemon", `--user "daemon": only root can change the user; start m0serve as ` +
			"root, or as that user and without it"},
		{"m:a -g daemon", `-g "daemon": only root can change the group; start m0serve as root, ` +
			"or as that group and without it"},
		{"m:a --log-level loud", `--log-level "loud": set it to debug, info, warn or error`},
		{"m:a --lifespan maybe", `--lifespan "maybe": set it to auto, on or off`},
		{"m:a --root-path shop", `--root-path "shop": set it to a path such as /shop`},
		{"m:a --static static", `--static "static": write it as ROUTE=DIR, such as /static=public`},
		{"m:a --static-path-route /s", `--static-path-route "/s": routes and directories come in ` +
			"pairs; write --static ROUTE=DIR"},
		{"m:a --forwarded-allow-ips localhost", `--forwarded-allow-ips "localhost": list ` +
			`addresses, networks such as 10.0.0.0/8, or *; "localhost" is none`},
		{"m:a --ws-origins example.com --realtime", `--ws-origins "example.com": list origins ` +
			`such as https://example.com, or *; "example.com" is none`},
		{"m:a --pg-listen postgres://h/d", "--pg-listen: there are no channels to publish to; " +
			"add --realtime"},
		{"m:a --publish-http 5561", "--publish-http: there are no channels to publish to; " +
			"add --realtime"},
		{"m:a --publish-key base64:?hunter2", "--publish-key: write it as it is, or as base64:KEY"},
		{"m:a --realtime --pg-listen hunter2", "--pg-listen: write it as " +
			"postgres://user:password@host/database or as host=… dbname=…"},
		{"m:a -e hunter2", "-e: write it as NAME=VALUE"},
		{"m:a -e M0_LISTEN_FD=3", "-e: leave M0_LISTEN_FD out; a supervisor sets it"},
		{"m:a -e M0_SERVE_OPTIONS={}", "-e: leave M0_SERVE_OPTIONS out; a supervisor sets it"},
		{"m:a -b 1:1 --port 2", `--port: -b gives the addresses; use one of the two`},
		{"m:a -b 1:1 -b 1:1", `-b "1:1": name it once`},
		{"m:a -b 1:99999", `-b "1:99999": write it as HOST:PORT, :PORT, unix:PATH, unix:@NAME ` +
			"or fd://N"},
		{"m:a --port 70000", `--port "70000": set it to a whole number from 0 to 65535`},
		{"m:a --host 1.2.3.4:80", `--host "1.2.3.4:80": set it to an address or a name, such as ` +
			"127.0.0.1 or 0.0.0.0; the port goes to --port"},
		{"m:a --fd 2", `--fd "2": give the number of an inherited socket, such as 3`},
		{"m:a --reload=perhaps", `--reload "perhaps": set it to 1 or 0`},
		{"my-site.wsgi", `"my-site.wsgi": write it as module:app, such as ` +
			"mysite.wsgi:application or main:app"},
		{"m:2a", `"m:2a": name an attribute of the module behind the colon, such as main:app ` +
			"or main:make()"},
		{"m:make(", `"m:make(": close the bracket of the factory call`},
		{"dir/app", `"dir/app": write the file with its .py, or the module with dots`},
		{"a-b.py:app", `"a-b.py:app": give the file a name that Python can import`},
	} {
		_, err := parseArgs(nil, strings.Fields(c.args)...)
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%s) error =\n  %v\nwant\n  %s", c.args, err, c.want)
		}
		if list := Problems(err); len(list) != 1 {
			t.Errorf("Problems of Parse(%s) = %d errors; want 1 *Error", c.args, len(list))
		}
	}
}

// What is no address is refused before the resolver is asked, and what is one is taken.
func TestBindIsAnAddress(t *testing.T) {
	const write = "write it as HOST:PORT, :PORT, unix:PATH, unix:@NAME or fd://N"
	long := strings.Repeat("a", 120)
	for v, want := range map[string]string{
		"unix":             `"unix" begins another kind of address: ` + write,
		"unix:":            "name the socket, such as unix:/run/app.sock",
		"unix://":          "name the socket, such as unix:/run/app.sock",
		"unix:@":           "name the socket, such as unix:/run/app.sock",
		"unix:/" + long:    "choose a shorter path; a socket's has at most 107 bytes, this one 121",
		"fd":               `"fd" begins another kind of address: ` + write,
		"fd:3":             `"fd" begins another kind of address: ` + write,
		"fd://":            "give the number of an inherited socket, such as 3",
		"fd://x":           "give the number of an inherited socket, such as 3",
		"tcp":              `"tcp" begins another kind of address: ` + write,
		"tcp:80":           `"tcp" begins another kind of address: ` + write,
		"tcp://unix":       `"unix" begins another kind of address: ` + write,
		"http://a:80":      write,
		"127.0.0.1:":       write,
		"127.0.0.1:70000":  write,
		"127.0.0.1:-1":     write,
		"127.0.0.1:08":     write,
		"127.0.0.1:80x":    write,
		"300.1.1.1:80":     write,
		"a b:80":           write,
		"a/b":              write,
		"[::1":             write,
		"::1]:80":          write,
		"::1:80:x":         write,
		"[1.2.3.4:80]":     write,
		",":                write,
		"127.0.0.1:80,":    write,
		"127.0.0.1:80,,:1": write,
	} {
		_, err := parseArgs(nil, "m:a", "--bind", v)
		if want = fmt.Sprintf("--bind %q: %s", v, want); err == nil || err.Error() != want {
			t.Errorf("--bind %q: %v\nwant %s", v, err, want)
		}
	}
	for v, want := range map[string]string{
		"127.0.0.1:0": "127.0.0.1:0", ":0": "0.0.0.0:0", "[::1]:80": "[::1]:80", "::1": "[::1]:8080",
		"unixes": "unixes:8080", "fd.example:80": "fd.example:80", "1.2.3:80": "1.2.3:80",
		"tcp://a:80": "a:80", "unix:unix": "", "unix:@a b": "unix:@a b",
	} {
		o, err := parseArgs(nil, "m:a", "--bind", v)
		if err != nil || len(o.Binds) != 1 || want != "" && o.Binds[0].String() != want {
			t.Errorf("--bind %q = %v, %v; want %s", v, o, err, want)
		}
	}
}

func TestEveryRefusedFlagSaysWhyAndWhatToDo(t *testing.T) {
	count := 0
	for _, f := range newTable().flags {
		if f.set != nil || f.cure == "" {
			continue
		}
		count++
		for _, s := range f.spellings() {
			args := []string{"m:a", s}
			if f.value != "" {
				args = append(args, "x")
			}
			_, err := parseArgs(nil, args...)
			var e *Error
			if !errors.As(err, &e) || e.Reason != f.reason || e.Cure != f.cure ||
				e.Option != "--"+f.name || e.Source.Name != s || f.reason == "" {
				t.Errorf("Parse(%q) = %v; want an *Error with the reason and the cure", args, err)
			}
		}
	}
	if count < 20 {
		t.Errorf("%d flags are refused; want the table's 20 and more", count)
	}
}

func TestVariablesAreRefusedByTheirName(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"M0_WORKERS", "0", `M0_WORKERS="0" (--workers): set it to a whole number from 1 to 64, ` +
			"or to auto"},
		{"WEB_CONCURRENCY", "x", `WEB_CONCURRENCY="x" (--workers): set it to a whole number ` +
			"from 1 to 64, or to auto"},
		{"PORT", "http", `PORT="http" (--port): set it to a whole number from 0 to 65535`},
		{"FORWARDED_ALLOW_IPS", "lan", `FORWARDED_ALLOW_IPS="lan" (--forwarded-allow-ips): list ` +
			`addresses, networks such as 10.0.0.0/8, or *; "lan" is none`},
		{"SCRIPT_NAME", "x", `SCRIPT_NAME="x" (--root-path): set it to a path such as /shop`},
		{"M0_PG_LISTEN", "hunter2", "M0_PG_LISTEN (--pg-listen): write it as " +
			"postgres://user:password@host/database or as host=… dbname=…"},
		{"GUNICORN_CMD_ARGS", "--preload", "--preload in GUNICORN_CMD_ARGS: workers are started " +
			"afresh and never forked, so nothing can be loaded before them; leave it out"},
		{"GUNICORN_CMD_ARGS", "-w '4", "GUNICORN_CMD_ARGS: close the quote '"},
		{"GUNICORN_CMD_ARGS", "n:b", `"n:b" in GUNICORN_CMD_ARGS: leave it out; only options ` +
			"are read there"},
		{"UVICORN_INTERFACE", "asgi2", `UVICORN_INTERFACE="asgi2" (--interface): set it to asgi, ` +
			"and wrap the application in asgiref.compatibility.guarantee_single_callable"},
		{"UVICORN_SSL_KEYFILE", "k.pem", `UVICORN_SSL_KEYFILE="k.pem" (--keyfile): m0serve does ` +
			"not end TLS yet; end TLS in front of it (nginx, Caddy, a load balancer) and leave " +
			"the option out"},
		{"M0_PRELOAD", "1", ""},
	} {
		env := map[string]string{c.name: c.value, "M0_REALTIME": "1"}
		_, err := parseArgs(env, "m:a")
		if got := errorText(err); got != c.want {
			t.Errorf("Parse with %s=%s: error =\n  %s\nwant\n  %s", c.name, c.value, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	o, err := parseArgs(map[string]string{"PORT": "x"},
		"m:a", "-w0", "--preload", "--nope", "--doctor")
	if got := len(Problems(err)); got != 4 {
		t.Errorf("Problems = %d (%v); want 4", got, err)
	}
	if !o.Doctor || o.App.Module != "m" {
		t.Errorf("Parse with problems = %+v; want what could be read for the doctor", o)
	}
}

func TestMissingDirectoriesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ option, value, want string }{
		{"--chdir", file + "x", "name a directory that exists"},
		{"--chdir", file, "is a file"},
		{"--static", "/s=" + file + "x", "name a directory that exists"},
		{"--reload-dir", file + "x", "name a directory that exists"},
		{"--env-file", file + "x", "name a file that can be read"},
		{"--pid", file + "x/y/pid", "make its directory first (mkdir -p " + file + "x/y)"},
		{"--pid", file + "/pid", "make its directory first"},
		{"--pid", filepath.Dir(file), "name a file in it"},
		{"--access-log", file + "x/log", "make its directory first"},
		{"--access-log", filepath.Dir(file), "name a file in it"},
	} {
		_, err := parseArgs(nil, "m:a", c.option, c.value)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), c.option+" ") {
			t.Errorf("Parse(%s %s) error = %v; want %q", c.option, c.value, err, c.want)
		}
	}
}

func TestUserAndGroupNeedRoot(t *testing.T) {
	root := process{uid: 0, pid: 1}
	o, err := parse([]string{"m:a", "-u0", "-g", "0"}, lookupIn(nil), root)
	if err != nil || o.User != "0" || o.Group != "0" {
		t.Errorf("Parse as root = %q, %q, %v; want 0, 0", o.User, o.Group, err)
	}
	_, err = parse([]string{"m:a", "-u", "no such user"}, lookupIn(nil), root)
	const want = `-u "no such user": name a user of this system`
	if errorText(err) != want {
		t.Errorf("Parse of an unknown user = %v; want %s", err, want)
	}
}

// TestWarnings has the sentence of everything that is accepted without effect.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-k sync", "-k sync has no effect: --interface and --threads say how workers run"},
		{"-kgthread", "-k gthread has no effect: --interface and --threads say how workers run"},
		{"-k uvicorn.workers.UvicornWorker", "-k uvicorn.workers.UvicornWorker has no effect: " +
			"--interface and --threads say how workers run"},
		{"--loop uvloop", `--loop "uvloop" has no effect: uvloop is used when it is installed`},
		{"--http httptools", "--http httptools has no effect: there is one parser"},
		{"--ws websockets", `--ws "websockets" has no effect: there is one implementation`},
		{"--worker-tmp-dir /dev/shm", `--worker-tmp-dir "/dev/shm" has no effect: heartbeats ` +
			"live in shared memory"},
		{"--spawn-workers", "--spawn-workers has no effect: workers are always started afresh"},
		{"--limit-request-field_size 8190", `--limit-request-field_size "8190" has no effect: ` +
			"the limit is --limit-request-line, for fields too"},
		{"--ws-origins *", "--ws-origins has no effect without --realtime"},
		{"--max-requests-jitter 5", "--max-requests-jitter has no effect without --max-requests"},
		{"--error-logfile -", ""},
		{"--no-daemon", ""},
		{"--no-preload", ""},
		{"--no-access-log", ""},
	} {
		o, err := parseArgs(nil, append(strings.Fields(c.args), "m:a")...)
		if got := strings.Join(o.Warnings, "|"); err != nil || got != c.want {
			t.Errorf("Parse(%s) warns %q, %v; want %q", c.args, got, err, c.want)
		}
	}
}

func TestMisspeltVariablesAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prod.env")
	if err := os.WriteFile(file, []byte("M0_TIMOUT=9\nDATABASE_URL=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseArgs(nil, "--env-file", file, "-e", "WEB_CONCURENCY=4", "m:a")
	o.WarnMisspelt([]string{"M0_PROT=secret", "M0_APP=m:a", "M0_PUBLISH_SOCKET=off", "HOME=/",
		"M0_WORKERS=2", "UVICORN_PORT=80", "DJANGO_PORT=80"})
	const cure = " has no effect: no setting has this name: did you mean "
	want := "$M0_PROT" + cure + "M0_PORT?|$M0_TIMOUT" + cure + "M0_TIMEOUT?|$WEB_CONCURENCY" + cure +
		"WEB_CONCURRENCY?"
	if got := strings.Join(o.Warnings, "|"); err != nil || got != want {
		t.Errorf("warnings %q, %v\nwant %q", got, err, want)
	}
	var other config.App
	for _, s := range other.Settings() { // those of a service of Go are no slips
		var o Options
		if o.WarnMisspelt([]string{s.Env + "=1"}); len(o.Warnings) > 0 {
			t.Errorf("%s: %q; it is right in another program", s.Env, o.Warnings)
		}
	}
}

func TestEveryFlagWithoutEffectIsNamed(t *testing.T) {
	for _, f := range ineffective() {
		if f.set != nil {
			continue
		}
		for _, s := range f.spellings() {
			args := []string{"m:a", s}
			if f.value != "" {
				args = append(args, "x")
			}
			o, err := parseArgs(nil, args...)
			if err != nil || len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], s) ||
				!strings.HasSuffix(o.Warnings[0], ": "+f.note) || f.note == "" {
				t.Errorf("Parse(%q) warns %q, %v; want one by name", args, o.Warnings, err)
			}
		}
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	const secret = "hunter2"
	file := filepath.Join(t.TempDir(), "env")
	text := "PASSWORD='" + secret + "' " + secret + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseArgs(map[string]string{"GUNICORN_CMD_ARGS": "'" + secret}, "m:a",
		"-e", secret, "-e", "M0_LIFE_FD="+secret, "-e", "A="+secret+"\x00",
		"--pg-listen", secret, "--env-file", file)
	if got := len(Problems(err)); got != 6+1 {
		t.Errorf("Problems = %d (%v); want 7", got, err)
	}
	all := append(slices.Clone(o.Warnings), err.Error())
	if got := strings.Join(all, "\n"); strings.Contains(got, secret) {
		t.Errorf("messages = %q; want no secret in them", got)
	}
}
