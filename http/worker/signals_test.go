// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopsAreArmedUntilTheyRetire(t *testing.T) {
	var none *Stops
	if none.Armed() {
		t.Error("Armed before ArmStops = true, want false")
	}
	none.Retire()
	s := ArmStops()
	defer s.Retire()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-s.C; got != syscall.SIGTERM || !s.Armed() {
		t.Errorf("got %v, armed %v; want SIGTERM, true", got, s.Armed())
	}
	s.Retire()
	if s.Armed() {
		t.Error("Armed after Retire = true, want false")
	}
}

func TestEchoOfASignalIsNoSecondOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Stops{raw: make(chan os.Signal, 8), retired: make(chan struct{})}
		out := make(chan os.Signal, 8)
		go s.forward(out)
		defer close(s.retired)
		for _, sig := range []struct {
			after time.Duration
			sig   os.Signal
		}{
			{0, syscall.SIGTERM}, {time.Millisecond, syscall.SIGTERM}, // timeout(1)
			{echoWithin, syscall.SIGTERM},      // somebody means it
			{time.Millisecond, syscall.SIGINT}, // and somebody else
		} {
			time.Sleep(sig.after)
			s.raw <- sig.sig
			synctest.Wait()
		}
		close(out)
		got := slices.Collect(func(yield func(os.Signal) bool) {
			for sig := range out {
				if !yield(sig) {
					return
				}
			}
		})
		want := []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGINT}
		if !slices.Equal(got, want) {
			t.Errorf("passed on %v, want %v", got, want)
		}
	})
}
