// SPDX-License-Identifier: MIT

package loop

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"m0serve.dev/http/internal/sys"
)

// A simKernel is a kernel that fails in every way the real one may, from a seed.
// Time passes in Wait alone, and so do the peers: a run is the same every time.
type simKernel struct {
	mu     sync.Mutex // the watchdog's goroutine closes its timer
	rng    *rand.Rand
	now    time.Duration
	others time.Duration // of it, when the process had no core
	fds    map[int]*simFile
	peers  []*simPeer // not gone yet
	queue  []*simPeer // connected and not accepted
	faults int        // one call in so many fails
	calm   bool
	turns  int
	bad    []string // what the loop must never do
	idle   func()   // called when nothing will ever happen again
	plans  []simPlan
	// unwatched connections could not be put into the poller.
	unwatched int
}

// A simPlan is something that somebody else does at a moment.
type simPlan struct {
	at time.Duration
	do func()
}

// plan adds one; they are added in their order.
func (k *simKernel) plan(at time.Duration, do func()) {
	k.plans = append(k.plans, simPlan{at, do})
}

// A simFile is one descriptor.
type simFile struct {
	kind   string // poller, notifier, listener, reserve, conn
	peer   *simPeer
	raised bool
	watch  map[int]simWatch // of a poller
	lastRx bool             // the loop has read the FIN
}

type simWatch struct {
	generation int32
	events     uint32
}

func newSimKernel(seed uint64) *simKernel {
	k := &simKernel{rng: rand.New(rand.NewPCG(7, seed)), fds: map[int]*simFile{}, faults: 12}
	k.fds[3] = &simFile{kind: "listener"}
	return k
}

func (k *simKernel) one(errs ...error) error { return errs[k.rng.IntN(len(errs))] }

// breaks ends the connection of p now and then, as networks do.
func (k *simKernel) breaks(p *simPeer) {
	if k.fault(3000) {
		p.reset, p.gone, p.want = true, true, nil
	}
}

func (k *simKernel) fault(n int) bool { return !k.calm && k.rng.IntN(n) == 0 }

func (k *simKernel) complain(format string, args ...any) {
	k.bad = append(k.bad, fmt.Sprintf(format, args...))
}

// open gives out the lowest free number, as Unix does.
func (k *simKernel) open(kind string) int {
	fd := 3
	for k.fds[fd] != nil {
		fd++
	}
	k.fds[fd] = &simFile{kind: kind}
	return fd
}

func (k *simKernel) file(fd int, kind, call string) *simFile {
	f := k.fds[fd]
	if f == nil || f.kind != kind {
		k.complain("%s(%d) is no %s", call, fd, kind)
		return &simFile{kind: kind, peer: &simPeer{}, watch: map[int]simWatch{}}
	}
	return f
}

func (k *simKernel) Now() time.Time { return time.Unix(1_700_000_000, 0).Add(k.now) }

// Used is all time but what others had the processor for.
func (k *simKernel) Used() time.Duration { return k.now - k.others }

func (k *simKernel) Poller() (int, error) {
	fd := k.open("poller")
	k.fds[fd].watch = map[int]simWatch{}
	return fd, nil
}

func (k *simKernel) Watch(poller, fd int, generation int32, events uint32) error {
	w := k.file(poller, "poller", "Watch").watch
	if _, twice := w[fd]; twice || k.fds[fd] == nil {
		k.complain("Watch(%d) twice or of a closed descriptor", fd)
	}
	if f := k.fds[fd]; f != nil && f.kind != "notifier" && k.fault(60) {
		if f.kind == "conn" {
			k.unwatched++
		}
		return sys.ENOMEM
	}
	w[fd] = simWatch{generation, events}
	return nil
}

func (k *simKernel) Rewatch(poller, fd int, generation int32, events uint32) error {
	w := k.file(poller, "poller", "Rewatch").watch
	if _, known := w[fd]; !known {
		k.complain("Rewatch(%d) of what is not watched", fd)
	}
	w[fd] = simWatch{generation, events}
	return nil
}

func (k *simKernel) Unwatch(poller, fd int) error {
	delete(k.file(poller, "poller", "Unwatch").watch, fd)
	return nil
}

