// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyvenv"
)

// patience bounds every wait of a case: far above what a healthy run takes.
const patience = 10 * time.Second

// A launch is one way to start a server.
type launch struct {
	app      string
	loop     string   // asyncio or uvloop
	lifespan string   // auto, on or off; "" is the server's default
	rootPath string   // "" is none
	workers  int      // 0 is 1
	graceful int      // seconds a shutdown may take; 0 is the server's default
	env      []string // added to a clean environment
	flags    []string // added as they are
}

// A rival is a server as the suite starts it.
type rival struct {
	command func(t *testing.T) []string
	args    func(l launch) []string
	banner  *regexp.Regexp // its first group is the address
	status  int            // of an orderly end by TERM; -1 is the signal itself
}

var rivals = map[string]rival{
	"m0serve": {
		command: m0serveCommand,
		args:    m0serveArgs,
		banner:  regexp.MustCompile(`listening on http://([0-9.]+:\d+)`),
	},
	"uvicorn": {
		command: pythonModule("uvicorn"),
		args:    uvicornArgs,
		banner:  regexp.MustCompile(`running on http://([0-9.]+:\d+)`),
		status:  -1,
	},
	"hypercorn": {
		command: pythonModule("hypercorn"),
		args:    hypercornArgs,
		banner:  regexp.MustCompile(`Running on http://([0-9.]+:\d+)`),
	},
}

// serverName is the server that the suite runs against.
func serverName() string {
	if name := os.Getenv("M0_SUITE_SERVER"); name != "" {
		return name
	}
	return "m0serve"
}

func pythonModule(name string) func(t *testing.T) []string {
	return func(t *testing.T) []string { return []string{pyvenv.Python(t), "-m", name} }
}

func uvicornArgs(l launch) []string {
	args := []string{"--port", "0", "--loop", l.loop, "--no-access-log", "--http", "httptools"}
	args = addFlag(args, "--lifespan", l.lifespan)
	args = addFlag(args, "--root-path", l.rootPath)
	args = addNumber(args, "--workers", l.workers)
	args = addNumber(args, "--timeout-graceful-shutdown", l.graceful)
	return append(append(args, l.flags...), l.app)
}

func hypercornArgs(l launch) []string {
	args := []string{"-b", "127.0.0.1:0", "-k", l.loop}
	args = addFlag(args, "--root-path", l.rootPath)
	args = addNumber(args, "--workers", l.workers)
	args = addNumber(args, "--graceful-timeout", l.graceful)
	return append(append(args, l.flags...), l.app)
}

func m0serveArgs(l launch) []string {
	args := []string{"--bind", "127.0.0.1:0"}
	args = addFlag(args, "--lifespan", l.lifespan)
	args = addFlag(args, "--root-path", l.rootPath)
	args = addNumber(args, "--workers", l.workers)
	args = addNumber(args, "--graceful-timeout", l.graceful)
	return append(append(args, l.flags...), l.app)
}

func addFlag(args []string, flag, value string) []string {
	if value == "" {
		return args
	}
	return append(args, flag, value)
}

func addNumber(args []string, flag string, n int) []string {
	if n == 0 {
		return args
	}
	return append(args, flag, strconv.Itoa(n))
}

// A server is a running process and what it printed.
type server struct {
	addr string
	loop string
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended

	mu  sync.Mutex
	log bytes.Buffer
}

// Write appends to the log.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// smoke skips what needs a server where there is none.
func smoke(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a smoke: real server, real sockets")
	}
	if _, ok := rivals[serverName()]; !ok {
		t.Fatalf("M0_SUITE_SERVER=%q is no server of the suite", serverName())
	}
	rivals[serverName()].command(t)
}

// begin starts a server and waits for nothing.
func begin(t *testing.T, l launch) *server {
	t.Helper()
	r := rivals[serverName()]
	argv := append(r.command(t), r.args(l)...)
	s := &server{cmd: exec.Command(argv[0], argv[1:]...), loop: l.loop, done: make(chan struct{})}
	s.cmd.Env = append([]string{
		"PATH=" + filepath.Dir(pyvenv.Python(t)) + ":" + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"), "VIRTUAL_ENV=" + pyvenv.Find(t),
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "M0_ASGI_LOOP=" + l.loop,
	}, l.env...)
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = time.Second // a grandchild may hold the log open
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
		if t.Failed() {
			t.Logf("log of %v:\n%s", argv, s.text())
		}
	})
	return s
}

// serve starts a server and waits until it listens.
func serve(t *testing.T, l launch) *server {
	t.Helper()
	s := begin(t, l)
	if err := s.listening(); err != nil {
		t.Fatalf("%s %+v: %v\n%s", serverName(), l, err, s.text())
	}
	return s
}

// listening waits for the banner and a connection.
func (s *server) listening() error {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if m := rivals[serverName()].banner.FindStringSubmatch(s.text()); m != nil {
			s.addr = m[1]
			link, err := net.Dial("tcp", s.addr)
			if err != nil {
				return fmt.Errorf("it says that it listens, but: %w", err)
			}
			return link.Close()
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended before it listened: %v", s.cmd.ProcessState)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("no banner within %v", patience)
}

// ended waits for the end of the server and gives its exit status, -1 for a signal
// and -2 when it still runs after within.
func (s *server) ended(within time.Duration) int {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-late.C:
	}
	select {
	case <-s.done: // both had come
		return s.cmd.ProcessState.ExitCode()
	default:
		return -2
	}
}

// orderly is the exit status of an end by TERM.
func orderly() int { return rivals[serverName()].status }

// term asks the server to end.
func (s *server) term() { _ = s.cmd.Process.Signal(syscall.SIGTERM) }
