// SPDX-License-Identifier: MIT

package options

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseEnv(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"\n# note\n  \n", map[string]string{}},
		{"A=1", map[string]string{"A": "1"}},
		{"A=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}},
		{"\ufeffA=1\n", map[string]string{"A": "1"}},
		{"export A=1\n export\tB = 2 \n", map[string]string{"A": "1", "B": "2"}},
		{"A=\nB=2\n", map[string]string{"A": "", "B": "2"}},
		{"A= # note\nB=2 # note\nC=a#b\nD=#x\n",
			map[string]string{"A": "", "B": "2", "C": "a#b", "D": ""}},
		{"A=a b  c \n", map[string]string{"A": "a b  c"}},
		{"A=x=y\n", map[string]string{"A": "x=y"}},
		{`A="a b" # note` + "\nB='c'", map[string]string{"A": "a b", "B": "c"}},
		{`A="q\"q\n\t\\\$\x"`, map[string]string{"A": "q\"q\n\t\\$\\x"}},
		{`A='a\n"$B"'`, map[string]string{"A": `a\n"$B"`}},
		{"KEY=\"-----BEGIN\nMII\n-----END\"\nB=1", map[string]string{
			"KEY": "-----BEGIN\nMII\n-----END", "B": "1"}},
		{"A='1\r\n2'", map[string]string{"A": "1\n2"}},
		{"A=$HOME\nB=${A}\n", map[string]string{"A": "$HOME", "B": "${A}"}},
		{"A=1\nA=2\n", map[string]string{"A": "2"}},
		{"a.b-c_D1=x", map[string]string{"a.b-c_D1": "x"}},
	} {
		if got, err := ParseEnv(c.text); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("ParseEnv(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

func TestParseEnvNamesTheLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"A=1\nB\n", "in line 2, write it as NAME=VALUE"},
		{"\n\n2A=1", "in line 3, begin it with a name of letters, digits and _"},
		{"A=1\n=2", "in line 2, begin it with a name of letters, digits and _"},
		{"A='1\n2\n3", "in line 1, close the quote '"},
		{"A='1\n2' x\n", "in line 2, leave out what stands behind the closing quote"},
		{"A=\"1\n2\"\nB=a\x00b", "in line 3, leave the NUL byte of B out"},
	} {
		if got, err := ParseEnv(c.text); err == nil || err.Error() != c.want {
			t.Errorf("ParseEnv(%q) = %q, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestEnvFilesGoBehindTheProcess(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for name, text := range map[string]string{one: "A=1\nB=1\nC=1\n", two: "B=2\nC=2\nM0_PORT=81\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := mustParse(t, map[string]string{"C": "process"}, "m:a", "--env-file", one, "--env-file", two,
		"-e", "D=4", "-e", "A=")
	want := map[string]string{"A": "", "B": "2", "D": "4", "M0_PORT": "81"}
	if !maps.Equal(o.Env, want) || o.Binds[0].Address != "127.0.0.1:81" {
		t.Errorf("Env = %q, Binds %v; want %q and the port of the file", o.Env, o.Binds, want)
	}
}

func TestEnvFileIsBoundedAndMayNotPoseAsTheSupervisor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	for text, want := range map[string]string{
		"A=" + strings.Repeat("x", envFileMax): "name a file of at most 1M",
		"M0_LISTEN_FD=3":                       "leave M0_LISTEN_FD out of it; a supervisor sets it",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := parseArgs(nil, "m:a", "--env-file", file)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Parse with a file of %d bytes = %v; want %q", len(text), err, want)
		}
	}
}

func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=1\n", "export B='x\ny' # z", "C=\"\\n\\x\"", "=", "\"", "A='", "#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := ParseEnv(text)
		if err != nil && vars != nil {
			t.Errorf("ParseEnv(%q) = %q and %v; want one of them", text, vars, err)
		}
		for name, value := range vars {
			if !isVariable(name) || strings.ContainsRune(value, 0) {
				t.Errorf("ParseEnv(%q) has %q=%q; want what a process can have", text, name, value)
			}
			if strings.ContainsAny(value, "'\r") {
				continue
			}
			quoted := name + "='" + value + "'"
			back, err := ParseEnv(quoted)
			if err != nil || back[name] != value {
				t.Errorf("ParseEnv(%q) = %q, %v; want %q", quoted, back, err, value)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"m:a -w4", "-b :1 --uds x m", "--env-file x", "--no-x", "-- a b",
		"m:a --static /=.", "-k= -e A=1", "--limit_request_line=8k p/q.py:r(1)"} {
		f.Add(s, "-w 4", "8000")
	}
	f.Fuzz(func(t *testing.T, line, gunicorn, port string) {
		env := map[string]string{"GUNICORN_CMD_ARGS": gunicorn, "PORT": port, "M0_APP": line}
		args := strings.Fields(line)
		o, err := parse(args, lookupIn(env), testProcess)
		if err == nil && !o.Help && !o.Version &&
			(len(o.Binds) == 0 || o.Workers < 1 || o.Threads < 1 || o.Loops < 1 ||
				o.App.Module == "" && !o.Doctor || o.HeaderTimeout <= 0 || o.LimitHeadBytes <= 0) {
			t.Errorf("Parse(%q, %q) = %+v; cannot be served and is not refused", args, env, o)
		}
		if err != nil && len(Problems(err)) == 0 {
			t.Errorf("Parse(%q, %q) = %v; want *Errors", args, env, err)
		}
	})
}
