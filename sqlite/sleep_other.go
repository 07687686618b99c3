// SPDX-License-Identifier: MIT

//go:build !linux

package sqlite

import "time"

// sleepShort sleeps for less than a millisecond, or what the system makes of it.
func sleepShort(d time.Duration) { time.Sleep(d) }
