// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A life is one run of a server from its start to its end, with the lines that the
// application wrote into its file.
type life struct {
	*probe
	file string
}

// lines gives what the application told.
func (l *life) lines() []string {
	text, _ := os.ReadFile(l.file)
	return strings.Fields(strings.ReplaceAll(string(text), " ", "_"))
}

// told waits for a line.
func (l *life) told(line string) {
	line = strings.ReplaceAll(line, " ", "_")
	if !l.until(func() bool { return slices.Contains(l.lines(), line) }) {
		l.Fatalf("told %q, want also %q", l.lines(), line)
	}
}

// untold wants a line not told.
func (l *life) untold(line string) {
	if slices.Contains(l.lines(), strings.ReplaceAll(line, " ", "_")) {
		l.Errorf("told %q, want no %q", l.lines(), line)
	}
}

// clean ends the server by TERM and wants an orderly end within so many seconds.
func (l *life) clean(seconds time.Duration) {
	l.s.term()
	if status := l.s.ended(seconds * time.Second); status != orderly() {
		l.Errorf("status %d within %d s of TERM, want %d", status, seconds, orderly())
	}
}

// logged waits for a text in the log and wants it there once.
func (l *life) loggedOnce(text string) {
	if !l.until(func() bool { return strings.Contains(l.s.text(), text) }) {
		l.Fatalf("the log has no %q", text)
	}
	if n := strings.Count(l.s.text(), text); n != 1 {
		l.Errorf("the log has %q %d times, want once", text, n)
	}
}

// A lifeCase starts a server with a launch of its own and looks at its life.
type lifeCase struct {
	name   string
	launch launch
	starts bool // whether it has to listen
	run    func(l *life)
}

// live plays cases on both loops, some at a time.
func live(t *testing.T, groupName string, cases []lifeCase) {
	smoke(t)
	for _, loop := range loops {
		t.Run(loop, func(t *testing.T) {
			known := faultsOf(t, groupName, loop)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					file := filepath.Join(t.TempDir(), "told")
					c.launch.loop = loop
					c.launch.env = append(slices.Clone(c.launch.env), "ASGI_SITE_FILE="+file)
					s := begin(t, c.launch)
					verdict(t, c.name, known, probeServer(s, func(p *probe) {
						if err := s.listening(); (err == nil) != c.starts {
							p.Fatalf("it listens: %v, want %v", err == nil, c.starts)
						}
						c.run(&life{p, file})
					}))
				})
			}
		})
	}
}

// TestLifespan: startup and shutdown (asgiref, lifespan 2.0).
func TestLifespan(t *testing.T) { live(t, "lifespan", slices.Concat(startupCases, endCases)) }

func app(name string) launch { return launch{app: "lifespans:" + name} }

func withLifespan(name, value string) launch {
	return launch{app: "lifespans:" + name, lifespan: value}
}

// getState asks / and gives the state that the request had.
func (l *life) getState() map[string]any {
	var got struct{ State map[string]any }
	l.json(&got, "/")
	return got.State
}

// refused wants the server to have ended with a status that tells, and its reason logged.
func refused(text string) func(l *life) {
	return func(l *life) {
		if status := l.s.ended(patience); status <= 0 {
			l.Errorf("status %d, want one that tells", status)
		}
		l.loggedOnce(text)
	}
}

var startupCases = []lifeCase{
	{"whole", app("whole"), true, func(l *life) {
		l.equal("state", l.getState(), map[string]any{"made": "at startup"})
		l.clean(10)
		want := []string{"scope_asgi_state_type", "versions_3.0_2.0", "startup", "shutdown",
			"shutdown_done"}
		l.equal("told", l.lines(), want)
	}},
	{"on", withLifespan("whole", "on"), true, func(l *life) {
		l.equal("state", l.getState(), map[string]any{"made": "at startup"})
	}},
	{"off", withLifespan("nothing", "off"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.clean(10)
		l.untold("asked")
	}},
	{"object", app("instance"), true, func(l *life) {
		l.equal("state", l.getState(), map[string]any{"made": "at startup"})
	}},
	{"factory", launch{app: "lifespans:factory", flags: []string{"--factory"}}, true,
		func(l *life) {
			l.equal("state", l.getState(), map[string]any{"made": "at startup"})
		}},
	{"auto-unsupported", app("unsupported"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.told("asked")
		l.clean(10)
	}},
	{"auto-unsupported-is-quiet", app("unsupported"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		if strings.Contains(l.s.text(), "Traceback") {
			l.Errorf("the log has a traceback")
		}
	}},
	{"auto-returns", app("returns"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.told("asked")
		l.clean(10)
	}},
	{"on-unsupported", withLifespan("unsupported", "on"), false,
		refused("AssertionError: only http here")},
	{"failed", app("failed"), false, refused("no database at hand")},
	{"failed-on", withLifespan("failed", "on"), false, refused("no database at hand")},
	{"failed-has-no-traceback", app("failed"), false, func(l *life) {
		l.s.ended(patience)
		if strings.Contains(l.s.text(), "Traceback") {
			l.Errorf("the log has a traceback beside the message")
		}
	}},
	{"failed-two-workers", launch{app: "lifespans:failed", workers: 2}, false, func(l *life) {
		if status := l.s.ended(2 * patience); status <= 0 {
			l.Errorf("status %d, want one that tells", status)
		}
		if n := len(l.lines()); n > 4 {
			l.Errorf("%d startups failed one after another, want no loop", n)
		}
	}},
	{"on-dies", withLifespan("dies", "on"), false, refused("RuntimeError: startup went wrong")},
	{"exits", app("exits"), false, func(l *life) {
		if status := l.s.ended(patience); status <= 0 {
			l.Errorf("status %d, want one that tells", status)
		}
		l.loggedOnce("configuration is wrong")
	}},
	{"listens-once-started", app("late"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.equal("told", l.lines(), []string{"startup_complete", "request"})
	}},
	{"no-application", app("broken"), false, func(l *life) {
		if status := l.s.ended(patience); status <= 0 {
			l.Errorf("status %d, want one that tells", status)
		}
	}},
	{"two-workers", launch{app: "lifespans:whole", workers: 2}, true, func(l *life) {
		l.told("startup")
		ok := l.until(func() bool {
			return strings.Count(strings.Join(l.lines(), " ")+" ", "startup ") == 2
		})
		l.equal("two startups", ok, true)
		l.clean(10)
		l.equal("shutdowns", strings.Count(strings.Join(l.lines(), " "), "shutdown_done"), 2)
	}},
}

