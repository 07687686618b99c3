// SPDX-License-Identifier: MIT

package worker

import (
	"log/slog"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

// A floor keeps the places of a service in order while processes come and go.
type floor interface {
	// expect prepares a place that nobody has for a worker at index.
	expect(place, index int)
	// lose notes that the worker of an index died; its successor comes to its place.
	lose(place, index int)
	// vacate gives a place up.
	vacate(place int)
	// passOn gives the connections that wait at a place to those that serve.
	passOn(place int)
	// refuse answers those that wait anywhere, for which nobody is left.
	refuse()
	// silence is how long ago the worker at a place beat last; 0 for one that
	// never did, and has no heart to stop.
	silence(place int) time.Duration
}

// pageFloor is the floor of a real service: lines of the page, and the read
// ends of the channels, which the supervisor has too. Without a page it does
// nothing.
type pageFloor struct {
	handed Handed
	page   *bus.Page
	log    *slog.Logger
}

func (f *pageFloor) expect(place, index int) {
	if f.page == nil {
		return
	}
	if f.handed.Bus != nil {
		f.handed.Bus.Discard(place)
	}
	line := f.page.Worker(place)
	line.Assign(index)
	// From here on publishers fill its channel, whenever it starts.
	line.SetState(bus.Starting)
}

// lose leaves the channels alone: frames and connections in them are the
// successor's. Nobody hands over more until it is ready. Whatever the dead wrote over
// its line, the place is the index's.
func (f *pageFloor) lose(place, index int) {
	if f.page != nil {
		f.page.Worker(place).Assign(index)
		f.page.Worker(place).Claim(0)
	}
}

// vacate passes on the connections that a sibling had sent before it saw that
// the worker leaves: nobody would take them from here on.
func (f *pageFloor) vacate(place int) {
	if f.page == nil {
		return
	}
	line := f.page.Worker(place)
	line.Claim(0)
	line.SetState(bus.Vacant)
	f.passOn(place)
}

// passOn leaves connections where they are when nobody serves.
func (f *pageFloor) passOn(place int) {
	if f.page == nil || f.handed.Accept == nil {
		return
	}
	for heir := f.heir(); heir >= 0; heir = f.heir() {
		fd, ok := f.takeOut(place)
		if !ok {
			return
		}
		if fd >= 0 {
			f.passTo(heir, fd)
			_ = sys.BusClose(fd)
		}
	}
}

// takeOut takes a connection out of the channel of a place; false: none waits.
// fd is -1 where it was lost on the way.
func (f *pageFloor) takeOut(place int) (fd int, ok bool) {
	fd, err := recvConn(f.handed.Accept.Read[place])
	if err != nil && err != sys.ErrBusCut {
		return -1, false
	}
	f.page.Worker(place).Settle(1)
	return fd, true
}

func (f *pageFloor) passTo(heir, fd int) {
	err := errLeft
	for ; heir >= 0 && err == errLeft; heir = f.heir() {
		err = handOverTo(f.page.Worker(heir), f.handed.Accept.Write[heir], fd)
	}
	if err != nil {
		f.log.Error("worker: a connection of a worker that left is lost", "err", err)
	}
}

func (f *pageFloor) silence(place int) time.Duration {
	if f.page == nil {
		return 0
	}
	d := f.page.Worker(place).Silence(bus.Uptime())
	if d > beatBelievable {
		return 0
	}
	return d
}

// beatBelievable bounds a silence that is measured, rather than for ever.
const beatBelievable = 365 * 24 * time.Hour

// heir is the place of the ready worker with the fewest connections; -1: none.
func (f *pageFloor) heir() int {
	heir, least := -1, 0
	for i := range f.page.Workers() {
		line := f.page.Worker(i)
		if line.State() != bus.Ready {
			continue
		}
		if n := line.Connections(); heir < 0 || n < least {
			heir, least = i, n
		}
	}
	return heir
}

// freePlace is the lowest place that no process has or is to have; -1: none.
func (s *supervisor) freePlace() int {
	taken := make([]bool, s.cfg.places())
	for _, slot := range s.slots {
		taken[slot.place] = true
	}
	for _, p := range s.processes() {
		taken[p.place] = true
	}
	for place, isTaken := range taken {
		if !isTaken {
			return place
		}
	}
	return -1
}
