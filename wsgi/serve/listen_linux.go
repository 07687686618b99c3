// SPDX-License-Identifier: MIT

package serve

import "syscall"

func setUmask(mask int) { syscall.Umask(mask) }

// setBacklog changes the length of a listener's queue.
func setBacklog(fd, n int) error { return syscall.Listen(fd, n) }
