// SPDX-License-Identifier: MIT

package worker

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

// newFloor makes the floor of a service with two workers and a spare place.
func newFloor(t *testing.T) *pageFloor {
	t.Helper()
	page, fd, err := bus.NewPage(3)
	must(t, err)
	frames, err := bus.NewChannels(3)
	must(t, err)
	accept, err := bus.NewChannels(3)
	must(t, err)
	closeAtEnd(t, fd)
	t.Cleanup(func() { _, _ = frames.Close(), accept.Close() })
	return &pageFloor{
		handed: Handed{Bus: frames, Accept: accept}, page: page, log: slog.Default(),
	}
}

func TestExpectedPlaceIsCleanAndGetsFrames(t *testing.T) {
	f := newFloor(t)
	line := f.page.Worker(2)
	must(t, sys.BusSend(f.handed.Bus.Write[2], []byte("of a worker that has left"), -1))
	f.expect(2, 1)
	if line.State() != bus.Starting || line.Index() != 1 {
		t.Errorf("an expected place: state %v, index %d; want starting, 1", line.State(), line.Index())
	}
	var buf [64]byte
	if n, _, err := sys.BusRecv(f.handed.Bus.Read[2], buf[:]); err != sys.ErrBusEmpty {
		t.Errorf("its channel has %q, %v; want nothing", buf[:max(n, 0)], err)
	}
}

func TestLostPlaceKeepsItsChannels(t *testing.T) {
	f := newFloor(t)
	f.expect(1, 1)
	line := f.page.Worker(1)
	line.Claim(4711)
	line.SetState(bus.Ready)
	must(t, sys.BusSend(f.handed.Bus.Write[1], []byte("for the successor"), -1))
	must(t, sys.BusSend(f.handed.Accept.Write[1], []byte("C"), -1))
	line.Assign(4712) // a worker may die of what it did to its memory
	f.lose(1, 1)
	if line.State() != bus.Starting || line.PID() != 0 || line.Index() != 1 {
		t.Errorf("a lost place: state %v, pid %d, index %d; want starting, 0, 1",
			line.State(), line.PID(), line.Index())
	}
	var buf [64]byte
	for _, fd := range []int{f.handed.Bus.Read[1], f.handed.Accept.Read[1]} {
		if _, _, err := sys.BusRecv(fd, buf[:]); err != nil {
			t.Errorf("what waited for the successor is gone: %v", err)
		}
	}
}

// A connection that was handed to a worker while it left goes to the ready one
// with the fewest, counted there.
func TestVacatedPlacePassesItsConnectionsOn(t *testing.T) {
	f := newFloor(t)
	for place, conns := range []int{7, 3, 1} {
		line := f.page.Worker(place)
		line.SetState(bus.Ready)
		line.AddConnections(conns)
	}
	client, server := socketPair(t)
	must(t, sys.BusSend(f.handed.Accept.Write[2], []byte("C"), int(server.Fd())))
	must(t, server.Close())
	f.vacate(2)
	if got := f.page.Worker(2).State(); got != bus.Vacant {
		t.Errorf("a vacated place: state %v, want vacant", got)
	}
	var buf [8]byte
	_, fd, err := sys.BusRecv(f.handed.Accept.Read[1], buf[:])
	must(t, err)
	if got := f.page.Worker(1).Connections(); got != 4 {
		t.Errorf("the heir is counted %d connections, want 4", got)
	}
	must(t, sys.WorkerSend(fd, []byte("hello")))
	must(t, sys.BusClose(fd))
	got := make([]byte, 5)
	if _, err := client.Read(got); err != nil || !bytes.Equal(got, []byte("hello")) {
		t.Errorf("the connection says %q, %v; want hello", got, err)
	}
}

// Without anybody to take them the connections wait for whoever comes.
func TestVacatedPlaceWithoutHeirKeepsConnections(t *testing.T) {
	f := newFloor(t)
	must(t, sys.BusSend(f.handed.Accept.Write[2], []byte("C"), -1))
	f.vacate(2)
	var buf [8]byte
	if _, _, err := sys.BusRecv(f.handed.Accept.Read[2], buf[:]); err != nil {
		t.Errorf("the channel of a place without heir: %v, want its datagram", err)
	}
}

// socketPair is a connection of which the second end is a plain file.
func socketPair(t *testing.T) (net.Conn, *os.File) {
	t.Helper()
	a, b, err := sys.WorkerLifeLine()
	must(t, err)
	file := os.NewFile(uintptr(a), "client")
	client, err := net.FileConn(file)
	must(t, err)
	must(t, file.Close())
	t.Cleanup(func() { _ = client.Close() })
	return client, os.NewFile(uintptr(b), "server")
}