// Wait lets the peers act until something is ready or the time is over.
func (k *simKernel) Wait(poller int, events []sys.Event, ms int) (int, error) {
	k.turns++
	if k.fault(30) {
		return -1, sys.EINTR
	}
	if k.fault(1000) {
		k.now += time.Duration(k.rng.IntN(3000)) * time.Millisecond // the process was stopped
	}
	end := k.now + time.Duration(ms)*time.Millisecond
	k.now += time.Duration(k.rng.IntN(50)) * time.Microsecond
	for {
		k.act()
		if n := k.ready(poller, events); n > 0 || ms == 0 {
			return n, nil
		}
		next, any := k.nextAction()
		switch {
		case ms > 0 && (!any || next > end):
			k.now = end
			return 0, nil
		case !any:
			k.idle()
			return k.ready(poller, events), nil
		}
		k.now = max(k.now, next)
	}
}

func (k *simKernel) act() {
	for len(k.plans) > 0 && k.plans[0].at <= k.now {
		do := k.plans[0].do
		k.plans = k.plans[1:]
		do()
	}
	left := k.peers[:0]
	for _, p := range k.peers {
		if p.at <= k.now && !p.gone {
			p.act(k)
		}
		if !p.gone {
			left = append(left, p)
		}
	}
	k.peers = left
}

func (k *simKernel) nextAction() (at time.Duration, any bool) {
	for _, p := range k.peers {
		if !any || p.at < at {
			at, any = p.at, true
		}
	}
	if len(k.plans) > 0 && (!any || k.plans[0].at < at) {
		return k.plans[0].at, true
	}
	return at, any
}

// ready lists what is ready, in random order, and now and then an event of a
// connection that is gone.
func (k *simKernel) ready(poller int, events []sys.Event) int {
	watch := k.file(poller, "poller", "Wait").watch
	n := 0
	for fd := 0; fd < 2*simFilesMax && n < len(events); fd++ {
		w, watched := watch[fd]
		if !watched || k.fds[fd] == nil {
			continue
		}
		bits := k.state(k.fds[fd]) & (w.events | sys.EventErr | sys.EventHup)
		if bits == 0 {
			continue
		}
		if k.fault(50) { // stale: of an earlier owner of the number
			events[n] = sys.Event{Events: bits | sys.EventHup, Fd: int32(fd), Pad: w.generation - 1}
			if n++; n == len(events) {
				break
			}
		}
		events[n] = sys.Event{Events: bits, Fd: int32(fd), Pad: w.generation}
		n++
	}
	k.rng.Shuffle(n, func(i, j int) { events[i], events[j] = events[j], events[i] })
	return n
}

func (k *simKernel) state(f *simFile) (bits uint32) {
	switch f.kind {
	case "notifier":
		if f.raised {
			bits = sys.EventIn
		}
	case "listener":
		if len(k.queue) > 0 {
			bits = sys.EventIn
		}
	case "conn":
		p := f.peer
		if len(p.toServer) > 0 || p.fin {
			bits |= sys.EventIn
		}
		if p.fin {
			bits |= sys.EventRDHup
		}
		if len(p.fromServer) < p.window {
			bits |= sys.EventOut
		}
		if p.reset {
			bits |= sys.EventIn | sys.EventErr | sys.EventHup | sys.EventRDHup
		}
	}
	return bits
}

func (k *simKernel) Accept(fd int) (int, netip.AddrPort, error) {
	k.file(fd, "listener", "Accept")
	full := len(k.fds) >= simFilesMax
	switch {
	case len(k.queue) == 0:
		return -1, netip.AddrPort{}, sys.EAGAIN
	case full, k.fault(40):
		return -1, netip.AddrPort{}, k.one(sys.EMFILE, sys.ENFILE)
	case k.fault(100):
		return -1, netip.AddrPort{}, k.one(sys.ENOBUFS, sys.ENOMEM)
	case k.fault(40):
		return -1, netip.AddrPort{}, sys.EINTR
	}
	p := k.queue[0]
	k.queue = k.queue[1:]
	if p.gone {
		return -1, netip.AddrPort{}, sys.ECONNABORTED
	}
	nfd := k.open("conn")
	k.fds[nfd].peer = p
	return nfd, netip.AddrPort{}, nil
}

