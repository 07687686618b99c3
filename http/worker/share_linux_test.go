// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

// a crew is the shares of some workers, all in this process.
type crew struct {
	page   *bus.Page
	shares []*Share
	got    chan adopted
}

type adopted struct{ index, fd int }

// newCrew makes ready workers whose hand-overs arrive on got.
func newCrew(t *testing.T, workers int) *crew {
	t.Helper()
	return makeCrew(t, workers, (*Share).Start)
}

// newStillCrew makes one without heartbeats, nor a bound on Leave: nothing in it
// depends on time.
func newStillCrew(t *testing.T, workers int) *crew {
	t.Helper()
	return makeCrew(t, workers, func(s *Share, adopt func(int) error) {
		s.patience = time.Hour
		s.own.Beat(bus.Uptime())
		go s.receive(adopt)
	})
}

func makeCrew(t *testing.T, workers int, start func(*Share, func(int) error)) *crew {
	t.Helper()
	page, pageFD, err := bus.NewPage(workers)
	must(t, err)
	channels, err := bus.NewChannels(workers)
	must(t, err)
	closeAtEnd(t, pageFD)
	t.Cleanup(func() { _ = channels.Close() })
	c := &crew{page: page, got: make(chan adopted, 1024)}
	for i := range workers {
		fds := slices.Clone(channels.Write)
		fds[i] = channels.Read[i]
		share, err := NewShare(page, i, fds)
		must(t, err)
		c.shares = append(c.shares, share)
	}
	for i, s := range c.shares {
		page.Worker(i).Claim(os.Getpid())
		page.Worker(i).SetState(bus.Ready)
		start(s, func(fd int) error { c.got <- adopted{i, fd}; return nil })
		t.Cleanup(func() { _ = s.file.Close() })
	}
	return c
}

