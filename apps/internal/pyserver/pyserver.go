// SPDX-License-Identifier: MIT

//go:build unix

// Package pyserver starts a Python application behind a server, for the suites that
// look at it from outside. The server is m0serve, built by the test as it is in the
// tree, or with M0_SUITE_SERVER=gunicorn or waitress a reference that the suite
// itself is checked against. The application runs in the virtual environment of
// pyvenv.
package pyserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/smoketest"
)

// Environment variables of the suites.
const (
	envServer = "M0_SUITE_SERVER" // m0serve (default), gunicorn, waitress
	envFlags  = "M0_SUITE_FLAGS"  // one more flag for m0serve, --embed say
	envAsan   = "M0_SUITE_ASAN"   // libasan.so: the engine is built for it, and it is loaded first
)

// command is the package of m0serve.
const command = "m0serve.dev/wsgi/cmd/m0serve"

// address finds the listener in what any of the servers prints.
var address = regexp.MustCompile(`(http://(?:127\.0\.0\.1|localhost):\d+)`)

// A Config says what is served and how. Only Dir and App are needed.
type Config struct {
	Dir      string   // the folder of the application, absolute or relative to the test's
	App      string   // module:attribute
	Args     []string // more flags; m0serve only
	Env      []string // NAME=value added to the environment
	Under    []string // a command that runs the server's, such as unshare
	Validate bool     // under wsgiref.validate
	Server   string   // m0serve, gunicorn or waitress; "" is what M0_SUITE_SERVER asks for
	Port     int      // of the loopback; 0 is a free one
	Workers  int      // processes; 0 is 1
	Threads  int      // Python threads a worker; 0 is 4
}

// Name is the server that M0_SUITE_SERVER asks for.
func Name() string {
	if name := os.Getenv(envServer); name != "" {
		return name
	}
	return "m0serve"
}

// M0serveAlone skips a test under -short, and where the suite looks at another server.
func M0serveAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	if Name() != "m0serve" {
		t.Skip("SKIPPED: m0serve alone")
	}
}

// A build is m0serve as executable and library side by side, made once a test binary.
type build struct {
	once sync.Once
	dir  string
	skip error // why there is none to test
	err  error
}

// A Builder holds the m0serve of one test binary. Its zero value is ready.
type Builder struct {
	Flags func() ([]string, error) // of go build, for the library of the workers; nil: none

	b build
}

// Main runs the tests of a package and removes what Start built for them. It is the
// body of a TestMain.
func (b *Builder) Main(m *testing.M) {
	code := m.Run()
	b.Clean()
	os.Exit(code)
}

// Clean removes what Start built, for a TestMain that has more to do than Main.
func (b *Builder) Clean() {
	if b.b.dir != "" {
		_ = os.RemoveAll(b.b.dir)
	}
}

// M0serve builds m0serve once and returns its path, or skips the test when the tree
// has none yet.
func (b *Builder) M0serve(t *testing.T) string {
	t.Helper()
	b.b.once.Do(func() { b.b.make(b.Flags) })
	if b.b.skip != nil {
		t.Skip("SKIPPED:", b.b.skip)
	}
	if b.b.err != nil {
		t.Fatal(b.b.err)
	}
	return filepath.Join(b.b.dir, "m0serve")
}

// make builds the executable and, beside it, the library that the workers load.
func (b *build) make(more func() ([]string, error)) {
	if err := exec.Command("go", "list", command).Run(); err != nil {
		b.skip = fmt.Errorf("pyserver: m0serve is not built yet: no package %s", command)
		return
	}
	if b.dir, b.err = os.MkdirTemp("", "m0serve-"); b.err != nil {
		return
	}
	var flags []string
	if more != nil {
		if flags, b.err = more(); b.err != nil {
			return
		}
	}
	if os.Getenv(envAsan) != "" {
		flags = append(flags, "-asan")
	}
	builds := [][]string{ // without the tables of a debugger, which take a third of the time
		{"build", "-ldflags=-w", "-o", filepath.Join(b.dir, "m0serve"), command},
		slices.Concat([]string{"build"}, flags, []string{"-ldflags=-w", "-buildmode=c-shared", "-o",
			filepath.Join(b.dir, "libm0serve.so"), command}),
	}
	defer smoketest.Building("m0serve")()
	errs := make([]error, len(builds))
	var done sync.WaitGroup
	for i, args := range builds {
		done.Go(func() {
			if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("pyserver: go %v: %v\n%s", args, err, out)
			}
		})
	}
	done.Wait()
	if b.err = errors.Join(errs...); b.err == nil {
		b.err = asInstalled(filepath.Join(b.dir, "libm0serve.so"))
	}
}

