// SPDX-License-Identifier: MIT

package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/worker/systemd"
)

// The tests of this file run the test binary again, as a supervisor that runs
// it once more, as workers. The role tells main what to be; a worker is told
// by its inherited names like any other.
const roleEnv = "WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		os.Exit(m.Run())
	default:
		// A test that was cut short leaves nobody behind.
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(8) }()
		in, err := Adopt()
		if err != nil {
			fmt.Println("refused:", err)
			os.Exit(78)
		}
		if in != nil {
			os.Exit(beWorker(in, role))
		}
		os.Exit(beSupervisor())
	}
}

// patience bounds every wait, far above what a healthy run takes.
const patience = 10 * time.Second

func beSupervisor() int {
	role := os.Getenv(roleEnv)
	cfg := Config{
		Workers: 2, WorkersMax: 3, Drain: time.Second,
		Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	}
	switch role {
	case "alone":
		cfg.Workers, cfg.WorkersMax = 1, 1
	case "beating":
		cfg.StaleAfter = time.Second
	}
	var err error
	cfg.Notify, err = systemd.AdoptNotifier()
	check(err)
	ln := theListener()
	cfg.Ready = func() { fmt.Println("all ready at", ln.Addr()) }
	h := &cfg.Handed
	h.Listener, err = ListenerFD(ln)
	check(err)
	places := cfg.WorkersMax + Spares
	cfg.Page, h.Page, err = bus.NewPage(places)
	check(err)
	h.AppPage = h.Page
	h.Bus, err = bus.NewChannels(places)
	check(err)
	h.Accept, err = bus.NewChannels(places)
	check(err)
	return Supervise(cfg)
}

// theListener is what a service manager handed over, or a new one.
func theListener() net.Listener {
	sockets, err := systemd.AdoptSockets()
	check(err)
	if len(sockets) > 0 {
		fmt.Printf("activated %q of %d\n", sockets[0].Name, len(sockets))
		return sockets[0].Listener
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	return ln
}

func beWorker(in *Inherited, role string) int {
	ln, err := in.Listen()
	check(err)
	defer ln.Close()
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, syscall.SIGTERM)
	if role != "stubborn" {
		check(in.WatchSupervisor(func() { os.Exit(1) }))
	}
	fmt.Printf("worker %d of %d pid %d ppid %d fds %s env %q child %q\n", in.Index, in.Workers,
		os.Getpid(), os.Getppid(), openFDs(), ownNames(), childNames())
	if role == "boot crash" {
		return 3
	}
	if role == "late config" && in.Place > 1 {
		return 78
	}
	if role == "handing" {
		return handOn(in, ln, stop)
	}
	if role == "alone" {
		return serveAlone(in, ln, stop)
	}
	if role == "beating" || role == "asking" {
		beatAndAsk(in, role)
	}
	check(in.Ready())
	if role == "orphans" && in.Index == 0 {
		check(exec.Command("sh", "-c", "sleep 1000 &").Run())
	}
	for <-stop; role == "stubborn"; {
		<-stop // and deaf
	}
	return 0
}

func check(err error) {
	if err != nil {
		fmt.Println("check:", err)
		os.Exit(9)
	}
}

// openFDs lists the kinds of the descriptors above the standard streams that
// were inherited, or would be by a child.
func openFDs() string {
	entries, err := os.ReadDir("/proc/self/fd")
	check(err)
	leaky := 0
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		check(err)
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if fd > 2 && errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			leaky++
		}
	}
	return fmt.Sprintf("leaky=%d", leaky)
}

func ownNames() string {
	var names []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); isEnvName(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// childNames is what a child process of the application sees.
func childNames() string {
	out, err := exec.Command("sh", "-c",
		"env | grep '^M0_' | grep -v '^M0_SEED'; ls /proc/self/fd | wc -l").Output()
	check(err)
	return strings.TrimSpace(string(out))
}

// a service is a supervisor under test with what it and its workers print.
type service struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

func startService(t *testing.T, role string, wrap ...string) *service {
	t.Helper()
	return startCloned(t, 0, role, wrap...)
}

// startActivated hands it a listener, as a service manager does.
func startActivated(t *testing.T, role string, listener *os.File) *service {
	t.Helper()
	// The pid is known only to the process itself.
	const adopt = `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=web exec "$0"`
	return startWith(t, func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{listener}
	}, role, "sh", "-c", adopt)
}

// startCloned starts it in namespaces of its own.
func startCloned(t *testing.T, namespaces uintptr, role string, wrap ...string) *service {
	t.Helper()
	return startWith(t, func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Cloneflags = namespaces
	}, role, wrap...)
}