// accept has worker index accept a connection and tells who holds it now.
func (c *crew) accept(t *testing.T, index int) int {
	t.Helper()
	client, server := connection(t)
	defer syscall.Close(client)
	if c.shares[index].Accepted(server) {
		_ = syscall.Close(server)
		return index
	}
	got := <-c.got
	defer syscall.Close(got.fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(server, &stat); got.fd != server && err != syscall.EBADF {
		t.Errorf("the sender's copy of a handed-over connection: fstat = %v, want it closed", err)
	}
	// It must be the same connection that came out at the other end.
	_, err := syscall.Write(client, []byte("?"))
	must(t, err)
	var b [1]byte
	if n, err := syscall.Read(got.fd, b[:]); n != 1 || err != nil || b[0] != '?' {
		t.Errorf("read from the handed-over connection = %d, %v, %q; want ?", n, err, b)
	}
	return got.index
}

func connection(t *testing.T) (client, server int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	return fds[0], fds[1]
}

func TestBurstAtOneWorkerSplitsEvenly(t *testing.T) {
	for _, workers := range []int{2, 3, 4} {
		c := newCrew(t, workers)
		held := make([]int, workers)
		for range 16 * workers {
			held[c.accept(t, 0)]++ // worker 0 wins every race
		}
		for i, n := range held {
			if n != 16 || c.page.Worker(i).Connections() != 16 {
				t.Errorf("%d workers: index %d holds %d (page: %d), want 16 of %v",
					workers, i, n, c.page.Worker(i).Connections(), held)
			}
		}
		want := uint64(16 * (workers - 1))
		if got := c.page.Worker(0).Handoffs(); got != want {
			t.Errorf("%d workers: %d hand-offs counted, want %d", workers, got, want)
		}
		if got := c.page.Worker(workers - 1).Taken(); got != 16 {
			t.Errorf("%d workers: the last took %d, want 16", workers, got)
		}
	}
}

func TestClosedConnectionsMakeRoom(t *testing.T) {
	c := newCrew(t, 2)
	for range 8 {
		c.accept(t, 0)
	}
	for range 4 {
		c.shares[1].Closed()
	}
	for range 4 {
		if got := c.accept(t, 0); got != 1 {
			t.Errorf("accept with 4 against 0 went to %d, want 1", got)
		}
	}
	if got := c.accept(t, 1); got != 1 {
		t.Errorf("accept with equal loads went to %d, want kept by 1", got)
	}
}

func TestNothingGoesToASiblingThatIsNotThere(t *testing.T) {
	for name, damage := range map[string]func(c *crew){
		"stopped": func(c *crew) {
			c.shares[1].Leave()
			c.page.Worker(1).SetState(bus.Ready)
			c.page.Worker(1).Beat(bus.Uptime() - staleAfter - time.Millisecond)
		},
		"never beat": func(c *crew) {
			c.shares[1].Leave()
			c.page.Worker(1).Claim(1)
			c.page.Worker(1).SetState(bus.Ready)
		},
		"draining":      func(c *crew) { c.shares[1].Leave() },
		"not yet ready": func(c *crew) { c.page.Worker(1).SetState(bus.Starting) },
	} {
		c := newCrew(t, 2)
		damage(c)
		for range 4 {
			client, server := connection(t)
			if !c.shares[0].Accepted(server) {
				t.Errorf("%s: a connection was handed over", name)
			}
			closeAtEnd(t, client, server)
		}
		if got := c.page.Worker(0).Handoffs(); got != 0 {
			t.Errorf("%s: %d hand-offs counted, want 0", name, got)
		}
	}
}

// A sender that had chosen a sibling before that began to leave, and was
// descheduled in between, keeps the connection.
func TestSenderSeesThatTheSiblingLeft(t *testing.T) {
	c := newCrew(t, 2)
	client, server := connection(t)
	closeAtEnd(t, client, server)
	c.shares[1].Leave()
	if c.shares[0].handOver(1, server) {
		t.Error("a connection was handed to a sibling that had left")
	}
	line := c.page.Worker(1)
	if line.Connections() != 0 || line.Offers() != 0 {
		t.Errorf("the sibling counts %d connections and %d offers, want none",
			line.Connections(), line.Offers())
	}
}

func TestLeavingSiblingIsPassedOver(t *testing.T) {
	c := newCrew(t, 3)
	c.page.Worker(0).AddConnections(5)
	c.page.Worker(2).AddConnections(1)
	c.page.Worker(1).SetState(bus.Draining)
	if got := c.accept(t, 0); got != 2 {
		t.Errorf("accept beside a leaving sibling went to %d, want 2", got)
	}
}

// A worker leaves only when what siblings had announced is adopted: whatever
// comes later would be closed without an answer.
func TestLeaveWaitsForWhatIsOnItsWay(t *testing.T) {
	c := newStillCrew(t, 2)
	client, server := connection(t)
	defer syscall.Close(client)
	if !c.page.Worker(1).Offer() {
		t.Fatal("a ready worker refused an offer")
	}
	left := make(chan struct{})
	go func() { c.shares[1].Leave(); close(left) }()
	select {
	case <-left:
		t.Fatal("Leave returned with a connection on its way")
	case <-time.After(50 * time.Millisecond):
	}
	must(t, sys.BusSend(c.shares[0].peers[1], []byte{'C'}, server))
	must(t, syscall.Close(server))
	<-left
	select {
	case got := <-c.got:
		_ = syscall.Close(got.fd)
	default:
		t.Error("Leave returned before the connection was adopted")
	}
}

// However a leaving worker and a sender meet, nothing arrives behind Leave.
func TestNothingArrivesBehindLeave(t *testing.T) {
	for range 50 {
		var arrived atomic.Int64
		c := makeCrew(t, 2, func(s *Share, _ func(int) error) {
			s.patience = time.Hour
			s.own.Beat(bus.Uptime())
			go s.receive(func(fd int) error { arrived.Add(1); return syscall.Close(fd) })
		})
		c.page.Worker(0).AddConnections(1 << 20)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				client, server := connection(t)
				if c.shares[0].Accepted(server) {
					_ = syscall.Close(server)
				}
				_ = syscall.Close(client)
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		for arrived.Load() == 0 { // hand-overs are under way
			c.page.Worker(1).Beat(bus.Uptime())
			runtime.Gosched()
		}
		c.shares[1].Leave()
		before := arrived.Load()
		close(stop)
		<-stopped
		if late := arrived.Load() - before; late != 0 {
			t.Errorf("%d connections arrived behind Leave", late)
		}
	}
}

// An offer of a sender that died is forgotten: it delays a stop, and not more.
func TestLeaveForgetsADeadSender(t *testing.T) {
	c := newCrew(t, 2)
	c.page.Worker(1).Offer()
	c.shares[1].Leave()
	if got := c.page.Worker(1).Offers(); got != 0 {
		t.Errorf("%d offers at the end of Leave, want the dead sender's forgotten", got)
	}
}

func TestFullChannelKeepsTheConnection(t *testing.T) {
	c := newCrew(t, 2)
	_ = c.shares[1].file.Close() // worker 1 reads no more, but its channel stays
	client, server := connection(t)
	closeAtEnd(t, client, server)
	c.page.Worker(0).AddConnections(1 << 20)
	before, sent := c.page.Worker(1).Connections(), 0
	for {
		fd, err := syscall.Dup(server)
		must(t, err)
		if c.shares[0].Accepted(fd) {
			_ = syscall.Close(fd)
			break
		}
		if sent++; sent > 1<<16 {
			t.Fatal("the channel never filled")
		}
	}
	if got := c.page.Worker(1).Connections() - before; got != sent {
		t.Errorf("sibling is counted %d, want the %d that were sent", got, sent)
	}
	if got := c.page.Worker(1).Offers(); got != sent {
		t.Errorf("sibling is offered %d, want the %d that were sent", got, sent)
	}
}

func TestRefusedAdoptionClosesAndUncounts(t *testing.T) {
	c := newCrew(t, 2)
	client, server := connection(t)
	defer syscall.Close(client)
	c.page.Worker(0).AddConnections(1)
	// Sent by hand, so that worker 1's own receiver does not see it.
	share := c.shares[1]
	c.page.Worker(1).AddConnections(1)
	share.take(server, func(int) error { return errors.New("draining") })
	var b [1]byte
	if n, err := syscall.Read(client, b[:]); n != 0 || err != nil {
		t.Errorf("read at the client = %d, %v; want the end: the connection was closed", n, err)
	}
	if got := c.page.Worker(1).Connections(); got != 0 {
		t.Errorf("worker 1 is counted %d, want 0", got)
	}
}

func TestMendRepairsACountLeftByAPredecessor(t *testing.T) {
	c := newCrew(t, 2)
	c.page.Worker(1).AddConnections(5) // counted for a worker that is gone
	for deadline := time.Now().Add(patience); c.page.Worker(1).Connections() != 0; {
		if time.Now().After(deadline) {
			t.Fatalf("count stays at %d, want 0", c.page.Worker(1).Connections())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestBareRaceOnlyCounts(t *testing.T) {
	c := newCrew(t, 2)
	bare, err := NewShare(c.page, 0, nil)
	must(t, err)
	for range 8 {
		if !bare.Accepted(-1) {
			t.Fatal("a bare race handed a connection over")
		}
	}
	bare.Closed()
	if got := c.page.Worker(0).Connections(); got != 7 {
		t.Errorf("8 accepted, 1 closed: counted %d, want 7", got)
	}
}

func TestShareOfAnotherPageIsRefused(t *testing.T) {
	page, fd, err := bus.NewPage(2)
	must(t, err)
	closeAtEnd(t, fd)
	for _, c := range []struct {
		index    int
		channels []int
	}{{2, nil}, {-1, nil}, {0, []int{1}}, {0, []int{1, 2, 3}}, {0, []int{1 << 20, 1 << 20}}} {
		if s, err := NewShare(page, c.index, c.channels); err == nil {
			t.Errorf("NewShare of index %d, channels %v on a page of 2 = %v, want an error",
				c.index, c.channels, s)
		}
	}
}

func TestListenerFDNeedsADescriptor(t *testing.T) {
	if fd, err := ListenerFD(struct{ net.Listener }{}); err == nil {
		t.Errorf("ListenerFD of a listener without a descriptor = %d, want an error", fd)
	}
}
