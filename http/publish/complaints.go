// SPDX-License-Identifier: MIT

package publish

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// quietFor is the least time between two log lines about wrong publishers.
const quietFor = 10 * time.Second

// loaded is what uptime is counted from.
var loaded = time.Now()

// uptime is a monotonic time in nanoseconds, never 0: who sets the wall clock makes
// nobody idle for an hour, and no log silent for one.
func uptime() int64 { return int64(time.Since(loaded)) + 1 }

// complaints tell the log what publishers did, not each time.
type complaints struct {
	log  *slog.Logger
	said atomic.Int64 // when the last one was, as uptime; 0: never
}

func (c *complaints) complain(what string, err error, more ...any) {
	last, now := c.said.Load(), uptime()
	if last != 0 && now-last < int64(quietFor) || !c.said.CompareAndSwap(last, now) {
		return
	}
	c.log.Warn("publish: "+what, append([]any{"err", err}, more...)...)
}
