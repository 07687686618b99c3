// SPDX-License-Identifier: MIT

//go:build !linux

package worker

import "runtime"

// MaxWorkers is how many processes this platform supports.
const MaxWorkers = 1

// Supervise is not available here: it says so and returns 78. Callers refuse a
// count above MaxWorkers before they get this far.
func Supervise(cfg Config) int {
	cfg.log().Error("worker: no worker processes on this system", "os", runtime.GOOS)
	return 78
}
