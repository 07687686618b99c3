// SPDX-License-Identifier: MIT

package options

import "strings"

// helpHead teaches by example.
const helpHead = `m0serve serves a Python application: Django, Flask, FastAPI, any WSGI or ASGI.

usage: m0serve [flags] module:app

  m0serve mysite.wsgi                      Django, on http://127.0.0.1:8080
  m0serve main:app --reload                FastAPI or Flask, while you work
  m0serve 'main:make()' -w 4 -b :8000      a factory, four workers, every host
  m0serve mysite.wsgi --static /static=staticfiles --access-log -
  m0serve mysite.wsgi --doctor             what would be served, what is wrong
`

// helpTail says what the table cannot.
const helpTail = `
Every flag has a variable: M0_ and its name, such as M0_ROOT_PATH; but
--threads is M0_BLOCKING_THREADS, --loops M0_THREADS, --graceful-timeout
M0_DRAIN_S, --limit-request-body M0_MAX_BODY, --limit-head-bytes M0_MAX_HEAD,
--validate M0_WSGI_VALIDATE. Then PORT, WEB_CONCURRENCY, FORWARDED_ALLOW_IPS,
SCRIPT_NAME, LISTEN_FDS, UVICORN_* and GUNICORN_CMD_ARGS are read. A flag wins.
Spellings of gunicorn, uvicorn and granian are understood. TIME is 30, 2.5s or
1m30s; SIZE is 64k or 16M. Signals: TERM drains, HUP renews the workers one by
one, TTIN and TTOU change their number. Exit: 0 clean, 1 failure, 78 settings.
`

// helpColumn is where the descriptions begin.
const helpColumn = 32

// Help is the text of --help, at most 80 columns wide.
func Help() string {
	var b strings.Builder
	b.WriteString(helpHead)
	group := ""
	for _, f := range newTable().flags {
		if f.group == "" {
			continue
		}
		if f.group != group {
			group = f.group
			b.WriteString("\n" + group + "\n")
		}
		b.WriteString(helpLine(f))
	}
	b.WriteString(helpTail)
	return b.String()
}

// helpLine is `  -w --workers N     what it does [default]`.
func helpLine(f *flag) string {
	left := "  " + shortSpelling(f) + "--" + f.name
	help := f.help
	switch {
	case f.value == "" && f.def == "1": // what can be asked for is to turn it off
		left = "     --no-" + f.name
	case f.value != "":
		left += " " + f.value
		if f.def != "" && f.def != "0" && !f.list {
			help += " [" + f.def + "]"
		}
	}
	if pad := helpColumn - len(left); pad >= 2 {
		left += strings.Repeat(" ", pad)
	} else {
		left += "  "
	}
	return left + help + "\n"
}

// shortSpelling is "-w ", or as many blanks.
func shortSpelling(f *flag) string {
	for _, s := range f.aliases {
		if len(s) == 2 {
			return s + " "
		}
	}
	return "   "
}
