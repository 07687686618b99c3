// SPDX-License-Identifier: MIT

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/worker"
	"m0serve.dev/http/worker/systemd"
	"m0serve.dev/http/worker/watch"
	"m0serve.dev/wsgi/internal/interpreter"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/python"
)

// envOptions hands the options to the workers, as JSON.
const envOptions = "M0_SERVE_OPTIONS"

// envLibrary and envProgram tell a worker that embeds its interpreter which one.
const (
	envLibrary = "M0_SERVE_LIBPYTHON"
	envProgram = "M0_SERVE_PROGRAM"
)

// libraryName is the engine as a shared library, beside the command.
const libraryName = "libm0serve.so"

// A service is what the supervising process makes for its workers.
type service struct {
	o        options.Options
	log      *slog.Logger
	python   *interpreter.Python
	command  worker.Command // what a worker executes
	listener net.Listener
	socket   *publish.Socket // nil: none
	httpDoor net.Listener    // nil: --publish-http was not given
	handed   worker.Handed
	page     *bus.Page
	metrics  net.Listener      // nil: --metrics was not given
	manager  *systemd.Notifier // nil: nobody wants to hear of us
}

// supervise runs the service until it ends, and returns the exit status.
func supervise(o options.Options) int {
	s := &service{o: o, log: newLog(o, os.Stderr)}
	for _, warning := range o.Warnings {
		s.log.Warn("m0serve: " + warning)
	}
	self, err := os.Executable()
	if err != nil {
		return refuse(os.Stderr, err)
	}
	if err := s.adoptManager(); err != nil { // ahead of any child's environment
		return refuse(os.Stderr, err)
	}
	s.python, err = interpreter.Find(context.Background(),
		interpreter.ConfigOf(&o, os.Environ(), self))
	if err != nil {
		return refuse(os.Stderr, err)
	}
	s.chooseKey()
	if s.command, err = s.workerCommand(self); err != nil {
		return refuse(os.Stderr, err)
	}
	for _, step := range []func() error{
		s.openHTTPDoor, s.listen, s.openSocket, s.openMetrics, s.openShared, s.writePid,
	} {
		if err := step(); err != nil {
			s.closeSocket()
			refuse(os.Stderr, err)
			if isWrongSetting(err) {
				return config.ExitConfig
			}
			return exitFailure
		}
	}
	defer s.closeSocket()
	defer s.removePid()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes, err := s.watch(ctx)
	if err != nil {
		return refuse(os.Stderr, err)
	}
	if s.metrics != nil {
		go serveMetrics(s.metrics, &collector{os.Getpid(), s.page}, s.log)
		defer s.metrics.Close()
	}
	return worker.Supervise(worker.Config{
		Workers: o.Workers, WorkersMax: s.workersMax(), Handed: s.handed, Page: s.page,
		Command: s.command, Drain: o.GracefulTimeout, Log: s.log, Reload: changes,
		Notify: s.manager, Ready: s.announce, Stopping: s.closeListener,
	})
}

// growth is how many more workers SIGTTIN can make than were asked for.
const growth = 8

func (s *service) workersMax() int { return min(s.o.Workers+growth, worker.MaxWorkers) }

// adoptManager takes over what a service manager left in the environment.
func (s *service) adoptManager() (err error) {
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // the options have them, if they are for us
	}
	s.manager, err = systemd.AdoptNotifier()
	return err
}

// watch looks at the application's files for --reload; nil without it.
func (s *service) watch(ctx context.Context) (<-chan string, error) {
	if !s.o.Reload {
		return nil, nil
	}
	dirs := s.o.ReloadDirs
	if len(dirs) == 0 {
		dirs = []string{cmp.Or(s.o.Chdir, ".")}
	}
	w, err := watch.New(watch.Config{Dirs: dirs, Include: s.o.ReloadInclude,
		Exclude: s.o.ReloadExclude, Log: s.log})
	if err != nil {
		return nil, fmt.Errorf("--reload: %w", err)
	}
	s.log.Info("m0serve: --reload looks for changes", "files", w.Files())
	changes := make(chan string)
	go w.Run(ctx, changes)
	return changes, nil
}

// workerCommand is what a worker executes.
func (s *service) workerCommand(self string) (worker.Command, error) {
	text, err := json.Marshal(s.o)
	if err != nil {
		return worker.Command{}, err
	}
	env := append(s.o.Environ(os.Environ()), envOptions+"="+string(text))
	library := engineBeside(self)
	if library == "" {
		return s.embeddedCommand(self, env)
	}
	if err := s.python.Hosted(); err != nil {
		return worker.Command{}, err
	}
	path := s.python.Executable
	return worker.Command{Path: path, Args: []string{path, "-c", python.Boot, library}, Env: env}, nil
}

// engineBeside is the engine's library beside the command, "" when there is
// none and workers have to load libpython.
func engineBeside(self string) string {
	library := filepath.Join(filepath.Dir(self), libraryName)
	if _, err := os.Stat(library); err != nil {
		return ""
	}
	return library
}

