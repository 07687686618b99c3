// SPDX-License-Identifier: MIT

package cache

import (
	"log/slog"
	"net/http"
	"time"
)

// Config says how much is kept and for how long. The zero value is useful.
type Config struct {
	MaxBytes   int64 // bodies, fields and keys; 0 is 64 MiB
	MaxEntries int   // 0 is 16,384
	MaxBody    int   // the longest body that is kept; 0 is 1 MiB

	// Key names what a GET asks for. nil is its URL: scheme, host, path and
	// query. Requests with one key get one answer, apart from Vary.
	Key func(*http.Request) string
	// Freshness is for a 200 that does not say how long it is good, to a request
	// with neither Cookie nor Authorization. 0: such an answer is not kept.
	Freshness time.Duration
	// StaleWhileRevalidate and StaleIfError are for answers that do not say them.
	StaleWhileRevalidate, StaleIfError time.Duration
	// TagField names the field in which an answer lists its tags, separated by
	// commas or spaces; it does not reach the client. "" is Cache-Tag.
	TagField string
	// PassFor is how long nobody waits for an answer whose last one could not be
	// shared; 0 is 5 s.
	PassFor time.Duration
	// Refreshes bounds how many stale answers are renewed at a time behind their
	// clients' backs, RefreshTimeout each; 0 is 16, and 30 s.
	Refreshes      int
	RefreshTimeout time.Duration
	Log            *slog.Logger // panics that a stale answer covered; nil is slog.Default
}

func (cfg Config) filled() Config {
	cfg.MaxBytes = orDefault(cfg.MaxBytes, 64<<20)
	cfg.MaxEntries = orDefault(cfg.MaxEntries, 16<<10)
	cfg.MaxBody = orDefault(cfg.MaxBody, 1<<20)
	cfg.TagField = http.CanonicalHeaderKey(orDefault(cfg.TagField, "Cache-Tag"))
	cfg.PassFor = orDefault(cfg.PassFor, 5*time.Second)
	cfg.Refreshes = orDefault(cfg.Refreshes, 16)
	cfg.RefreshTimeout = orDefault(cfg.RefreshTimeout, 30*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return cfg
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