func startWith(t *testing.T, adjust func(*exec.Cmd), role string, wrap ...string) *service {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What the test run itself inherited is not the service's.
	for fd := firstInherited; fd < 1024; fd++ {
		sys.WorkerCloseOnExec(fd)
	}
	argv := append(wrap, self)
	s := &service{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	// The race detector would hold every process for a second at its end.
	s.cmd.Env = append(os.Environ(), roleEnv+"="+role, "GORACE=atexit_sleep_ms=0")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	adjust(s.cmd)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	// The write end is held until the test ends, whatever ends it; see TestMain.
	stdin, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin = stdin
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = stdin.Close()
	go s.collect(r)
	go func() { _ = s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
		_ = r.Close()
		_ = held.Close()
		if t.Failed() {
			t.Logf("output:\n%s", s.text())
		}
	})
	return s
}

func (s *service) collect(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		s.mu.Lock()
		s.out.Write(line)
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *service) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// until polls ok until it is true.
func (s *service) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for: %s", patience, what)
		}
	}
}

func (s *service) says(t *testing.T, text string) {
	t.Helper()
	s.until(t, text, func() bool { return strings.Contains(s.text(), text) })
}

func (s *service) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("supervisor still runs after %v", patience)
		return -1
	}
}

// workers are the living children of the supervisor, by /proc.
func (s *service) workers() []int { return s.children(false) }

// children are the living ones, or those that nobody has waited for.
func (s *service) children(dead bool) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pid, _, _ := strings.Cut(string(text), " ")
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[1] == strconv.Itoa(s.cmd.Process.Pid) && (fields[0] == "Z") == dead {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	return pids
}

func isGone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func TestWorkersInheritExactlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	s := startService(t, "serve")
	s.says(t, "all ready")
	pid := s.cmd.Process.Pid
	for i := range 2 {
		want := fmt.Sprintf("worker %d of 2 pid ", i)
		if !strings.Contains(s.text(), want) {
			t.Errorf("output has no %q", want)
		}
	}
	// Four descriptors: those of ls itself. No M0_ name may reach a child, but those that
	// lengthen simulations, which are of whoever runs the tests.
	rest := fmt.Sprintf(`ppid %d fds leaky=0 env "" child "4"`, pid)
	if n := strings.Count(s.text(), rest); n != 2 {
		t.Errorf("%d workers say %q, want 2", n, rest)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 0 {
		t.Errorf("exit %d after SIGTERM to the supervisor alone, want 0", code)
	}
}

func TestKilledSupervisorLeavesNoWorker(t *testing.T) {
	t.Parallel()
	s := startService(t, "stubborn")
	s.says(t, "all ready")
	workers := s.workers()
	if len(workers) != 2 {
		t.Fatalf("workers = %v, want 2", workers)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range workers {
		s.until(t, "the end of an orphan", func() bool { return isGone(pid) })
	}
}

func TestKilledWorkerIsRespawned(t *testing.T) {
	t.Parallel()
	s := startService(t, "serve")
	s.says(t, "all ready")
	victim := s.workers()[0]
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.says(t, fmt.Sprintf("pid=%d index=", victim))
	s.until(t, "a third worker's start", func() bool {
		return strings.Count(s.text(), "ppid") == 3
	})
	if got := len(s.workers()); got != 2 {
		t.Errorf("%d workers after the respawn, want 2", got)
	}
	if n := strings.Count(s.text(), "all ready"); n != 1 {
		t.Errorf("announced %d times, want once", n)
	}
}

func TestWorkersThatCrashBeforeReadyEndTheService(t *testing.T) {
	t.Parallel()
	s := startService(t, "boot crash")
	if code := s.wait(t); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	s.says(t, "giving up")
	if strings.Contains(s.text(), "all ready") {
		t.Error("announced a service that never was ready")
	}
}

func TestInheritedIgnoreIsReset(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := startService(t, "serve", "sh", "-c", `trap "" TERM INT; exec "$0"`)
			s.says(t, "all ready")
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := s.wait(t); code != 0 {
				t.Errorf("started with %v ignored: exit %d after it, want 0", sig, code)
			}
		})
	}
}

func TestStubbornWorkerIsKilledAfterItsDrain(t *testing.T) {
	t.Parallel()
	s := startService(t, "stubborn")
	s.says(t, "all ready")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	s.says(t, "drain outlasted its bound")
}

func TestOrphansAreWaitedForAsProcessOne(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a process namespace takes root")
	}
	s := startCloned(t, syscall.CLONE_NEWPID, "orphans")
	s.says(t, "all ready")
	orphan := 0
	s.until(t, "an orphan beside the two workers", func() bool {
		all := s.workers()
		for _, pid := range all {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "sleep\n" {
				orphan = pid
			}
		}
		return orphan != 0 && len(all) == 3
	})
	if err := syscall.Kill(orphan, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the end of the orphan", func() bool {
		return len(s.workers()) == 2 && len(s.children(true)) == 0
	})
	if n := strings.Count(s.text(), "worker: ended"); n != 0 {
		t.Errorf("%d deaths of workers logged, want none", n)
	}
}
