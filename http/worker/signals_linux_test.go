// SPDX-License-Identifier: MIT

package worker

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSignalsDoNothingOnceRetired: a process that is about to end is not killed on its way.
func TestSignalsDoNothingOnceRetired(t *testing.T) {
	ArmStops().Retire()
	runtime.LockOSThread() // what is sent to the own thread has arrived when the call returns
	defer runtime.UnlockOSThread()
	if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
