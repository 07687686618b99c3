// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// varyMax bounds the fields that an answer that is kept may depend on.
const varyMax = 8

// secondsMax is the longest time a directive can say (RFC 9111 section 1.2.2).
const secondsMax = 1 << 31

// directives are what Cache-Control says. Times that are not said are -1.
type directives struct {
	noStore, noCache, private, public, mustRevalidate, onlyIfCached bool

	maxAge, sharedMaxAge, staleWhile, staleIfError time.Duration
}

func parseDirectives(lines []string) directives {
	d := directives{maxAge: -1, sharedMaxAge: -1, staleWhile: -1, staleIfError: -1}
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = nextDirective(line)
			d.set(strings.ToLower(name), value)
		}
	}
	return d
}

// nextDirective cuts one directive off; a comma in a quoted value ends nothing, and
// neither does a quote behind a backslash there (RFC 9110 section 5.6.4).
func nextDirective(line string) (name, value, rest string) {
	end, quoted := 0, false
	for ; end < len(line) && (quoted || line[end] != ','); end++ {
		switch {
		case line[end] == '"':
			quoted = !quoted
		case quoted && line[end] == '\\' && end+1 < len(line):
			end++
		}
	}
	rest = strings.TrimPrefix(line[end:], ",")
	name, value, _ = strings.Cut(line[:end], "=")
	return strings.Trim(name, " \t"), strings.Trim(value, " \t\""), rest
}

// set takes one directive. no-cache and private with names of fields are taken
// for the whole, which RFC 9111 section 5.2.2.4 allows.
func (d *directives) set(name, value string) {
	switch name {
	case "no-store":
		d.noStore = true
	case "no-cache":
		d.noCache = true
	case "private":
		d.private = true
	case "public":
		d.public = true
	case "must-revalidate", "proxy-revalidate":
		d.mustRevalidate = true
	case "only-if-cached":
		d.onlyIfCached = true
	case "max-age":
		d.maxAge = least(d.maxAge, value)
	case "s-maxage":
		d.sharedMaxAge = least(d.sharedMaxAge, value)
	case "stale-while-revalidate":
		d.staleWhile = least(d.staleWhile, value)
	case "stale-if-error":
		d.staleIfError = least(d.staleIfError, value)
	}
}

// least is the lesser of what was said twice; what is no number is 0 (RFC 9111
// section 4.2.1).
func least(old time.Duration, value string) time.Duration {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil && !isOverflow(value) {
		n = 0
	} else if err != nil || n > secondsMax {
		n = secondsMax
	}
	if said := time.Duration(n) * time.Second; old < 0 || said < old {
		return said
	}
	return old
}

func isOverflow(value string) bool {
	return value != "" && strings.Trim(value, "0123456789") == ""
}

// kept are the statuses that may be kept where the answer says for how long.
var kept = [...]int{
	http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusNoContent,
	http.StatusMultipleChoices, http.StatusMovedPermanently, http.StatusFound,
	http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	http.StatusNotFound, http.StatusGone,
}

// A lifetime is for how long an answer is good, from the moment it was made.
type lifetime struct {
	made                            time.Time
	fresh, staleWhile, staleIfError time.Duration
}

// lifetimeOf applies RFC 9111 section 3: ok is false for what is not kept. own
// are the fields that the handler has set.
func (cfg *Config) lifetimeOf(
	r *http.Request, status int, own fields, now time.Time,
) (l lifetime, ok bool) {
	d := parseDirectives(own.of("Cache-Control"))
	authorized := len(r.Header["Authorization"]) > 0
	switch {
	case !slices.Contains(kept[:], status),
		d.noStore, d.noCache, d.private,
		authorized && !d.public && d.sharedMaxAge < 0 && !d.mustRevalidate,
		len(own.of("Set-Cookie")) > 0, len(own.of("Content-Range")) > 0, len(own.of("Trailer")) > 0,
		len(own.of("Transfer-Encoding")) > 0,
		strings.HasPrefix(own.get("Content-Type"), "text/event-stream"):
		return l, false
	}
	if said := own.get("Content-Length"); said != "" {
		if n, err := strconv.Atoi(said); err == nil && n > cfg.MaxBody {
			return l, false
		}
	}
	l.made = now
	if said := own.get("Age"); said != "" {
		l.made = now.Add(-least(-1, said))
	}
	l.fresh = d.freshness(own, now)
	if l.fresh < 0 {
		if cfg.Freshness == 0 || status != http.StatusOK || authorized ||
			len(r.Header["Cookie"]) > 0 {
			return l, false
		}
		l.fresh = cfg.Freshness
	}
	if !d.mustRevalidate {
		l.staleWhile = orElse(d.staleWhile, cfg.StaleWhileRevalidate)
		l.staleIfError = orElse(d.staleIfError, cfg.StaleIfError)
	}
	return l, l.fresh+max(l.staleWhile, l.staleIfError) > now.Sub(l.made)
}

// freshness is RFC 9111 section 4.2.1 for a shared cache; -1 for nothing said.
func (d *directives) freshness(own fields, now time.Time) time.Duration {
	expires := own.of("Expires")
	switch {
	case d.sharedMaxAge >= 0:
		return d.sharedMaxAge
	case d.maxAge >= 0:
		return d.maxAge
	case len(expires) == 0:
		return -1
	}
	at, err := http.ParseTime(expires[0])
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(own.get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}

func orElse(said, fallback time.Duration) time.Duration {
	if said >= 0 {
		return said
	}
	return fallback
}

// varyOf gives the names in Vary, canonical and sorted; ok is false where an
// answer depends on more than can be compared.
func varyOf(own fields) (names []string, ok bool) {
	for _, line := range own.of("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.Trim(name, " \t"); name {
			case "":
			case "*":
				return nil, false
			default:
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, len(names) <= varyMax
}

// A way is what the cache does with a request.
type way uint8

const (
	past     way = iota // hands it on
	changes             // hands it on, and forgets what it changes
	asks                // looks for it
	onlyAsks            // looks for it and nothing else
)

// wayOf sorts requests.
func wayOf(r *http.Request) way {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions, http.MethodTrace:
		return past
	default:
		return changes
	}
	h := r.Header
	if r.ContentLength != 0 || len(h["Range"]) > 0 || len(h["If-Match"]) > 0 ||
		len(h["If-Unmodified-Since"]) > 0 || len(h["Upgrade"]) > 0 {
		return past
	}
	if lines := h["Cache-Control"]; len(lines) > 0 {
		switch d := parseDirectives(lines); {
		case d.noStore:
			return past
		case d.onlyIfCached:
			return onlyAsks
		}
	}
	return asks
}
