// SPDX-License-Identifier: MIT

package clienttest

import (
	"fmt"
	"net/http"
	"time"
)

// A Retry is the client's option of that name: what makes it come back.
type Retry uint8

// The modes.
const (
	RetryAuto   Retry = iota // a stream that broke off, a server that is not there
	RetryError               // the same, and 4xx and 5xx
	RetryAlways              // the same, any status but 204 and 3xx, and a clean end
	RetryNever               // as RetryAuto: the client's name for it promises more
)

// String is the mode's name in the client.
func (r Retry) String() string {
	if int(r) < len(retries) {
		return retries[r]
	}
	return fmt.Sprintf("retry %d", uint8(r))
}

var retries = [...]string{"auto", "error", "always", "never"}

// A result is how one request came out.
type result struct {
	status int  // 0: no answer, or none that was complete
	clean  bool // the body came to its end
	stream bool // the body was an event stream
}

// again reports whether the client comes back after res.
func (r Retry) again(res result) bool {
	switch {
	case res.status == 0:
		return true
	case res.status == http.StatusOK && !res.stream:
		return false
	case res.status == http.StatusOK:
		return !res.clean || r == RetryAlways
	case res.status == http.StatusNoContent || res.status/100 == 3:
		return false
	case res.status >= 400:
		return r == RetryError || r == RetryAlways
	}
	return r == RetryAlways
}

// A backoff is the row of waits.
type backoff struct {
	base, next time.Duration // of the first wait; of the coming one
	scaler     float64
	max        time.Duration
	count      int // waits in a row
	countMax   int
}

// reset begins the row again, after an answer of 200.
func (b *backoff) reset() { b.next, b.count = b.base, 0 }

// setBase is for a "retry:" line.
func (b *backoff) setBase(d time.Duration) { b.base, b.next = d, d }

// wait is the coming wait; false when there were enough.
func (b *backoff) wait() (d time.Duration, more bool) {
	if b.count >= b.countMax {
		return 0, false
	}
	d = b.next
	b.count++
	b.next = min(time.Duration(float64(d)*b.scaler), b.max)
	return d, true
}
