// SPDX-License-Identifier: MIT

package publish

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// quietFor is the least time between two log lines about wrong publishers.
const quietFor = 10 * time.Second

// complaints tell the log what publishers did, not each time.
type complaints struct {
	log  *slog.Logger
	said atomic.Int64 // UnixNano of the last one
}

func (c *complaints) complain(what string, err error, more ...any) {
	last, now := c.said.Load(), time.Now().UnixNano()
	if last != 0 && now-last < int64(quietFor) || !c.said.CompareAndSwap(last, now) {
		return
	}
	c.log.Warn("publish: "+what, append([]any{"err", err}, more...)...)
}
