// SPDX-License-Identifier: MIT

//go:build unix

package doctor

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/wsgi/internal/interpreter"
	"m0serve.dev/wsgi/internal/options"
)

// site is a directory with applications of every kind.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain.py": "print('noise from the application')\n\n" +
			"def app(environ, start_response):\n    return []\n",
		"spoken.py": "class App:\n    async def __call__(self, scope, receive, send):\n" +
			"        pass\n\napp = App()\n",
		"broken.py":  "import json\n\n\ndef load():\n    return json.loads('{')\n\n\napp = load()\n",
		"syntax.py":  "x = 1\ndef app(:\n",
		"missing.py": "import yaml_is_not_here.loader\n",
		"pillow.py":  "raise ModuleNotFoundError(\"No module named 'PIL'\", name='PIL')\n",
		"variable.py": "import os\n\nKEY = os.environ['M0_DOCTOR_KEY']\n\n" +
			"def app(e, s):\n    return []\n",
		"leaves.py":  "import sys\n\nsys.exit('not today')\n",
		"crashes.py": "import os\n\nprint('last words', flush=True)\nos.kill(os.getpid(), 9)\n",
		"names.py":   "import flask\n\nshop = flask.Flask()\n",
		"number.py":  "app = 7\n",
		"hangs.py": "import subprocess, time\n\np = subprocess.Popen(['sleep', '300'])\n" +
			"open('child', 'w').write(str(p.pid))\ntime.sleep(300)\n",
		"mysite/wsgi.py": "def application(environ, start_response):\n    return []\n",
		"flask/__init__.py": "class Flask:\n    def __call__(self, environ, start_response):\n" +
			"        return []\n",
		"Flask-9.8.7.dist-info/METADATA": "Metadata-Version: 2.1\nName: Flask\nVersion: 9.8.7\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// none is an environment without variables.
func none(string) (string, bool) { return "", false }

// environ is that of the tests without what would change a result.
func environ() []string {
	var list []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "VIRTUAL_ENV=") && !strings.HasPrefix(entry, "M0_") {
			list = append(list, entry)
		}
	}
	return list
}

// realPython is the interpreter behind the python3 on PATH, which may be a slow shim.
var realPython = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// examine reports on m0serve --doctor with these arguments in the directory.
func examine(t *testing.T, dir string, args ...string) *Report {
	t.Helper()
	exe, err := realPython()
	if err != nil {
		t.Fatalf("python3 on PATH: %v; these tests need one", err)
	}
	args = append([]string{"--doctor", "--chdir", dir, "-b", "127.0.0.1:0", "--python", exe}, args...)
	o, err := options.Parse(args, none)
	return Examine(context.Background(), Config{Options: o, Problems: err, Environ: environ(),
		Version: "0.1.0", ImportTimeout: 20 * time.Second})
}

// find returns the line with the label.
func find(r *Report, section, label string) Line {
	for _, l := range r.Lines {
		if l.Section == section && l.Label == label {
			return l
		}
	}
	return Line{Text: "no such line", Mark: -1}
}

