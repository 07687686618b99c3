// SPDX-License-Identifier: MIT

package clienttest

import (
	"context"
	"net/http"
	"time"
)

// Config says how a tab opens its stream. Only URL is required.
type Config struct {
	URL     string
	Signals string // JSON that goes along as the query parameter; "": {}

	Retry    Retry
	Interval time.Duration // the first wait; 0: 1 s
	Scaler   float64       // how waits grow; 0: 2
	MaxWait  time.Duration // the longest; 0: 30 s
	MaxCount int           // waits in a row; 0: 10; negative: none

	OpenWhenHidden bool // keep the stream in a hidden tab

	// Sleep waits, and returns early when ctx ends; nil: for the time it is told.
	Sleep  func(ctx context.Context, d time.Duration)
	Client *http.Client // nil: one of its own, that keeps no connection
}

func (c *Config) backoff() backoff {
	b := backoff{base: c.Interval, scaler: c.Scaler, max: c.MaxWait, countMax: max(c.MaxCount, 0)}
	if b.base <= 0 {
		b.base = time.Second
	}
	if b.scaler <= 0 {
		b.scaler = 2
	}
	if b.max <= 0 {
		b.max = 30 * time.Second
	}
	if c.MaxCount == 0 {
		b.countMax = 10
	}
	b.reset()
	return b
}
