// SPDX-License-Identifier: MIT

package worker

import (
	"os"
	"syscall"
	"testing"
)

func TestStopsAreArmedUntilDisarmed(t *testing.T) {
	var none *Stops
	if none.Armed() {
		t.Error("Armed before ArmStops = true, want false")
	}
	s := ArmStops()
	defer s.Disarm()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-s.C; got != syscall.SIGTERM || !s.Armed() {
		t.Errorf("got %v, armed %v; want SIGTERM, true", got, s.Armed())
	}
	s.Disarm()
	if s.Armed() {
		t.Error("Armed after Disarm = true, want false")
	}
}