func text(t *testing.T, r *Report, terminal bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Print(&b, terminal); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestApplication imports every application of the site.
func TestApplication(t *testing.T) {
	dir := site(t)
	exe, err := realPython()
	if err != nil {
		t.Fatalf("python3 on PATH: %v; these tests need one", err)
	}
	py, err := interpreter.Find(context.Background(), interpreter.Config{Python: exe})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string, line int) string {
		return fmt.Sprintf("at %s:%d", filepath.Join(dir, name), line)
	}
	for _, c := range []struct {
		app  string
		mark Mark
		text []string
		cure string
	}{
		{"plain:app", Good, []string{"WSGI; a builtins.function, imported in "}, ""},
		{"plain", Good, []string{"WSGI"}, ""},
		{"mysite.wsgi", Good, []string{"WSGI"}, ""},
		{"spoken:app", Good, []string{"ASGI; a spoken.App"}, ""},
		{"names:shop", Good, []string{"WSGI, Flask 9.8.7; a flask.Flask"}, ""},
		{"broken:app", Problem, []string{"JSONDecodeError: ", "\n" + at("broken.py", 5) + " in load\n",
			"return json.loads('{')"}, "mend it there"},
		{"syntax:app", Problem, []string{"SyntaxError: invalid syntax\n" + at("syntax.py", 2),
			"def app(:"}, "mend it there"},
		{"missing", Problem, []string{"ModuleNotFoundError: No module named 'yaml_is_not_here'",
			at("missing.py", 1)}, " -m pip install 'yaml_is_not_here'"},
		{"pillow", Problem, []string{"No module named 'PIL'"}, " -m pip install 'Pillow'"},
		{"variable", Problem, []string{"KeyError: 'M0_DOCTOR_KEY'", at("variable.py", 3)},
			"set the variable 'M0_DOCTOR_KEY', with -e or --env-file"},
		{"leaves", Problem, []string{"it ends the process while it is imported (SystemExit not today)",
			at("leaves.py", 3)}, "mend it there"},
		{"crashes", Problem, []string{"it ended the process (signal: killed)"},
			"import it by hand: "},
		{"nope", Problem, []string{"there is no module 'nope' in "}, "name an application"},
		{"names:nope", Problem, []string{"names has no 'nope'; it has: shop"}, "name an application"},
		{"number", Problem, []string{"has none of"}, "name an application"},
	} {
		o, err := options.Parse([]string{c.app, "--chdir", dir}, none)
		if err != nil {
			t.Fatal(err)
		}
		r := &Report{}
		r.application(context.Background(), &Config{Options: o, Environ: environ()}, py)
		l := find(r, "Application", c.app)
		if l.Mark != c.mark || !strings.Contains(l.Cure, c.cure) || r.OK() != (c.mark == Good) {
			t.Errorf("Examine(%s) = %+v, OK %v; want mark %d and cure %q",
				c.app, l, r.OK(), c.mark, c.cure)
		}
		for _, want := range c.text {
			if !strings.Contains(l.Text, want) {
				t.Errorf("Examine(%s) says %q; want %q in it", c.app, l.Text, want)
			}
		}
	}
}

func TestVariablesReachTheApplication(t *testing.T) {
	r := examine(t, site(t), "variable", "-e", "M0_DOCTOR_KEY=hunter2")
	if l := find(r, "Application", "variable"); l.Mark != Good {
		t.Errorf("Examine(variable) with its variable = %+v; want it imported", l)
	}
	if got := text(t, r, false); strings.Contains(got, "hunter2") {
		t.Errorf("report = %s\nwant no value of -e in it", got)
	}
}

func TestMissingApplicationIsGuessed(t *testing.T) {
	r := examine(t, site(t))
	const want = "name it: mysite/wsgi.py looks like one, so m0serve mysite.wsgi"
	if l := find(r, "Application", "application"); l.Mark != Problem || l.Cure != want {
		t.Errorf("Examine without an application = %+v; want %q", l, want)
	}
}

func TestInterfaceThatDoesNotFitIsNamed(t *testing.T) {
	r := examine(t, site(t), "plain", "--interface", "asgi")
	l := find(r, "Application", "interface")
	if l.Mark != Warning || !strings.Contains(l.Text, "--interface says asgi") {
		t.Errorf("Examine(plain as asgi) = %+v; want a warning", l)
	}
}

