// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"m0serve.dev/http/internal/sys"
)

// failures are the errors of each call that the loop hears of.
var failures = map[string][]error{
	"Poller":   {sys.EMFILE, sys.ENFILE, sys.ENOMEM},
	"Notifier": {sys.EMFILE, sys.ENFILE, sys.ENOMEM},
	"Timer":    {sys.EMFILE, sys.ENFILE, sys.ENOMEM},
	"Reserve":  {sys.EMFILE, sys.ENFILE, sys.ENOMEM, sys.EINTR},
	"Watch":    {sys.ENOMEM},
	"Rewatch":  {sys.ENOMEM},
	"Wait":     {sys.EINTR},
	"Accept": {sys.EAGAIN, sys.EINTR, sys.ECONNABORTED, sys.EMFILE, sys.ENFILE, sys.ENOBUFS,
		sys.ENOMEM},
	"Read": {sys.EAGAIN, sys.EINTR, sys.ECONNRESET, sys.ETIMEDOUT, sys.ENOBUFS, sys.ENOMEM},
	"Write": {sys.EAGAIN, sys.EINTR, sys.EPIPE, sys.ECONNRESET, sys.ETIMEDOUT, sys.ENOBUFS,
		sys.ENOMEM},
	"CloseWrite": {sys.ECONNRESET, sys.ENOBUFS},
	"Close":      {sys.EINTR},
	"Reset":      {sys.EINTR},
	"Unsent":     {sys.ENOMEM},
	"Unread":     {sys.ENOMEM},
}

// A failKernel is a calm simKernel of which the calls from the n-th on fail, so
// many of that kind.
type failKernel struct {
	*simKernel
	n, choice int // the call, and which of its errors
	burst     int
	calls     int
	failed    int    // of them
	hit       string // the call that failed; "": none was the n-th
	more      bool   // it has further errors
}

func (k *failKernel) fails(call string) error {
	k.mu.Lock() // the watchdog's goroutine closes its timer
	defer k.mu.Unlock()
	k.calls++
	errs := failures[call]
	if k.hit == "" && k.calls == k.n {
		k.hit, k.more = call, k.choice+1 < len(errs)
	}
	if k.hit != call || k.burst == 0 {
		return nil
	}
	k.burst--
	k.failed++
	return errs[k.choice]
}

func (k *failKernel) Poller() (int, error) {
	if err := k.fails("Poller"); err != nil {
		return -1, err
	}
	return k.simKernel.Poller()
}

func (k *failKernel) Notifier() (int, error) {
	if err := k.fails("Notifier"); err != nil {
		return -1, err
	}
	return k.simKernel.Notifier()
}

func (k *failKernel) Timer() (sys.Timer, error) {
	if err := k.fails("Timer"); err != nil {
		return nil, err
	}
	return k.simKernel.Timer()
}

func (k *failKernel) Reserve() (int, error) {
	if err := k.fails("Reserve"); err != nil {
		return -1, err
	}
	return k.simKernel.Reserve()
}

func (k *failKernel) Watch(poller, fd int, generation int32, events uint32) error {
	if err := k.fails("Watch"); err != nil {
		return err
	}
	return k.simKernel.Watch(poller, fd, generation, events)
}

func (k *failKernel) Rewatch(poller, fd int, generation int32, events uint32) error {
	if err := k.fails("Rewatch"); err != nil {
		return err
	}
	return k.simKernel.Rewatch(poller, fd, generation, events)
}

func (k *failKernel) Wait(poller int, events []sys.Event, ms int) (int, error) {
	if err := k.fails("Wait"); err != nil {
		k.turns++
		return -1, err
	}
	return k.simKernel.Wait(poller, events, ms)
}

func (k *failKernel) Accept(fd int) (int, netip.AddrPort, error) {
	if err := k.fails("Accept"); err != nil {
		return -1, netip.AddrPort{}, err
	}
	return k.simKernel.Accept(fd)
}

func (k *failKernel) Read(fd int, b []byte) (int, error) {
	if err := k.fails("Read"); err != nil {
		return -1, err
	}
	return k.simKernel.Read(fd, b)
}

func (k *failKernel) Write(fd int, b []byte) (int, error) {
	if err := k.fails("Write"); err != nil {
		return -1, err
	}
	return k.simKernel.Write(fd, b)
}

func (k *failKernel) CloseWrite(fd int) error {
	if err := k.fails("CloseWrite"); err != nil {
		return err
	}
	return k.simKernel.CloseWrite(fd)
}

// Close closes whatever it says, as Linux does.
func (k *failKernel) Close(fd int) error {
	failed := k.fails("Close")
	if err := k.simKernel.Close(fd); err != nil {
		return err
	}
	return failed
}