// asInstalled writes a file again in small pieces, as pip does. What the linker has just
// written may lie in the page cache in pages of 2 MB, all of which a process has that needs
// a byte of it.
func asInstalled(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(text, 64<<10) {
		if _, err := file.Write(piece); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(file.Close(), os.Rename(name+".new", name))
}

// Start serves the application on a free port of the loopback until the end of the
// test, and waits until it listens.
func (b *Builder) Start(t *testing.T, cfg Config) *smoketest.Process {
	t.Helper()
	p := b.Launch(t, cfg)
	p.Listening(t, address)
	return p
}

// Launch is Start without the waiting, for what is not to come up.
func (b *Builder) Launch(t *testing.T, cfg Config) *smoketest.Process {
	t.Helper()
	python := pyvenv.Python(t)
	cfg.Workers, cfg.Threads = max(cfg.Workers, 1), cfg.threads()
	if cfg.Server == "" {
		cfg.Server = Name()
	}
	var cmd *exec.Cmd
	switch cfg.Server {
	case "m0serve":
		cmd = exec.Command(b.M0serve(t), m0serveArgs(python, cfg)...)
	case "gunicorn":
		cmd = exec.Command(python, gunicornArgs(cfg)...)
	case "waitress":
		cmd = exec.Command(python, "-m", "waitress", "--threads", strconv.Itoa(cfg.Threads),
			fmt.Sprintf("--listen=127.0.0.1:%d", waitressPort(t, cfg)), cfg.App)
	default:
		t.Fatalf("%s=%s: want m0serve, gunicorn or waitress", envServer, cfg.Server)
	}
	if len(cfg.Under) > 0 {
		cmd = exec.Command(cfg.Under[0], append(cfg.Under[1:], cmd.Args...)...)
	}
	cmd.Dir = cfg.Dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + t.TempDir(),
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONPATH=.",
	}, cfg.Env...)
	if runtime := os.Getenv(envAsan); runtime != "" && cfg.Server == "m0serve" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+runtime, "ASAN_OPTIONS="+os.Getenv("ASAN_OPTIONS"))
	}
	if cfg.Validate {
		cmd.Env = append(cmd.Env, "M0_WSGI_VALIDATE=1")
	}
	return smoketest.Run(t, cmd)
}

func (c Config) threads() int {
	if c.Threads == 0 {
		return 4
	}
	return c.Threads
}

// bind is the address that is listened on.
func (c Config) bind() string { return fmt.Sprintf("127.0.0.1:%d", c.Port) }

// waitressPort is a port that is chosen here: waitress does not tell which one it got.
func waitressPort(t *testing.T, cfg Config) int {
	if cfg.Port != 0 {
		return cfg.Port
	}
	return smoketest.FreePort(t)
}

func m0serveArgs(python string, cfg Config) []string {
	args := []string{
		"--python", python, "--bind", cfg.bind(),
		"--workers", strconv.Itoa(cfg.Workers), "--threads", strconv.Itoa(cfg.Threads),
	}
	if flag := os.Getenv(envFlags); flag != "" {
		args = append(args, flag)
	}
	return append(append(args, cfg.Args...), cfg.App)
}

func gunicornArgs(cfg Config) []string {
	return []string{
		"-m", "gunicorn", "--worker-class", "gthread", "--bind", cfg.bind(),
		"--workers", strconv.Itoa(cfg.Workers), "--threads", strconv.Itoa(cfg.Threads),
		"--keep-alive", "30", "--no-control-socket", cfg.App,
	}
}
