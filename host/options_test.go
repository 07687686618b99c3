// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

// asks runs shop with the arguments, which ask for something else than serving.
func asks(t *testing.T, app App, args ...string) (code int, text string) {
	t.Helper()
	app.Name, app.Handler, app.Args = "shop", hello, args
	stdout, stderr := &output{}, &output{}
	code = run(app, stdout, stderr)
	if stderr.String() != "" {
		t.Errorf("shop %s printed to standard error: %s", args, stderr)
	}
	return code, stdout.String()
}

// examined is asks for --doctor, without the blanks that align the report.
func examined(t *testing.T, app App, args ...string) (code int, text string) {
	t.Helper()
	code, text = asks(t, app, append(args, "--doctor")...)
	return code, regexp.MustCompile(`  +`).ReplaceAllString(text, " ")
}

func withGreeting(to *string) App {
	return App{About: "sells things", Settings: []config.Setting{{
		Flag: "greeting", Env: "SHOP_GREETING", Value: "TEXT", Default: "hi",
		Help: "what the door says", Set: config.Text(to),
	}}}
}

func TestHelpTeaches(t *testing.T) {
	var word string
	code, text := asks(t, withGreeting(&word), "--help", "--port", "http")
	if code != 0 {
		t.Errorf("--help = exit %d, want 0 whatever else is wrong", code)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns, want 80 at most: %s", n, line)
		}
	}
	for _, want := range []string{"shop: sells things\n", "usage: shop [flags]\n",
		"\nshop\n  --greeting TEXT       SHOP_GREETING        what the door says [hi]\n",
		"\nChecks\n  --doctor ", "  shop --doctor  "} {
		if !strings.Contains(text, want) {
			t.Errorf("--help lacks %q:\n%s", want, text)
		}
	}
	if _, text = asks(t, App{MaxWorkers: 1}, "--help"); strings.Contains(text, "--workers 2") {
		t.Errorf("--help shows an example that is refused:\n%s", text)
	}
}

func TestApplicationsOwnFlagIsRead(t *testing.T) {
	var word string
	app := withGreeting(&word)
	app.Handler, app.Args = hello, []string{"--port", "0", "--greeting=good day"}
	_, _, exit := started(t, app)
	stop(t, exit)
	if word != "good day" {
		t.Errorf("--greeting = %q, want good day", word)
	}
}

func TestVersionIsOfTheBuild(t *testing.T) {
	code, text := asks(t, App{}, "-v")
	if code != 0 || !regexp.MustCompile(`^shop \S.*, go1\.\S+\n$`).MatchString(text) {
		t.Errorf("-v = exit %d, %q; want the name, a version and Go's", code, text)
	}
}

func TestDoctorSaysWhatWouldBeServed(t *testing.T) {
	cert, key := validPair(t, t.TempDir(), "site")
	app := App{Doctor: func(c *config.App, r *diagnosis.Report) {
		r.Add("Database", diagnosis.Good, "file", c.DB, "")
	}}
	code, text := examined(t, app, "--port=0", "--workers", "2", "--db", "shop.db")
	for _, want := range []string{"\n ok http://127.0.0.1:0 free (--port)\n",
		"workers 2 and a supervisor (--workers)\n", "1 in each worker (default)\n",
		"1024 of a worker may block at once", "drain 5 s at most (default)\n",
		"none: plain HTTP/1.1", "\nDatabase\n ok file shop.db\n",
		"db shop.db (--db)\n", "It would serve http://127.0.0.1:0.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("--doctor lacks %q:\n%s", want, text)
		}
	}
	if code != 0 {
		t.Errorf("--doctor = exit %d, want 0\n%s", code, text)
	}
	code, text = examined(t, App{}, "--port=0", "--tls-cert", cert, "--tls-key", key)
	if code != 0 || !strings.Contains(text, "for site, 127.0.0.1, until ") ||
		!strings.Contains(text, "It would serve https://127.0.0.1:0.") {
		t.Errorf("--doctor with TLS = exit %d\n%s", code, text)
	}
}

