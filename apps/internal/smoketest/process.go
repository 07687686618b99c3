// SPDX-License-Identifier: MIT

//go:build unix

// Package smoketest runs the real binary of an application over real sockets:
// it builds it, starts it on a free port of the loopback, reads its log, sends
// it real signals and leaves no process behind.
package smoketest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait of a smoke: far above what a healthy run takes,
// far below the timeout of go test.
const Patience = 15 * time.Second

var banner = regexp.MustCompile(`listening on (https?://[^ ]+)`)

// Main builds the package in the current folder and runs the tests; *bin is
// the binary's path while they run. It is the body of a TestMain. program is
// the package's main: it is not called, but links the program into the test, so
// that a change anywhere in it undoes cached results.
func Main(m *testing.M, bin *string, program func()) {
	if program == nil {
		panic("smoketest: Main without the program's main")
	}
	os.Exit(run(m, bin))
}

func run(m *testing.M, bin *string) int {
	dir, err := os.MkdirTemp("", "smoke")
	if err != nil {
		fmt.Fprintln(os.Stderr, "smoketest:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	*bin = filepath.Join(dir, "app")
	built := Building("the application")
	build := exec.Command("go", "build", "-o", *bin, ".")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "smoketest: go build:", err)
		return 1
	}
	built()
	return m.Run()
}

// Building says that a program is being built, until what it returns is called: the clock of
// a gate stands still meanwhile (go run ./tools sabotage), since a build takes as long as the
// machine has other work.
func Building(name string) (built func()) {
	fmt.Println("building " + name)
	return func() { fmt.Println("built " + name) }
}

// A Process is one running service: the process started and its workers.
type Process struct {
	URL string // of the listener, without a slash at the end
	Cmd *exec.Cmd

	done chan struct{} // closed once the process has ended, and all that it printed is read
	read chan struct{} // closed once nobody can print any more
	mu   sync.Mutex
	log  bytes.Buffer // everything it printed
}

// Start runs bin on a free port with env added to a clean environment, and
// waits for its banner. The test kills its whole process group at the end; where
// tests have to be short it is skipped.
func Start(t *testing.T, bin string, env ...string) *Process {
	t.Helper()
	p := Launch(t, bin, env...)
	p.Listening(t, banner)
	return p
}

// Launch starts bin like Start, but waits for nothing.
func Launch(t *testing.T, bin string, env ...string) *Process {
	t.Helper()
	return launchIn(t, t.TempDir(), bin, env)
}

// StartIn is Start in a directory of the test's choice.
func StartIn(t *testing.T, dir, bin string, env ...string) *Process {
	t.Helper()
	p := launchIn(t, dir, bin, env)
	p.Listening(t, banner)
	return p
}

func launchIn(t *testing.T, dir, bin string, env []string) *Process {
	t.Helper()
	if testing.Short() {
		t.Skip("a smoke: it runs the real binary")
	}
	cmd := exec.Command(bin)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "M0_PORT=0",
	}, env...)
	cmd.Dir = dir
	return Run(t, cmd)
}

// Run starts cmd as it is, in a process group of its own, and collects what it
// prints. The group ends with the test, also when that is killed.
func Run(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, done: make(chan struct{}), read: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd.Stdout, p.Cmd.Stderr = w, w
	StartInGroup(t, cmd)
	said := make(chan struct{})
	go p.collect(r, said)
	go func() {
		_ = p.Cmd.Wait()
		_, _ = w.WriteString(end) // behind all that the process printed
		w.Close()
		<-said
		close(p.done)
	}()
	t.Cleanup(func() {
		if state := p.Ended(); state != "" && t.Failed() {
			t.Logf("%s had ended by itself: %s", filepath.Base(cmd.Path), state)
		}
		_ = syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
		r.Close()
		if t.Failed() {
			t.Logf("log of %s:\n%s", filepath.Base(cmd.Path), p.Log())
		}
	})
	return p
}

// Listening waits until what the process printed matches address, and gives its
// first group: the URL of the listener, which becomes URL.
func (p *Process) Listening(t *testing.T, address *regexp.Regexp) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for time.Now().Before(deadline) {
		if m := address.FindStringSubmatch(p.Log()); m != nil {
			p.URL = strings.TrimSuffix(m[1], "/")
			return
		}
		select {
		case <-p.done:
			t.Fatalf("%s ended before it listened: %v\n%s", p.Cmd.Path, p.Cmd.ProcessState, p.Log())
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatalf("%s printed no banner within %v:\n%s", p.Cmd.Path, Patience, p.Log())
}

// end is a line that no process prints: here its output ends.
const end = "\x00ended\n"

// collect reads what is printed, and closes said where the end is.
func (p *Process) collect(r *os.File, said chan struct{}) {
	defer close(p.read)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		line, ended := bytes.CutSuffix(line, []byte(end))
		p.mu.Lock()
		p.log.Write(line)
		p.mu.Unlock()
		if ended {
			close(said)
		}
		if err != nil {
			return
		}
	}
}

// Log is what the service has printed so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Ended tells how the started process ended, "" while it runs.
func (p *Process) Ended() string {
	select {
	case <-p.done:
		return p.Cmd.ProcessState.String()
	default:
		return ""
	}
}

// Signal sends sig to the started process alone, not to its workers.
func (p *Process) Signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// Kill ends the started process and all its workers at once, as a power cut
// would, and waits until they are gone.
func (p *Process) Kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Wait(t)
}

// lastWords is how long Wait gives those who outlive the service to print.
const lastWords = 200 * time.Millisecond

// Wait waits for the end of the started process and gives its exit status, -1
// when a signal ended it. Log has then all that it printed, and what its children did who
// ended within a moment.
func (p *Process) Wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
		select {
		case <-p.read:
		case <-time.After(lastWords):
		}
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
		t.Fatalf("process %d still runs after %v:\n%s", p.Cmd.Process.Pid, Patience, p.Log())
		return 0
	}
}

// Until polls ok until it is true, and fails the test with what when it never
// is. ok may not fail the test itself.
func Until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for: %s", Patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
