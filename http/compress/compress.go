// SPDX-License-Identifier: MIT

package compress

import (
	"net/http"
	"strings"
	"sync/atomic"

	"m0serve.dev/http/negotiate"
)

// The codings there are.
const (
	Zstd = "zstd"
	Gzip = "gzip"
)

const (
	minBytesDefault = 1024
	codersDefault   = 64
)

// A Config says what is coded. The zero value is ready.
type Config struct {
	// Codings are offered in this order; nil: Zstd, Gzip.
	Codings []string
	// MinBytes is the shortest body that is coded; 0: 1024; 1 or less: any. So much of an answer is
	// kept back at most.
	MinBytes int
	// Types are media types, or their beginnings up to the slash ("text/"), that are
	// coded; nil: text, and what is text under another name: JSON, XML, JavaScript,
	// SVG, WebAssembly, uncompressed fonts.
	Types []string
	// Streams codes event streams, too: each one has a coder while it lasts.
	Streams bool
	// Coders bounds those at work; 0: 64.
	Coders int
}

// A Compressor codes answers. Its methods may be called from any goroutine.
type Compressor struct {
	cfg   Config
	pools map[string]*pool
	vary  []string // shared, with no room behind it
	busy  atomic.Int64

	coded, full atomic.Uint64
}

// New makes a Compressor. It panics when cfg names a coding that there is not.
func New(cfg Config) *Compressor {
	if cfg.Codings == nil {
		cfg.Codings = []string{Zstd, Gzip}
	}
	if cfg.MinBytes == 0 {
		cfg.MinBytes = minBytesDefault
	}
	cfg.MinBytes = max(cfg.MinBytes, 1)
	if cfg.Coders == 0 {
		cfg.Coders = codersDefault
	}
	c := &Compressor{cfg: cfg, pools: map[string]*pool{}, vary: []string{"Accept-Encoding"}}
	for _, coding := range cfg.Codings {
		c.pools[coding] = newPool(coding)
	}
	return c
}

// Stats are the counters of a Compressor.
type Stats struct {
	Coded uint64 // answers that were coded
	Full  uint64 // answers that were not, because all coders were at work
	Busy  int    // coders at work now
}

// Stats returns the counters.
func (c *Compressor) Stats() Stats {
	return Stats{Coded: c.coded.Load(), Full: c.full.Load(), Busy: int(c.busy.Load())}
}

// Wrap codes the answers of next.
func (c *Compressor) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{Compressor: c, under: w, head: r.Method == http.MethodHead, declared: -1}
		accept := r.Header["Accept-Encoding"]
		a.coding, _ = negotiate.Encoding(accept, c.cfg.Codings...)
		_, plain := negotiate.Encoding(accept)
		a.forced = !plain
		defer a.release() // what a panic leaves is no whole answer
		next.ServeHTTP(a, r)
		a.finish()
	})
}

// isWorthIt reports whether bodies of this content type become shorter.
func (c *Config) isWorthIt(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == eventStream {
		return c.Streams
	}
	if c.Types != nil {
		for _, t := range c.Types {
			if kind == t || strings.HasSuffix(t, "/") && strings.HasPrefix(kind, t) {
				return true
			}
		}
		return false
	}
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") ||
		strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/wasm",
		"application/x-javascript", "application/manifest", "application/x-ndjson",
		"application/openmetrics-text", "application/graphql", "application/sql",
		"font/ttf", "font/otf", "application/vnd.ms-fontobject", "image/bmp", "image/x-icon":
		return true
	}
	return false
}

const eventStream = "text/event-stream"