// TestImportThatHangsIsBounded checks that nothing is left running either.
func TestImportThatHangsIsBounded(t *testing.T) {
	dir := site(t)
	o, err := options.Parse([]string{"hangs", "--chdir", dir}, none)
	if err != nil {
		t.Fatal(err)
	}
	r := Examine(context.Background(), Config{Options: o, Environ: environ(),
		ImportTimeout: 3 * time.Second})
	l := find(r, "Application", "hangs")
	if l.Mark != Problem || l.Text != "it was not imported within 3s" {
		t.Errorf("Examine(hangs) = %+v; want its bound", l)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatalf("the application did not get to its child: %v", err)
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); isRunning(pid); {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the test's own, left by what it tests
			t.Fatalf("process %d, a child of the application, still runs", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// isRunning tells whether the process is there and no zombie.
func isRunning(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestInterpreterThatCannotServeIsExplained(t *testing.T) {
	r := examine(t, site(t), "plain", "--python", "/bin/false-python")
	l := find(r, "Python", "interpreter")
	if l.Mark != Problem || l.Cure != "name an interpreter that is there" ||
		l.Text != "/bin/false-python (--python): no such file or directory" {
		t.Errorf("Examine with a wrong --python = %+v; want it named with its cure", l)
	}
	if l := find(r, "Application", "plain"); l.Mark != Note {
		t.Errorf("application = %+v; want it left alone", l)
	}
}

func TestInterpreterIsDescribed(t *testing.T) {
	o := options.Options{Chdir: site(t), App: options.App{Module: "plain"}, Interface: "auto"}
	r := Examine(context.Background(), Config{Options: o, Environ: environ()})
	if l := find(r, "Python", "interpreter"); l.Mark != Good ||
		!strings.HasPrefix(l.Text, "CPython 3.") || !strings.HasSuffix(l.Text, "(python3 on PATH)") {
		t.Errorf("interpreter = %+v; want version, path and origin", l)
	}
	for _, label := range []string{"environment", "ctypes", "libpython", "packages"} {
		if l := find(r, "Python", label); l.Mark == Problem || l.Mark < 0 {
			t.Errorf("%s = %+v; want a line", label, l)
		}
	}
}

func TestOptionsAreListedWithTheirSources(t *testing.T) {
	env := map[string]string{"WEB_CONCURRENCY": "3", "M0_TIMEOUT": "5",
		"M0_PG_LISTEN": "postgres://u:hunter2@h/d"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o, err := options.Parse([]string{"m:a", "--threads=2", "--realtime", "-k", "sync", "--preload",
		"--umask", "9"}, lookup)
	r := &Report{}
	r.options(&Config{Options: o, Problems: err})
	got := text(t, r, false)
	for _, want := range []string{
		"  -    workers   3 ($WEB_CONCURRENCY)\n", "  -    threads   2 (--threads)\n",
		"  -    timeout   5 ($M0_TIMEOUT)\n",
		"  warn -k sync has no effect: --interface and --threads say how workers run\n",
		"  FAIL --preload: workers are started afresh and never forked, so nothing can be loaded " +
			"before them\n       → leave it out\n",
		"  FAIL --umask \"9\"\n       → set it to an octal number from 0 to 777, such as 022\n",
		"\n2 problems and 1 warning. Nothing would be served.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report =\n%s\nwant in it\n%s", got, want)
		}
	}
	if strings.Contains(got, "hunter2") || strings.Contains(got, "umask  ") {
		t.Errorf("report = %s\nwant no password in it, and no setting that is refused", got)
	}
}

// TestAddresses tries one that is free, one that is taken and what cannot be.
func TestAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	dir := t.TempDir()
	served := filepath.Join(dir, "s")
	us, err := net.Listen("unix", served)
	if err != nil {
		t.Fatal(err)
	}
	defer us.Close()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bind, label, text, cure string
		mark                    Mark
	}{
		{"127.0.0.1:0", "http://127.0.0.1:0", "free (-b)", "", Good},
		{taken, "http://" + taken, "is taken by another process", "ss -ltnp 'sport = :", Problem},
		{"192.0.2.1:0", "http://192.0.2.1:0", "is no address of this machine", "use 127.0.0.1", Problem},
		{"unix:" + dir + "/new", "unix:" + dir + "/new", "free (-b)", "", Good},
		{"unix:" + served, "unix:" + served, "is served by another process", "stop it", Problem},
		{"unix:" + dir + "/f", "unix:" + dir + "/f", "is a file and no socket", "remove it", Problem},
		{"unix:" + dir + "/x/y", "unix:" + dir + "/x/y", "is in a directory that does not exist",
			"mkdir -p " + dir + "/x", Problem},
		{"fd://3", "fd://3", "inherited (-b)", "", Note},
	} {
		o, err := options.Parse([]string{"m:a", "-b", c.bind}, none)
		if err != nil {
			t.Fatal(err)
		}
		r := &Report{}
		r.addresses(&o)
		l := find(r, "Addresses", c.label)
		if l.Mark != c.mark || l.Text != c.text || !strings.Contains(l.Cure, c.cure) {
			t.Errorf("addresses of -b %s = %+v; want %q and cure %q", c.bind, l, c.text, c.cure)
		}
	}
	r := &Report{}
	r.addresses(&options.Options{Metrics: taken})
	if l := find(r, "Addresses", "metrics"); l.Mark != Problem ||
		!strings.HasSuffix(l.Cure, "with --metrics") {
		t.Errorf("metrics on a taken address = %+v; want a problem", l)
	}
}

// TestDescriptorsAreAskedForByName: what the numbers mean is of package diagnosis.
func TestDescriptorsAreAskedForByName(t *testing.T) {
	r := &Report{}
	r.limits(&options.Options{MaxConns: math.MaxInt, Sources: map[string]options.Source{
		"max-conns": {Kind: options.FromFlag, Name: "--worker-connections"}}})
	l := find(r, "Limits", "descriptors")
	if l.Mark == Good {
		t.Skip("SKIPPED: a machine without a limit of descriptors")
	}
	if l.Mark != Problem || !strings.Contains(l.Text, ", and --worker-connections asks for") ||
		!strings.Contains(l.Cure, "or set --max-conns ") {
		t.Errorf("limits of too many connections = %+v; want a problem by its flag", l)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"full/a.css", "empty/", "gunicorn.conf.py"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &Report{}
	r.files(&options.Options{Chdir: dir, PidFile: filepath.Join(dir, "pid"), AccessLog: "-",
		Static: []options.Static{{Route: "/a", Dir: dir + "/full"}, {Route: "/b", Dir: dir + "/empty"},
			{Route: "/c", Dir: dir + "/none"}}})
	for _, c := range []struct {
		label string
		mark  Mark
		text  string
	}{
		{"static /a", Good, dir + "/full, 1 entries"},
		{"static /b", Warning, dir + "/empty is empty"},
		{"static /c", Problem, dir + "/none cannot be read (no such file or directory)"},
		{"pid", Good, dir + "/pid"},
		{"gunicorn", Warning, "gunicorn.conf.py is not read"},
	} {
		if l := find(r, "Files", c.label); l.Mark != c.mark || l.Text != c.text ||
			l.Mark >= Warning && l.Cure == "" {
			t.Errorf("files: %s = %+v; want %q, with a cure when it is no good", c.label, l, c.text)
		}
	}
}

// TestRunLeavesWithTheStatus is what --doctor does.
func TestRunLeavesWithTheStatus(t *testing.T) {
	dir := site(t)
	for _, c := range []struct {
		app    string
		status int
		last   string
	}{
		{"plain", 0, "It would serve http://127.0.0.1:0."},
		{"broken", 78, "1 problem. Nothing would be served."},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		o, err := options.Parse([]string{c.app, "--chdir", dir, "-b", "127.0.0.1:0",
			"--max-conns", "8"}, none)
		if err != nil {
			t.Fatal(err)
		}
		status := Run(context.Background(), Config{Options: o, Environ: environ()}, out)
		got, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if status != c.status || !strings.HasSuffix(string(got), "\n"+c.last+"\n") ||
			strings.Contains(string(got), "\x1b") {
			t.Errorf("Run(%s) = %d\n%s\nwant %d, plain text and %q", c.app, status, got, c.status, c.last)
		}
	}
}