func (k *failKernel) Reset(fd int) error {
	failed := k.fails("Reset")
	if err := k.simKernel.Reset(fd); err != nil {
		return err
	}
	return failed
}

func (k *failKernel) Unsent(fd int) (int, error) {
	if err := k.fails("Unsent"); err != nil {
		return 0, err
	}
	return k.simKernel.Unsent(fd)
}

func (k *failKernel) Unread(fd int) (int, error) {
	if err := k.fails("Unread"); err != nil {
		return 0, err
	}
	return k.simKernel.Unread(fd)
}

// failOnce runs the scenario with one failure, and says how it should end.
func failOnce(t *testing.T, n, choice, burst int) *failKernel {
	s := &simRun{k: newSimKernel(0), byToken: map[string]*simPeer{}}
	s.k.calm = true
	for i := 0; len(s.all) < failPeers; i++ {
		if p := s.newPeer(i, rand.New(rand.NewPCG(failSeed, uint64(i)))); p.want != nil {
			s.all = append(s.all, p)
		}
	}
	s.all = append(s.all, s.newCutPeer(failPeers))
	s.k.queue = append(s.k.queue, s.all...)
	s.k.peers = append(s.k.peers, s.all...)
	k := &failKernel{simKernel: s.k, n: n, choice: choice, burst: burst}
	s.k.idle = func() { s.g.loops[0].post(note{kind: noteStop}) }
	cfg := s.config()
	cfg.Kernel = k
	var err error
	if s.g, err = newGroup(cfg); err != nil {
		if k.hit == "" || len(s.k.fds) != 1 { // the listener is the caller's
			t.Errorf("newGroup: %v, and %d descriptors are open, want 1", err, len(s.k.fds))
		}
		return k
	}
	s.g.loops[0].todo.push(note{kind: noteListen, fd: 3})
	s.g.start()
	s.g.ended.Wait()
	s.g.watchers.Wait()
	s.check(t)
	s.checkFailed(t, k)
	return k
}

// newCutPeer scripts a stream that is delimited by its end, and cut.
func (s *simRun) newCutPeer(i int) *simPeer {
	p := &simPeer{rng: rand.New(rand.NewPCG(failSeed, uint64(i))), window: 30, leaves: -1}
	p.events, p.ending = 4, EndCut
	p.script = fmt.Appendf(nil, "GET /hold/%d HTTP/1.0\r\nHost: a\r\n\r\n", i)
	p.want = []byte("HTTP/1.1 200 OK\r\nDate: today\r\nConnection: close\r\n\r\n")
	for e := p.events - 1; e >= 0; e-- {
		p.want = fmt.Appendf(p.want, "8\r\nevent %d\n\r\n", e)
	}
	s.byToken[fmt.Sprint(i)] = p
	return p
}

// The scenario: peers with requests, streams and conversations, and one that is cut.
const (
	failSeed  = 3
	failPeers = 6
)

// checkFailed wants every answer right, or cut where the failure has met it.
func (s *simRun) checkFailed(t *testing.T, k *failKernel) {
	t.Helper()
	most := k.failed
	if most > 0 {
		switch failures[k.hit][k.choice] {
		case sys.EAGAIN, sys.EINTR:
			most = 0
		}
	}
	for i, p := range s.all {
		switch {
		case bytes.Equal(p.got, p.want):
		case !bytes.HasPrefix(p.want, p.got):
			t.Errorf("peer %d got what is no part of its answers: %.80q", i, p.got)
		case !p.closed || most == 0:
			t.Errorf("peer %d got %d of %d bytes; closed %v", i, len(p.got), len(p.want), p.closed)
		default:
			most--
		}
	}
}

// failBurst calls fail in a row in the second half of the test.
const failBurst = 5

// TestFailAtEveryCall lets the n-th system call fail, for every n and each of its
// errors, alone and five in a row: nothing hangs, leaks or is forgotten.
func TestFailAtEveryCall(t *testing.T) {
	for _, burst := range []int{1, failBurst} {
		runs, seen := 0, map[string]bool{}
		for n := 1; ; n++ {
			hit := ""
			for choice, more := 0, true; more; choice++ {
				k := failOnce(t, n, choice, burst)
				hit, more = k.hit, k.more
				seen[hit] = true
				runs++
				if t.Failed() {
					t.Fatalf("call %d (%s) failed with %v, %d times", n, hit, failures[hit][choice], burst)
				}
			}
			if hit == "" {
				break
			}
		}
		for call := range failures {
			if !seen[call] && call != "Unread" {
				t.Errorf("%s was never called", call)
			}
		}
		t.Logf("%d runs, %d in a row", runs, burst)
	}
}
