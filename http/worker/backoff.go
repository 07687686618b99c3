// SPDX-License-Identifier: MIT

package worker

import "time"

// The delays before a respawn (contract row P3).
const (
	backoffFirst = 100 * time.Millisecond
	backoffLast  = 5 * time.Second
	healthyAfter = 60 * time.Second // of being ready: the next death counts as the first
)

// backoff is the delay before the respawn that follows the n-th death in a row
// (n ≥ 1): none after the first, then doubling from backoffFirst to
// backoffLast. random, in [0, 1), takes off up to a fifth, so that workers that
// died together do not come back together.
func backoff(n int, random float64) time.Duration {
	if n <= 1 {
		return 0
	}
	d := backoffLast
	// Six doublings reach the last; a larger shift would only overflow.
	if n-2 < 6 {
		d = min(backoffFirst<<(n-2), backoffLast)
	}
	return d - time.Duration(float64(d)*random/5)
}
