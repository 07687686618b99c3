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
	EnvWorkers  = "M0_WORKER_COUNT"   // workers of the service when this one started
	EnvPlace    = "M0_WORKER_PLACE"   // number of the page's line and of the channels
	EnvDuties   = "M0_WORKER_DUTIES"  // "1": worker 0's duties are this one's; or absent
	EnvListener = "M0_LISTEN_FD"
	EnvPage     = "M0_SHARED_ID_FD"
	EnvAppPage  = "M0_APP_PAGE_FD" // absent when the application has none
	EnvBus      = "M0_BUS_FDS"     // one write end per place
	EnvBusRead  = "M0_BUS_READ_FD" // the worker's own channel
	EnvAccept   = "M0_ACCEPT_FDS"  // one per place: write ends, and the own read end; or absent
	EnvLife     = "M0_LIFE_FD"
	EnvPublish  = "M0_PUBLISH_FD" // the publish socket; or absent
	// EnvPublishHTTP is the listener of the HTTP door; or absent.
	EnvPublishHTTP = "M0_PUBLISH_HTTP_FD"
)

var envNames = [...]string{
	EnvSpawned, EnvIndex, EnvWorkers, EnvPlace, EnvDuties, EnvListener, EnvPage, EnvAppPage,
	EnvBus, EnvBusRead, EnvAccept, EnvLife, EnvPublish, EnvPublishHTTP,
}

// Handed are the descriptors that the workers of one supervisor inherit. The
// supervisor keeps all of them open, both ends, so that a channel outlives the
// worker that reads it. Standard streams are inherited besides, so 0 is free
// to mean "none".
type Handed struct {
	Listener int
	Page     int
	AppPage  int           // 0: none
	Bus      *bus.Channels // one per place
	Accept   *bus.Channels // one per place; nil: the bare race
	Publish  int           // listener of the publish socket; 0: none

	PublishHTTP int // listener of the HTTP door; 0: none
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

// manifestFor lists what the worker of a job inherits: of the bus and accept
// channels of its place it reads, to the others it writes (and to its own bus
// channel, since a publisher sends to every channel).
func (h *Handed) manifestFor(j job, supervisor, life int, environ []string) manifest {
	m := manifest{env: withoutNames(environ)}
	m.set(EnvSpawned, strconv.Itoa(supervisor))
	m.set(EnvIndex, strconv.Itoa(j.index))
	m.set(EnvWorkers, strconv.Itoa(j.workers))
	m.set(EnvPlace, strconv.Itoa(j.place))
	if j.duties {
		m.set(EnvDuties, "1")
	}
	m.pass(EnvListener, h.Listener)
	m.pass(EnvPage, h.Page)
	m.pass(EnvAppPage, h.AppPage)
	m.pass(EnvLife, life)
	m.pass(EnvPublish, h.Publish)
	m.pass(EnvPublishHTTP, h.PublishHTTP)
	m.pass(EnvBusRead, h.Bus.Read[j.place])
	m.pass(EnvBus, h.Bus.Write...)
	if h.Accept != nil {
		ends := slices.Clone(h.Accept.Write)
		ends[j.place] = h.Accept.Read[j.place]
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
