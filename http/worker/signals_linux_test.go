// SPDX-License-Identifier: MIT

package worker

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestSignalsDoNothingOnceRetired: a process that is about to end is not killed on its way.
func TestSignalsDoNothingOnceRetired(t *testing.T) {
	ArmStops().Retire()
	runtime.LockOSThread() // what is sent to the own thread has arrived when the call returns
	defer runtime.UnlockOSThread()
	_, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()),
		uintptr(syscall.Gettid()), uintptr(syscall.SIGTERM))
	if e != 0 {
		t.Fatal(e)
	}
}
