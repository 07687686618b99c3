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

// Inherited is what a worker got from its supervisor. The descriptors stay
// open as long as the process does; they are plain numbers, so that no
// finalizer closes one behind its user's back.
type Inherited struct {
	Index      int // 0 … Workers-1; a predecessor that drains has the same
	Workers    int // of the service when this one started
	Place      int // line on the page, and number of the channels: nobody else's
	Supervisor int // process id
	Listener   int
	Page       int
	AppPage    int   // 0: none
	BusRead    int   // the channel of this worker's place
	Bus        []int // write ends, one per place
	Accept     []int // write ends, but the own read end at Place; nil: bare race
	Publish    int   // listener of the publish socket; 0: none

	PublishHTTP int // listener of the HTTP door; 0: none

	life   int
	duties chan struct{} // closed once worker 0's duties are this worker's
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
		Workers:    e.number(EnvWorkers),
		Place:      e.number(EnvPlace),
		life:       e.number(EnvLife),
		duties:     make(chan struct{}),
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
	if _, ok := lookup(EnvPublish); ok {
		in.Publish = e.number(EnvPublish)
		e.check(EnvPublish, sys.WorkerCheckListener(in.Publish))
	}
	if _, ok := lookup(EnvPublishHTTP); ok {
		in.PublishHTTP = e.number(EnvPublishHTTP)
		e.check(EnvPublishHTTP, sys.WorkerCheckListener(in.PublishHTTP))
	}
	if _, ok := lookup(EnvDuties); ok {
		close(in.duties)
	}
	e.check(EnvIndex, checkBelow(in.Index, in.Workers, "workers"))
	e.check(EnvPlace, checkBelow(in.Place, len(in.Bus), "places"))
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
		e.check(EnvAccept, checkCount(len(in.Accept), len(in.Bus)))
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

func checkBelow(number, count int, of string) error {
	if number < 0 || number >= count {
		return fmt.Errorf("one of %d %s", count, of)
	}
	return nil
}

func checkCount(got, places int) error {
	if got != places {
		return fmt.Errorf("%d channels for %d places", got, places)
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
	if in.Publish != 0 {
		fds = append(fds, in.Publish)
	}
	if in.PublishHTTP != 0 {
		fds = append(fds, in.PublishHTTP)
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
func (in *Inherited) Listen() (net.Listener, error) { return listenOn(in.Listener, "listener") }

// ListenPublish is Listen for the publish socket; nil when there is none.
func (in *Inherited) ListenPublish() (net.Listener, error) {
	if in.Publish == 0 {
		return nil, nil
	}
	return listenOn(in.Publish, "publish socket")
}

// ListenPublishHTTP is Listen for the HTTP door; nil when there is none.
func (in *Inherited) ListenPublishHTTP() (net.Listener, error) {
	if in.PublishHTTP == 0 {
		return nil, nil
	}
	return listenOn(in.PublishHTTP, "HTTP door")
}

func listenOn(fd int, what string) (net.Listener, error) {
	file := os.NewFile(uintptr(fd), what)
	ln, err := net.FileListener(file)
	// FileListener works on a copy; the number is given up here, and by nobody
	// later.
	if errClose := file.Close(); err == nil {
		err = errClose
	}
	if err != nil {
		return nil, fmt.Errorf("worker: inherited %s: %w", what, err)
	}
	return ln, nil
}