func TestDoctorNamesEveryProblemWithItsCure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	t.Setenv("M0_JOURNAL", "many")
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	code, text := examined(t, App{MaxWorkers: 1}, "--port", port, "--workers=2",
		"--tls-cert=gone.pem", "--prot=1", "--publish-socket", filepath.Join(t.TempDir(), "no", "s"))
	for _, want := range []string{"is taken by another process\n", "→ see which: ss -ltnp",
		`FAIL --workers "2"`, "→ shop serves from 1 at most", `FAIL M0_JOURNAL="many"`,
		`FAIL --tls-cert "gone.pem"`, "→ its key is missing", "FAIL --prot\n",
		"→ there is no such flag: did you mean --port?", "no does not exist\n",
		"64 events of each channel (see below)\n", "6 problems. Nothing would be served.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("--doctor lacks %q:\n%s", want, text)
		}
	}
	if code != 78 {
		t.Errorf("--doctor = exit %d, want 78", code)
	}
	dir := t.TempDir()
	code, text = examined(t, App{}, "--port=0", "--publish-socket", dir)
	if code != 78 || !strings.Contains(text, "a file that is no socket is there") {
		t.Errorf("--doctor --publish-socket %s = exit %d, want 78 and why:\n%s", dir, code, text)
	}
}

// TestTLSRefusesWhatNeedsLoops: the bound would not hold.
func TestTLSRefusesWhatNeedsLoops(t *testing.T) {
	cert, key := validPair(t, t.TempDir(), "site")
	for _, flag := range []string{"--threads=2", "--blocking-threads=8"} {
		out := &output{}
		code := run(App{Handler: hello, Args: []string{"--port=0", "--tls-cert", cert,
			"--tls-key", key, flag}}, &output{}, out)
		name, _, _ := strings.Cut(flag, "=")
		if code != 78 || !strings.Contains(out.String(), name) ||
			!strings.Contains(out.String(), "leave it out") {
			t.Errorf("%s with TLS: exit %d, printed %q; want 78 and the flag", flag, code, out)
		}
	}
}

// TestReadmeHasEverySetting: the table of the README is the table of the code.
func TestReadmeHasEverySetting(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var o options
	var want strings.Builder
	for _, s := range append(o.cfg.Settings(), o.asked.settings()...) {
		flag, def := "--"+s.Flag, s.Default
		switch {
		case s.Value != "":
			flag += " " + s.Value
		case s.Default == "1":
			flag, def = "--no-"+s.Flag, ""
		}
		env := ""
		if s.Env != "" {
			env = "`" + s.Env + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", flag, env, def, s.Help)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("README.md lacks the table of settings, which is:\n%s", &want)
	}
}

// TestMisspeltVariablesAreNamed at the start and by a doctor, each with what was meant.
func TestMisspeltVariablesAreNamed(t *testing.T) {
	t.Setenv("M0_PROT", "secret")
	t.Setenv("SHOP_GREETNG", "hi")
	t.Setenv("SHOP_TILL", "another program's")
	var word string
	app := withGreeting(&word)
	app.Handler = hello
	_, out, exit := started(t, app)
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	code, text := examined(t, withGreeting(&word), "--port=0")
	if code != 0 {
		t.Errorf("--doctor = exit %d, want 0: a variable may be another program's", code)
	}
	for _, said := range []string{out.String(), text} {
		for _, want := range []string{"M0_PROT: no setting has this name: did you mean M0_PORT?",
			"SHOP_GREETNG: no setting has this name: did you mean SHOP_GREETING?"} {
			if strings.Count(strings.ReplaceAll(said, "\n → ", ": "), want) != 1 {
				t.Errorf("want %q, once:\n%s", want, said)
			}
		}
		if strings.Contains(said, "secret") || strings.Contains(said, "SHOP_TILL") {
			t.Errorf("a value or another program's variable was printed:\n%s", said)
		}
	}
}