var endCases = []lifeCase{
	{"ends-early", app("quits"), true, func(l *life) {
		l.told("left")
		l.equal("status", l.get("/").status, 200)
		l.clean(10)
	}},
	{"shutdown-failed", app("shutdown_failed"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.s.term()
		if status := l.s.ended(patience); status == -2 {
			l.Fatalf("still runs")
		}
		l.loggedOnce("cannot flush the queue")
	}},
	{"shutdown-dies", app("shutdown_dies"), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.s.term()
		if status := l.s.ended(patience); status == -2 {
			l.Fatalf("still runs")
		}
		l.told("shutdown")
		l.loggedOnce("RuntimeError: shutdown went wrong")
	}},
	{"shutdown-stuck", launch{app: "lifespans:stuck", graceful: 1}, true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.s.term()
		if status := l.s.ended(patience); status == -2 {
			l.Errorf("a shutdown that hangs is waited for without a bound")
		}
		l.told("shutdown")
	}},
	{"root-path", launch{app: "bare:app", rootPath: "/api"}, true, func(l *life) {
		var got dump
		// The path holds the mount point (asgiref issue 229).
		l.json(&got, "/api/scope/a%20b")
		l.equal("root_path", got.RootPath, "/api")
		l.equal("path", got.Path, "/api/scope/a b")
	}},
	{"root-path-taken-by-a-proxy", launch{app: "bare:app", rootPath: "/api"}, true,
		func(l *life) {
			var got dump
			l.json(&got, "/scope/a")
			l.equal("root_path", got.RootPath, "/api")
			l.equal("path", got.Path, "/api/scope/a")
		}},
}

// TestShutdown: TERM while something is open. Answers are finished, streams are told,
// WebSockets get 1012, and what does not listen is cancelled within the bound.
func TestShutdown(t *testing.T) { live(t, "shutdown", shutdownCases) }

func shutdownOf(seconds int) launch { return launch{app: "lifespans:whole", graceful: seconds} }

var shutdownCases = []lifeCase{
	{"idle", shutdownOf(5), true, func(l *life) {
		l.equal("status", l.get("/").status, 200)
		l.clean(3)
	}},
	{"idle-connection", shutdownOf(5), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/"))
		l.equal("status", c.read("GET").status, 200)
		l.clean(3)
		l.equal("closed", c.closed(), true)
	}},
	{"answer-is-finished", shutdownOf(5), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/slow"))
		l.told("slow called")
		l.s.term()
		l.equal("body", string(c.read("GET").body), `"slow done"`)
		l.equal("status", l.s.ended(patience), orderly())
		told := l.lines()
		if slices.Index(told, "slow_done") > slices.Index(told, "shutdown") {
			l.Errorf("told %q, want the request done ahead of the shutdown", told)
		}
	}},
	{"stream-is-told", shutdownOf(2), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/listener"))
		l.equal("status", c.head("GET").status, 200)
		l.equal("part", c.chunk(), "on air\n")
		l.clean(6)
		l.told("listener http.disconnect")
		l.told("shutdown done")
	}},
	{"deaf-stream-is-cancelled", shutdownOf(1), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/deaf"))
		l.equal("status", c.head("GET").status, 200)
		l.s.term()
		if status := l.s.ended(6 * time.Second); status == -2 {
			l.Fatalf("a stream that never asks keeps the server")
		}
		l.told("deaf finally")
	}},
	{"deaf-stream-is-cut", shutdownOf(1), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/deaf"))
		a := c.head("GET")
		l.s.term()
		if err := c.readBody(a); err == nil {
			l.Errorf("the stream ends as if it were whole")
		}
	}},
	{"stubborn-is-left-behind", shutdownOf(1), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/stubborn"))
		l.equal("status", c.head("GET").status, 200)
		l.s.term()
		if status := l.s.ended(8 * time.Second); status == -2 {
			l.Errorf("a coroutine that swallows its cancellation keeps the server")
		}
	}},
	{"websocket-gets-1012", shutdownOf(2), true, func(l *life) {
		s := l.socket("/")
		l.s.term()
		s.wantEnd(1012)
		l.told("websocket 1012")
		l.equal("status", l.s.ended(patience), orderly())
	}},
	{"no-new-connection", shutdownOf(5), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/slow"))
		l.told("slow called")
		l.s.term()
		ok := l.until(func() bool {
			link, err := net.Dial("tcp", l.s.addr)
			if err == nil {
				link.Close()
			}
			return err != nil
		})
		l.equal("new connections are refused", ok, true)
	}},
	{"second-TERM", shutdownOf(60), true, func(l *life) {
		c := l.dial()
		c.write(request("GET", "/stubborn"))
		l.equal("status", c.head("GET").status, 200)
		l.s.term()
		l.until(func() bool {
			l.s.term()
			return l.s.ended(20*time.Millisecond) != -2
		})
		if l.s.ended(0) == -2 {
			l.Errorf("still runs after many a TERM")
		}
	}},
}
