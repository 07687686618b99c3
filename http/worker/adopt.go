// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/internal/sys"
)

// lineReady is all that a worker ever says on its life line.
const lineReady = 'R'

// Inherited is what a worker got from its supervisor. The descriptors stay
// open as long as the process does; they are plain numbers, so that no
// finalizer closes one behind its user's back.
type Inherited struct {
	Index      int
	Workers    int
	Supervisor int // process id
	Listener   int
	Page       int
	AppPage    int   // 0: none
	BusRead    int   // this worker's channel
	Bus        []int // write ends, one per worker
	Accept     []int // write ends, but the own read end at Index; nil: bare race

	life int
}

// Adopt takes over what a supervisor of ours handed to this process, or
// returns nil when nobody started it as a worker. The descriptors are checked,
// closed on exec from here on, and their names leave the environment.
//
// The error is a *config.Error, for exit status 78: names without a supervisor
// behind them, or descriptors that are not what their names say.
func Adopt() (*Inherited, error) {
	in, err := inherit(os.LookupEnv, os.Getppid())
	if in == nil || err != nil {
		return nil, err
	}
	for _, fd := range in.descriptors() {
		sys.WorkerCloseOnExec(fd)
	}
	for _, name := range envNames {
		// Unsetting fails for malformed names only.
		_ = os.Unsetenv(name)
	}
	return in, nil
}

// inherit reads and checks; it changes nothing.
func inherit(lookup func(string) (string, bool), parent int) (*Inherited, error) {
	if _, ok := lookup(EnvSpawned); !ok {
		return nil, refuseStray(lookup)
	}
	e := envReader{lookup: lookup}
	supervisor := e.number(EnvSpawned)
	e.check(EnvSpawned, checkParent(supervisor, parent))
	in := &Inherited{
		Supervisor: supervisor,
		Index:      e.number(EnvIndex),
		life:       e.number(EnvLife),
		Listener:   e.number(EnvListener),
		Page:       e.number(EnvPage),
		BusRead:    e.number(EnvBusRead),
		Bus:        e.numbers(EnvBus),
	}
	if _, ok := lookup(EnvAppPage); ok {
		in.AppPage = e.number(EnvAppPage)
	}
	if _, ok := lookup(EnvAccept); ok {
		in.Accept = e.numbers(EnvAccept)
	}
	in.Workers = len(in.Bus)
	e.check(EnvIndex, checkBelow(in.Index, in.Workers))
	e.check(EnvLife, sys.WorkerCheckLifeLine(in.life, in.Supervisor))
	e.check(EnvListener, sys.WorkerCheckListener(in.Listener))
	e.check(EnvPage, sys.WorkerCheckPage(in.Page))
	if in.AppPage != 0 {
		e.check(EnvAppPage, sys.WorkerCheckPage(in.AppPage))
	}
	e.check(EnvBusRead, sys.BusCheck(in.BusRead))
	e.check(EnvBus, checkChannels(in.Bus))
	if in.Accept != nil {
		e.check(EnvAccept, checkChannels(in.Accept))
		e.check(EnvAccept, checkCount(len(in.Accept), in.Workers))
	}
	return in, e.err
}

// refuseStray refuses a name of ours that nobody vouches for: its number may
// be anything by now.
func refuseStray(lookup func(string) (string, bool)) error {
	for _, name := range envNames {
		if v, ok := lookup(name); ok {
			return &config.Error{Var: name, Value: v,
				Cure: "it names a descriptor that only a supervisor hands down: unset it"}
		}
	}
	return nil
}

func checkParent(supervisor, parent int) error {
	if supervisor != parent {
		return fmt.Errorf("process %d did not start this one, %d did", supervisor, parent)
	}
	return nil
}

func checkBelow(index, workers int) error {
	if index < 0 || index >= workers {
		return fmt.Errorf("index of %d workers", workers)
	}
	return nil
}

func checkCount(got, workers int) error {
	if got != workers {
		return fmt.Errorf("%d channels for %d workers", got, workers)
	}
	return nil
}

func checkChannels(fds []int) error {
	for _, fd := range fds {
		if err := sys.BusCheck(fd); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func (in *Inherited) descriptors() []int {
	fds := []int{in.life, in.Listener, in.Page, in.BusRead}
	if in.AppPage != 0 {
		fds = append(fds, in.AppPage)
	}
	fds = append(fds, in.Bus...)
	return append(fds, in.Accept...)
}

// envReader reads numbers of descriptors and keeps the first problem.
type envReader struct {
	lookup func(string) (string, bool)
	err    error
}

// check refuses the value of name for the reason err.
func (e *envReader) check(name string, err error) {
	if err == nil || e.err != nil {
		return
	}
	v, _ := e.lookup(name)
	e.err = &config.Error{Var: name, Value: v, Cure: fmt.Sprintf(
		"it is not what a supervisor hands down (%v): unset it and start the program itself", err)}
}

func (e *envReader) number(name string) int {
	v, ok := e.lookup(name)
	if !ok {
		e.check(name, errors.New("missing"))
		return -1
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		e.check(name, errors.New("not a number"))
		return -1
	}
	return n
}

func (e *envReader) numbers(name string) []int {
	v, _ := e.lookup(name)
	var list []int
	for _, part := range strings.Split(v, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			e.check(name, errors.New("not a list of numbers"))
			return nil
		}
		list = append(list, n)
	}
	return list
}

// Listen makes the inherited listener a net.Listener. It has a descriptor of
// its own, so closing it leaves the supervisor's and the siblings' alone.
func (in *Inherited) Listen() (net.Listener, error) {
	file := os.NewFile(uintptr(in.Listener), "listener")
	ln, err := net.FileListener(file)
	// FileListener works on a copy; the number is given up here, and by nobody
	// later.
	if errClose := file.Close(); err == nil {
		err = errClose
	}
	if err != nil {
		return nil, fmt.Errorf("worker: inherited listener: %w", err)
	}
	return ln, nil
}

// Ready tells the supervisor that this worker serves.
func (in *Inherited) Ready() error {
	if err := sys.WorkerSend(in.life, []byte{lineReady}); err != nil {
		return fmt.Errorf("worker: report ready: %w", err)
	}
	return nil
}

// WatchSupervisor calls gone, once, when the supervisor has ended without
// ending this worker first. It is the net under the kernel's own signal, which
// a worker that changed its user does not get.
func (in *Inherited) WatchSupervisor(gone func()) error {
	fd, err := sys.BusDup(in.life)
	if err != nil {
		return fmt.Errorf("worker: life line: %w", err)
	}
	file := os.NewFile(uintptr(fd), "life line")
	go func() {
		var buf [64]byte
		for {
			// The supervisor says nothing yet; the end of the line is its end.
			if _, err := file.Read(buf[:]); err != nil {
				_ = file.Close()
				gone()
				return
			}
		}
	}()
	return nil
}
