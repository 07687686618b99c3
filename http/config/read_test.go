// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// readApp reads the settings of an App, with one more that is a secret.
func readApp(args []string, env map[string]string) (app App, key string, given []Given, err error) {
	settings := append(app.Settings(), Setting{Flag: "key", Env: "SHOP_KEY", Value: "KEY",
		Secret: true, Group: "Shop", Help: "of the till", Set: func(v string) error {
			key = v
			return nil
		}})
	given, err = Read(settings, args, lookupIn(env))
	return app, key, given, err
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	env := map[string]string{"M0_PORT": "1", "M0_MAX_BODY": "1K", "SHOP_KEY": "ours"}
	app, key, given, err := readApp([]string{"--port", "2", "--no-accept-share", "-w=3",
		"--max_head=2k", "--limit-request-body", "2K", "--port=3"}, env)
	if err != nil || app.Port != 3 || app.AcceptShare || app.Workers != 3 ||
		app.MaxHead != 2048 || app.MaxBody != 2048 || key != "ours" || app.Journal != 64 {
		t.Errorf("Read = %+v, key %q, %v; want the flag, then the variable, then the default",
			app, key, err)
	}
	var got []string
	for _, g := range given {
		got = append(got, g.Setting.Flag+" "+g.Value+" "+g.Source)
	}
	want := "port 3 --port; workers 3 -w; accept-share 0 --no-accept-share; " +
		"max-body 2K --limit-request-body; max-head 2k --max_head; key  $SHOP_KEY"
	if all := strings.Join(got, "; "); all != want {
		t.Errorf("given = %s\nwant %s", all, want)
	}
}

func TestFlagThatCannotBeHonouredIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--port http":         `config: --port "http": set it to a whole number from 0 to 65535`,
		"--worker 2":          "config: --worker: there is no such flag: did you mean --workers?",
		"-port 2":             "config: -port: there is no such flag: did you mean --port?",
		"--max-bdy 1":         "config: --max-bdy: there is no such flag: did you mean --max-body?",
		"--frobnicate 2":      "config: --frobnicate: there is no such flag: see --help",
		"--port":              "config: --port: give it a value (N)",
		"--tls-cert --port=":  "config: --tls-cert: give it a value (FILE)",
		"serve":               `config: "serve": leave it out: flags alone are taken; see --help`,
		"--no-port":           "config: --no-port: there is no such flag: did you mean --port?",
		"--no-accept-share=1": `config: --no-accept-share "1": write it without a value`,
	} {
		_, _, _, err := readApp(strings.Fields(args), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Read(%s) = %v; want %s", args, err, want)
		}
	}
	_, _, _, err := readApp([]string{"--prot", "9", "--journal", "x"},
		map[string]string{"M0_WORKERS": "0"})
	if n := len(Problems(err)); n != 3 {
		t.Errorf("three problems are reported as %d: %v", n, err)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	settings := []Setting{{Flag: "key", Env: "SHOP_KEY", Value: "KEY", Secret: true,
		Set: Number(new(int), 0, 9)}}
	given, err := Read(settings, []string{"--key", "hunter2"}, lookupIn(nil))
	if err == nil || strings.Contains(err.Error(), "hunter2") || given[0].Value != "" {
		t.Errorf("Read of a secret = %+v, %v; want its value in neither", given, err)
	}
	_, err = Read(settings, nil, lookupIn(map[string]string{"SHOP_KEY": "hunter2"}))
	if err == nil || !strings.Contains(err.Error(), "SHOP_KEY: ") {
		t.Errorf("Read of a secret = %v; want its variable, and no value that it has not", err)
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	var app App
	settings := append(app.Settings(), Setting{Flag: "a-rather-long-name", Value: "VALUE",
		Env: "SHOP_A_RATHER_LONG_NAME", Default: "x", Group: "Shop",
		Help: "a description that goes on and on until it does not fit into one line any more",
		Set:  Text(new(string))})
	plain := Help(settings, false)
	for line := range strings.Lines(plain) {
		if n := utf8.RuneCountInString(line) - 1; n > helpWidth {
			t.Errorf("a line has %d columns, want %d at most: %s", n, helpWidth, line)
		}
	}
	for _, s := range settings {
		if !strings.Contains(plain, "--"+s.Flag) && !strings.Contains(plain, "--no-"+s.Flag) ||
			!strings.Contains(plain, s.Env) {
			t.Errorf("the help lacks --%s or %s:\n%s", s.Flag, s.Env, plain)
		}
	}
	for _, want := range []string{"\nListening\n  --host HOST ",
		"0.0.0.0: every address [127.0.0.1]\n",
		"  -w --workers N ", "  --no-accept-share "} {
		if !strings.Contains(plain, want) {
			t.Errorf("the help lacks %q:\n%s", want, plain)
		}
	}
	if on := Help(settings, true); !strings.Contains(on, "\x1b[1mListening\x1b[0m") {
		t.Errorf("the help for a terminal has no bold heading:\n%s", on)
	}
}