// embeddedCommand is what a worker executes where the engine is in the command
// alone.
func (s *service) embeddedCommand(self string, env []string) (worker.Command, error) {
	if !canEmbed {
		return worker.Command{}, errors.New("this command was built without cgo and has no " +
			libraryName + " beside it: install the wheel, or build it with CGO_ENABLED=1")
	}
	library, err := s.python.Libpython()
	if err != nil {
		return worker.Command{}, err
	}
	env = append(env, envLibrary+"="+library, envProgram+"="+s.python.Executable)
	return worker.Command{Path: self, Args: []string{"m0serve"}, Env: env}, nil
}

// isWrongSetting reports what only another setting helps against, unlike a taken port.
func isWrongSetting(err error) bool {
	return errors.Is(err, errNoListener) || errors.Is(err, errInTheWay) ||
		errors.Is(err, errDoorTaken)
}

func (s *service) listen() (err error) {
	if s.o.Umask >= 0 {
		setUmask(s.o.Umask)
	}
	b := s.o.Binds[0]
	if s.listener, err = listen(b); err != nil {
		return fmt.Errorf("%s: %w", b, err)
	}
	if err := s.openDoor(b); err != nil {
		return err
	}
	if s.handed.Listener, err = worker.ListenerFD(s.listener); err != nil {
		return err
	}
	if s.o.Backlog > 0 { // a second listen changes the length of the queue
		if err := setBacklog(s.handed.Listener, s.o.Backlog); err != nil {
			return fmt.Errorf("--backlog: %w", err)
		}
	}
	return nil
}

// openDoor lets every user connect to a unix socket, a proxy's among them, unless
// --umask says who may.
func (s *service) openDoor(b options.Bind) error {
	if b.Network != "unix" || s.o.Umask >= 0 || strings.HasPrefix(b.Address, "@") {
		return nil
	}
	return os.Chmod(b.Address, 0o666)
}

func (s *service) writePid() error {
	if s.o.PidFile == "" {
		return nil
	}
	err := os.WriteFile(s.o.PidFile, fmt.Appendln(nil, os.Getpid()), 0o644)
	if err != nil {
		return fmt.Errorf("--pid: %w: let m0serve write it, or name another file", err)
	}
	return nil
}

func (s *service) removePid() {
	if s.o.PidFile != "" {
		_ = os.Remove(s.o.PidFile) // somebody else may have done it
	}
}

func (s *service) openShared() (err error) {
	places := s.workersMax() + worker.Spares
	if s.page, s.handed.Page, err = bus.NewPage(places); err != nil {
		return err
	}
	if s.handed.Bus, err = bus.NewChannels(places); err != nil {
		return err
	}
	if s.o.AcceptShare && s.o.Workers > 1 {
		s.handed.Accept, err = bus.NewChannels(places)
	}
	return err
}

// closeListener closes both of the supervisor's descriptors, so that a
// connection is refused once the workers have closed theirs.
func (s *service) closeListener() {
	s.leaveSocket()
	_ = s.listener.Close()
	if err := worker.CloseFD(s.handed.Listener); err != nil {
		s.log.Error("m0serve: listener", "err", err)
	}
}

// announce prints the banner, once all workers serve; there is little to do from then on.
func (s *service) announce() {
	letGoOfStart()
	text := fmt.Sprintf("listening on %s (workers %d)", s.address(), s.o.Workers)
	if !isTerminal(os.Stderr) {
		s.log.Info(text, append(s.besides(), "app", s.o.App.String(), "python",
			s.python.String(), "threads", s.o.Threads, "version", Version)...)
		return
	}
	fmt.Fprintf(os.Stderr, "\n  m0serve %s   %s\n  python   %s\n"+
		"  workers  %d, with %d threads each\n  %s\n",
		Version, s.o.App, s.python, s.o.Workers, s.o.Threads, text)
	for what := range slices.Chunk(s.besides(), 2) {
		fmt.Fprintf(os.Stderr, "  %s at %s\n", what...)
	}
	fmt.Fprintln(os.Stderr)
}

// besides names the other listeners and their addresses: the kernel may have chosen the
// ports.
func (s *service) besides() (pairs []any) {
	if s.httpDoor != nil {
		pairs = append(pairs, "publish-http", "http://"+s.httpDoor.Addr().String()+"/publish/")
	}
	if s.metrics != nil {
		pairs = append(pairs, "metrics", "http://"+s.metrics.Addr().String()+"/metrics")
	}
	return pairs
}

// address is where the service is found.
func (s *service) address() string {
	if s.listener.Addr().Network() == "unix" {
		return "unix:" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String()
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// levelOf is the level of that name; what is none is "info".
func levelOf(name string) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(name)) != nil {
		return slog.LevelInfo
	}
	return level
}

func newLog(o options.Options, w *os.File) *slog.Logger {
	handler := &slog.HandlerOptions{Level: levelOf(o.LogLevel)}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, handler))
	}
	return slog.New(slog.NewJSONHandler(w, handler))
}