// simFilesMax is a table small enough to be full now and then.
const simFilesMax = 24

func (k *simKernel) Read(fd int, b []byte) (int, error) {
	f := k.file(fd, "conn", "Read")
	p := f.peer
	k.breaks(p)
	switch {
	case k.fault(k.faults):
		return -1, sys.EINTR
	case k.fault(k.faults):
		return -1, sys.EAGAIN
	case p.reset:
		return -1, k.one(sys.ECONNRESET, sys.ETIMEDOUT)
	case len(p.toServer) == 0 && p.fin:
		f.lastRx = true
		return 0, nil
	case len(p.toServer) == 0:
		return -1, sys.EAGAIN
	}
	n := min(len(b), len(p.toServer))
	if k.fault(3) {
		n = 1 + k.rng.IntN(n)
	}
	copy(b, p.toServer[:n])
	p.toServer = p.toServer[n:]
	return n, nil
}

func (k *simKernel) Write(fd int, b []byte) (int, error) {
	p := k.file(fd, "conn", "Write").peer
	k.breaks(p)
	room := p.window - len(p.fromServer)
	switch {
	case k.fault(k.faults):
		return -1, sys.EINTR
	case k.fault(k.faults):
		return -1, sys.EAGAIN
	case p.reset:
		return -1, k.one(sys.ECONNRESET, sys.EPIPE, sys.ETIMEDOUT, sys.ENOBUFS, sys.ENOMEM)
	case p.serverFin:
		k.complain("Write(%d) behind CloseWrite", fd)
		return -1, sys.EPIPE
	case room <= 0:
		return -1, sys.EAGAIN
	}
	n := min(len(b), room)
	if k.fault(3) {
		n = 1 + k.rng.IntN(n)
	}
	p.fromServer = append(p.fromServer, b[:n]...)
	return n, nil
}

func (k *simKernel) CloseWrite(fd int) error {
	k.file(fd, "conn", "CloseWrite").peer.serverFin = true
	return nil
}

func (k *simKernel) Close(fd int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.fds[fd]
	if f == nil {
		k.complain("Close(%d) of a closed descriptor", fd)
		return sys.EPERM
	}
	delete(k.fds, fd)
	for _, other := range k.fds {
		delete(other.watch, fd)
	}
	if p := f.peer; p != nil {
		// Closing on unread input is an RST, which may destroy what was sent.
		p.closed, p.serverFin = true, true
		p.harmed = p.harmed || len(p.toServer) > 0
	}
	return nil
}

func (k *simKernel) Reset(fd int) error {
	if p := k.file(fd, "conn", "Reset").peer; p != nil {
		p.harmed = true
	}
	return k.Close(fd)
}

func (k *simKernel) Unsent(fd int) (int, error) {
	return len(k.file(fd, "conn", "Unsent").peer.fromServer), nil
}

func (k *simKernel) Unread(fd int) (int, error) {
	return len(k.file(fd, "conn", "Unread").peer.toServer), nil
}

func (k *simKernel) Hold(fd, _ int, _ time.Duration) { k.file(fd, "conn", "Hold") }

func (k *simKernel) Notifier() (int, error) { return k.open("notifier"), nil }

func (k *simKernel) Notify(fd int) { k.file(fd, "notifier", "Notify").raised = true }

func (k *simKernel) Readable(int, time.Duration) bool { panic("not simulated") }

func (k *simKernel) Quiet(fd int) { k.file(fd, "notifier", "Quiet").raised = false }

func (k *simKernel) Reserve() (int, error) {
	if len(k.fds) >= simFilesMax {
		return -1, sys.EMFILE
	}
	return k.open("reserve"), nil
}

// Timer returns one that never fires: handlers of a simulation are quick.
func (k *simKernel) Timer() (sys.Timer, error) {
	return &simTimer{closed: make(chan struct{})}, nil
}

type simTimer struct{ closed chan struct{} }

func (t *simTimer) Arm(time.Duration) {}
func (t *simTimer) Disarm()           {}
func (t *simTimer) Wait() bool        { <-t.closed; return false }
func (t *simTimer) Close() error      { close(t.closed); return nil }
