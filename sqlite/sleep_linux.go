// SPDX-License-Identifier: MIT

package sqlite

import (
	"syscall"
	"time"
)

// sleepShort sleeps for less than a millisecond. The runtime's timers round such a sleep up to a
// millisecond when the process is otherwise idle; the kernel does not.
func sleepShort(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // cut short by a signal: the caller looks again anyway
}
