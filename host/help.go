// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

// answer prints what was asked for in place of serving, and returns the exit
// status. wrong is what stands in the way of serving.
func (o *options) answer(stdout io.Writer, wrong error) int {
	f, isFile := stdout.(*os.File)
	terminal := isFile && diagnosis.IsTerminal(f)
	switch {
	case o.asked.help:
		return printed(io.WriteString(stdout, o.help(terminal)))
	case o.asked.version:
		return printed(fmt.Fprintln(stdout, o.app.name()+" "+version()))
	}
	r := o.examine(wrong)
	if r.Print(stdout, terminal) != nil || !r.OK() {
		return config.ExitConfig
	}
	return exitClean
}

func printed(_ int, err error) int {
	if err != nil {
		return exitFailure
	}
	return exitClean
}

// helpHead teaches by example; %[1]s is the application.
const helpHead = `
usage: %[1]s [flags]

  %[1]s                             serves http://127.0.0.1:8080
  %[1]s %[2]s
  M0_PORT=8000 %[1]s                a variable does the same; a flag wins
  %[1]s --tls-cert chain.pem --tls-key key.pem   https and HTTP/2
  %[1]s --doctor                    what would be served, what is wrong
`

// helpTail says what the table cannot.
const helpTail = `
BYTES is 65536, 64K or 10M; SECONDS is 5 or 0.5. Signals: TERM and INT drain, a
second one ends at once; HUP renews several workers one by one, or the
certificate of one; TTIN and TTOU change their number. Exit: 0 clean, 1 failure,
78 settings.
`

// help is the text of --help, 80 columns wide at most.
func (o *options) help(terminal bool) string {
	name := o.app.name()
	example := "--workers 2 --port 8000     two processes, another port"
	if o.app.MaxWorkers == 1 { // it would be refused
		example = "--port 8000                 another port"
	}
	head := fmt.Sprintf(helpHead, name, example)
	if o.app.About == "" {
		head = strings.TrimPrefix(head, "\n")
	} else {
		head = name + ": " + o.app.About + "\n" + head
	}
	return head + config.Help(o.settings, terminal) + helpTail
}

// version is that of the program, of this module and of Go, as the build has
// recorded them.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	if text == "" {
		text = "(devel)"
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			text += "+changes"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "m0serve.dev/host" {
			text += ", host " + m.Version
		}
	}
	return text + ", " + info.GoVersion
}
