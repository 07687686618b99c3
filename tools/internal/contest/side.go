// SPDX-License-Identifier: MIT

package contest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of sides that the rules about targets know.
const (
	ours    = "m0serve"
	ceiling = "ceiling" // the application in a loop, without a server
	bare    = "python"  // an interpreter that sleeps
)

// House is where everything of a contest lies.
type House struct {
	Python  string // interpreter of all sides
	Command string // m0serve, the library beside it
	Apps    string // folder of the applications
	Echo    string // program that sends WebSocket messages

	// Missing says why a side, or the generator "wsecho", could not be made.
	Missing map[string]string
}

// A Source is a rival that is built from its source.
type Source struct {
	Side, Requirement string
	Needs             string // Debian packages without which it cannot be built
}

// Sources returns the rivals that are built on this machine.
func Sources() []Source {
	return []Source{
		{"bjoern", "bjoern==3.2.2", "gcc python3-dev libev-dev"},
		{"uwsgi", "uWSGI==2.0.31", "gcc python3-dev"},
	}
}

// entry is a side as it runs in a workload.
type entry struct {
	name    string
	workers int  // 0: 1
	threads int  // 0: what the workload says
	alone   bool // without the slow requests of the workload
}

// entries are the sides by name; their commands are below.
var entries = map[string]entry{
	ours:               {name: ours},
	"m0serve-2":        {name: ours, workers: 2},
	"m0serve-alone":    {name: ours, alone: true},
	"gunicorn-sync":    {name: "gunicorn-sync"},
	"gunicorn-gthread": {name: "gunicorn-gthread"},
	"uwsgi":            {name: "uwsgi"},
	"bjoern":           {name: "bjoern"},
	"granian":          {name: "granian"},
	"waitress":         {name: "waitress"},
	"uvicorn":          {name: "uvicorn"},
	"hypercorn":        {name: "hypercorn"},
	ceiling:            {name: ceiling},
	bare:               {name: bare},
}

// threadsDefault is for the rivals whose threads are their way to serve; a figure
// of one thread would be another server.
const threadsDefault = 4

// command is how a side serves a workload on a port. Each is set up for speed: no
// access log, the fast parser and loop where there is a choice.
func (h House) command(e entry, w Workload, port int) []string {
	bin := func(name string) string { return filepath.Join(filepath.Dir(h.Python), name) }
	addr, number := fmt.Sprintf("127.0.0.1:%d", port), strconv.Itoa(port)
	threads := strconv.Itoa(cmp.Or(e.threads, w.Threads, threadsDefault))
	one := strconv.Itoa(cmp.Or(e.threads, w.Threads, 1))
	workers := strconv.Itoa(cmp.Or(e.workers, 1))
	switch e.name {
	case ours:
		return []string{h.Command, "-b", addr, "--python", h.Python, "--threads", one,
			"--workers", workers, "--log-level", "warn", w.App}
	case "gunicorn-sync":
		return []string{bin("gunicorn"), "-b", addr, "-k", "sync", "--log-level", "error", w.App}
	case "gunicorn-gthread":
		return []string{bin("gunicorn"), "-b", addr, "-k", "gthread", "--threads", threads,
			"--log-level", "error", w.App}
	case "uwsgi":
		return append([]string{bin("uwsgi"), "--virtualenv", filepath.Dir(bin(""))},
			uwsgiArgs(w, addr, one)...)
	case "bjoern":
		return []string{h.Python, filepath.Join(h.Apps, "bjoern_run.py"), number, w.App}
	case "granian":
		return []string{bin("granian"), "--interface", string(w.Kind), "--host", "127.0.0.1",
			"--port", number, "--workers", "1", "--blocking-threads", granianThreads(w, one),
			"--http", "1", "--loop", "uvloop", "--log-level", "error", "--no-access-log", w.App}
	case "waitress":
		return []string{bin("waitress-serve"), "--listen", addr, "--threads", threads, w.App}
	case "uvicorn":
		return []string{bin("uvicorn"), "--port", number, "--http", "httptools", "--loop", "uvloop",
			"--no-access-log", "--log-level", "error", w.App}
	case "hypercorn":
		return []string{bin("hypercorn"), "-b", addr, "-k", "uvloop", "--log-level", "error", w.App}
	}
	panic("contest: there is no side " + e.name)
}

// uwsgiArgs keeps connections open where uWSGI can: an answer without a length
// ends with the connection there.
func uwsgiArgs(w Workload, addr, threads string) []string {
	socket := "--http11-socket"
	if w.Unsized {
		socket = "--http-socket"
	}
	module, callable, _ := strings.Cut(w.App, ":")
	return []string{socket, addr, "--module", module, "--callable", callable, "--threads", threads,
		"--disable-logging", "--need-app", "--die-on-term"}
}

// granianThreads: an ASGI application has its loop and no threads.
func granianThreads(w Workload, threads string) string {
	if w.Kind == ASGI {
		return "1"
	}
	return threads
}
