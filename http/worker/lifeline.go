// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"os"

	"m0serve.dev/http/internal/sys"
)

// The words on a life line, a byte each.
const (
	lineReady   = 'R' // worker: I serve
	lineReplace = 'P' // worker: replace me, there is a reason in my log
	lineDone    = 'D' // worker: worker 0's duties are not mine any more
	lineYours   = 'Y' // supervisor: worker 0's duties are yours
)

// Ready tells the supervisor that this worker serves.
func (in *Inherited) Ready() error { return in.say(lineReady, "report ready") }

// Replace asks the supervisor for a successor, which joins first; then this
// worker is told to drain. It may take its time: others may be before it in the
// line, and one that does not start changes nothing.
func (in *Inherited) Replace() error { return in.say(lineReplace, "ask to be replaced") }

// Duties is closed once the duties of worker 0, which exist once in a service,
// are this worker's: from the start, or when its predecessor has ended its own.
// It takes WatchSupervisor, and stays open for every other index.
func (in *Inherited) Duties() <-chan struct{} { return in.duties }

// HasDuties reports whether Duties is closed.
func (in *Inherited) HasDuties() bool {
	select {
	case <-in.duties:
		return true
	default:
		return false
	}
}

// DutiesDone says that this worker's duties have ended, for good: a successor
// that is ready begins its own. A worker that ends without it says it by that.
func (in *Inherited) DutiesDone() error { return in.say(lineDone, "give up duties") }

func (in *Inherited) say(word byte, what string) error {
	if err := sys.WorkerSend(in.life, []byte{word}); err != nil {
		return fmt.Errorf("worker: %s: %w", what, err)
	}
	return nil
}

// WatchSupervisor calls gone, once, when the supervisor has ended without
// ending this worker first. It is the net under the kernel's own signal, which
// a worker that changed its user does not get. It also listens for what the
// supervisor says; see Duties. It is called once.
func (in *Inherited) WatchSupervisor(gone func()) error {
	fd, err := sys.BusDup(in.life)
	if err != nil {
		return fmt.Errorf("worker: life line: %w", err)
	}
	file := os.NewFile(uintptr(fd), "life line")
	go func() {
		var buf [64]byte
		for {
			n, err := file.Read(buf[:])
			if err != nil {
				_ = file.Close()
				gone()
				return
			}
			for _, word := range buf[:n] {
				in.hear(word)
			}
		}
	}()
	return nil
}

// hear takes a word of the supervisor's, on the watching goroutine.
func (in *Inherited) hear(word byte) {
	if word == lineYours && !in.HasDuties() {
		close(in.duties)
	}
}
