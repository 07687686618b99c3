// SPDX-License-Identifier: MIT

package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/internal/sys"
)

// The names under which a service manager says which sockets it opened
// (sd_listen_fds(3)); the first has descriptor 3.
const (
	envListenPID   = "LISTEN_PID"
	envListenFDs   = "LISTEN_FDS"
	envListenNames = "LISTEN_FDNAMES"

	listenFDsFirst = 3
	listenFDsMax   = 64
)

// A Socket is a listener that a service manager opened.
type Socket struct {
	Name     string // FileDescriptorName=, by default the name of the unit
	Listener net.Listener
}

// AdoptSockets takes the listeners that a service manager handed to this very
// process, and takes their names out of the environment; none when they are
// meant for another one. Call it once, before anything opens a descriptor. The
// error is a *config.Error: what was handed over is no listener.
func AdoptSockets() ([]Socket, error) {
	return adoptSockets(listenFDsFirst)
}

func adoptSockets(first int) ([]Socket, error) {
	count, names, err := readNames(os.LookupEnv, os.Getpid())
	for _, name := range []string{envListenPID, envListenFDs, envListenNames} {
		_ = os.Unsetenv(name) // fails for malformed names only
	}
	if err != nil {
		return nil, err
	}
	for i := range count {
		sys.WorkerCloseOnExec(first + i)
	}
	var all []Socket
	for i := range count {
		ln, err := listenerOf(first + i)
		if err != nil {
			for _, a := range all {
				_ = a.Listener.Close()
			}
			return nil, &config.Error{Var: envListenFDs, Value: strconv.Itoa(count),
				Cure: fmt.Sprintf("socket %q (descriptor %d) is no listening stream socket (%v):"+
					" set ListenStream= and Accept=no in its unit", names[i], first+i, err)}
		}
		all = append(all, Socket{Name: names[i], Listener: ln})
	}
	return all, nil
}

// listenerOf makes fd a listener, which has a descriptor of its own; fd is closed.
func listenerOf(fd int) (net.Listener, error) {
	if err := sys.WorkerCheckListener(fd); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	return net.FileListener(file)
}

// readNames is how many sockets are meant for process pid, and their names.
func readNames(
	lookup func(string) (string, bool), pid int,
) (count int, names []string, err error) {
	whose, _ := lookup(envListenPID)
	if whose != strconv.Itoa(pid) {
		return 0, nil, nil
	}
	text, _ := lookup(envListenFDs)
	count, err = strconv.Atoi(text)
	if err != nil || count < 0 || count > listenFDsMax {
		return 0, nil, &config.Error{Var: envListenFDs, Value: text,
			Cure: fmt.Sprintf("a number of sockets up to %d belongs there", listenFDsMax)}
	}
	names = make([]string, count)
	list, _ := lookup(envListenNames)
	for i, name := range strings.Split(list, ":") {
		if i < count {
			names[i] = name
		}
	}
	return count, names, nil
}
