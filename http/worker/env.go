// SPDX-License-Identifier: MIT

package worker

import (
	"slices"
	"strconv"
	"strings"

	"m0serve.dev/http/bus"
)

// The names of what a worker inherits. Adopt removes them, so that no child
// process of an application sees any.
const (
	EnvSpawned  = "M0_WORKER_SPAWNED" // process id of the supervisor
	EnvIndex    = "M0_WORKER_INDEX"   // 0 … workers-1
	EnvListener = "M0_LISTEN_FD"
	EnvPage     = "M0_SHARED_ID_FD"
	EnvAppPage  = "M0_APP_PAGE_FD" // absent when the application has none
	EnvBus      = "M0_BUS_FDS"     // one write end per worker
	EnvBusRead  = "M0_BUS_READ_FD" // the worker's own channel
	EnvAccept   = "M0_ACCEPT_FDS"  // one per worker: write ends, and the own read end; or absent
	EnvLife     = "M0_LIFE_FD"
)

var envNames = [...]string{
	EnvSpawned, EnvIndex, EnvListener, EnvPage, EnvAppPage,
	EnvBus, EnvBusRead, EnvAccept, EnvLife,
}

// Handed are the descriptors that the workers of one supervisor inherit. The
// supervisor keeps all of them open, both ends, so that a channel outlives the
// worker that reads it. Standard streams are inherited besides, so 0 is free
// to mean "none".
type Handed struct {
	Listener int
	Page     int
	AppPage  int           // 0: none
	Bus      *bus.Channels // one per worker
	Accept   *bus.Channels // one per worker; nil: the bare race
}

// firstInherited is the number of the first descriptor after the standard
// streams: in a child, descriptor n is the n-th of the list it is given.
const firstInherited = 3

// a manifest is what one worker gets: descriptors, in the order of their
// numbers in the child, and the environment that names them.
type manifest struct {
	fds []int
	env []string
}

func (m *manifest) set(name, value string) { m.env = append(m.env, name+"="+value) }

// pass adds descriptors under name and leaves out the name when there is none.
func (m *manifest) pass(name string, fds ...int) {
	var numbers []string
	for _, fd := range fds {
		if fd < firstInherited {
			continue
		}
		numbers = append(numbers, strconv.Itoa(firstInherited+len(m.fds)))
		m.fds = append(m.fds, fd)
	}
	if numbers != nil {
		m.set(name, strings.Join(numbers, ","))
	}
}

// manifestFor lists what the worker at index inherits: of its own bus and
// accept channels it reads, to those of its siblings it writes (and to its own
// bus channel, since a publisher sends to every channel).
func (h *Handed) manifestFor(index, supervisor, life int, environ []string) manifest {
	m := manifest{env: withoutNames(environ)}
	m.set(EnvSpawned, strconv.Itoa(supervisor))
	m.set(EnvIndex, strconv.Itoa(index))
	m.pass(EnvListener, h.Listener)
	m.pass(EnvPage, h.Page)
	m.pass(EnvAppPage, h.AppPage)
	m.pass(EnvLife, life)
	m.pass(EnvBusRead, h.Bus.Read[index])
	m.pass(EnvBus, h.Bus.Write...)
	if h.Accept != nil {
		ends := slices.Clone(h.Accept.Write)
		ends[index] = h.Accept.Read[index]
		m.pass(EnvAccept, ends...)
	}
	return m
}

// withoutNames copies environ without the names of inherited descriptors.
func withoutNames(environ []string) []string {
	kept := make([]string, 0, len(environ)+len(envNames))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !isEnvName(name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func isEnvName(name string) bool { return slices.Contains(envNames[:], name) }
