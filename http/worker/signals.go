// SPDX-License-Identifier: MIT

package worker

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// echoWithin is how soon a signal like the one before is taken for the same
// wish: timeout(1) signals its child and then the group that the child is in.
const echoWithin = 100 * time.Millisecond

// Stops are the signals that ask a process to stop. Nothing in this module
// installs a signal handler unless ArmStops is called: a graceful end is opt-in,
// for each process.
type Stops struct {
	// C gets SIGTERM and SIGINT. One that comes again within 100 ms is left out,
	// and a full C loses what does not fit: two are all that anybody asks for.
	C       <-chan os.Signal
	raw     chan os.Signal
	retire  sync.Once
	retired chan struct{}
}

// ArmStops takes SIGTERM and SIGINT over from now on, also when the process
// inherited them as ignored.
func ArmStops() *Stops {
	out := make(chan os.Signal, 8)
	s := &Stops{C: out, raw: make(chan os.Signal, 8), retired: make(chan struct{})}
	signal.Notify(s.raw, syscall.SIGTERM, syscall.SIGINT)
	go s.forward(out)
	return s
}

// forward leaves out echoes.
func (s *Stops) forward(out chan<- os.Signal) {
	var last os.Signal
	var at time.Time
	for {
		select {
		case sig := <-s.raw:
			now := time.Now()
			if sig == last && now.Sub(at) < echoWithin {
				continue
			}
			last, at = sig, now
			select {
			case out <- sig:
			default:
			}
		case <-s.retired:
			return
		}
	}
}

// Armed reports whether a signal would arrive at C.
func (s *Stops) Armed() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.retired:
		return false
	default:
		return true
	}
}

// Retire is for a process that is about to end: signals do nothing from now on. To give
// them back would let the second signal of a timeout(1) that comes late kill a process
// that is done, and hide its exit status.
func (s *Stops) Retire() {
	if s == nil {
		return
	}
	s.retire.Do(func() { close(s.retired) })
}

// HearsHangup reports whether SIGHUP may be taken over to read things again. Who started
// the process with it ignored, as nohup(1) does, wants no hangup to do anything; log says
// so, since a reload that is asked for later does nothing either.
func HearsHangup(log *slog.Logger) bool {
	if !signal.Ignored(syscall.SIGHUP) {
		return true
	}
	log.Warn("worker: SIGHUP was ignored at the start, as under nohup, and will reload nothing; " +
		"for reloads start with setsid, or as a service")
	return false
}
