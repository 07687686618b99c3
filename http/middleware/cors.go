// SPDX-License-Identifier: MIT

package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// CORS says which pages of other origins may use the answers (Fetch standard,
// section "CORS protocol"). It keeps no request from the handler: what a page may
// not read is still done, so it is no protection of writes.
type CORS struct {
	// Origins are those that may: "https://a.example", exactly as a browser sends
	// it; "https://*.a.example" for all hosts below that one; "null" for pages
	// without an origin, which any page can have made; "*" for all.
	Origins []string
	// Allow decides on an origin that is not listed; nil: no.
	Allow func(origin string, r *http.Request) bool
	// Credentials lets them send cookies and the like. It does not go with "*",
	// anywhere here.
	Credentials bool
	Methods     []string      // beside GET, HEAD and POST, which need no leave
	Headers     []string      // fields of requests, beside those that need no leave; "*"
	Expose      []string      // fields of answers that they may read; "*"
	MaxAge      time.Duration // how long a preflight is good; 0: what the browser likes
	// PrivateNetwork answers pages of the public network that ask for a host of a
	// private one. It is said to nobody who does not ask.
	PrivateNetwork bool
}

// A cors is a CORS with all that can be made at start. The values are shared by
// all answers and have no room behind them, so that appending copies.
type cors struct {
	CORS
	all      bool
	exact    map[string]bool
	patterns []originPattern

	star, yes, methods, headers, expose, maxAge, vary []string
}

// An originPattern is scheme and all behind the star: "https://", ".a.example".
type originPattern struct{ scheme, below string }

// Wrap adds what the origin of a request may know to every answer of next, and
// answers preflights itself: 204, or 403 to an origin that may not. It fails on
// settings that contradict themselves or can fit nothing.
//
// An answer that depends on the origin says so in Vary, also to requests without
// one, as caches need it. For "*" it does not depend, and every answer is the
// same. All else of a request without an origin is untouched.
func (c CORS) Wrap(next http.Handler) (http.Handler, error) {
	p, err := c.prepare()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		origins := r.Header["Origin"]
		switch {
		case p.all:
			h["Access-Control-Allow-Origin"] = p.star
		case len(h["Vary"]) == 0:
			h["Vary"] = p.vary
		default:
			addVary(h, "Origin")
		}
		if len(origins) != 1 {
			next.ServeHTTP(w, r)
			return
		}
		allowed := p.all || p.allows(origins[0], r)
		if r.Method == http.MethodOptions && len(r.Header["Access-Control-Request-Method"]) == 1 {
			p.preflight(w, r, origins, allowed)
			return
		}
		if allowed {
			p.allow(h, origins)
			if p.expose != nil {
				h["Access-Control-Expose-Headers"] = p.expose
			}
		}
		next.ServeHTTP(w, r)
	}), nil
}

func (c CORS) prepare() (*cors, error) {
	p := &cors{
		CORS: c, exact: make(map[string]bool),
		star: []string{"*"}, yes: []string{"true"}, vary: []string{"Origin"},
	}
	for _, o := range c.Origins {
		if err := p.addOrigin(o); err != nil {
			return nil, err
		}
	}
	lists := []struct {
		name  string
		items []string
		to    *[]string
	}{
		{"Methods", c.Methods, &p.methods}, {"Headers", c.Headers, &p.headers},
		{"Expose", c.Expose, &p.expose},
	}
	for _, list := range lists {
		for _, item := range list.items {
			if !wire.ValidName(item) {
				return nil, fmt.Errorf("middleware: CORS.%s: %q is no name", list.name, item)
			}
		}
		if c.Credentials && slices.Contains(list.items, "*") {
			return nil, fmt.Errorf(`middleware: CORS.%s: "*" does not go with Credentials`, list.name)
		}
		if len(list.items) > 0 {
			*list.to = []string{strings.Join(list.items, ", ")}
		}
	}
	switch {
	case c.Credentials && p.all:
		return nil, errors.New(`middleware: CORS.Origins: "*" does not go with Credentials`)
	case p.all && (len(c.Origins) > 1 || c.Allow != nil):
		return nil, errors.New(`middleware: CORS.Origins: "*" leaves nothing to say for others`)
	case len(c.Origins) == 0 && c.Allow == nil:
		return nil, errors.New("middleware: CORS allows no origin")
	case c.MaxAge < 0:
		return nil, fmt.Errorf("middleware: CORS.MaxAge: %v", c.MaxAge)
	case c.MaxAge > 0:
		p.maxAge = []string{strconv.FormatInt(int64(c.MaxAge/time.Second), 10)}
	}
	return p, nil
}

// addOrigin takes one of Origins, which has to be as a browser sends it.
func (p *cors) addOrigin(o string) error {
	scheme, host, ok := strings.Cut(o, "://")
	below, pattern := strings.CutPrefix(host, "*.")
	switch {
	case o == "*":
		p.all = true
		return nil
	case o == "null":
	case !ok || scheme == "" || below == "" || o != strings.ToLower(o) ||
		strings.ContainsAny(below, "/*?#@, ") || strings.Contains(scheme, "*"):
		return fmt.Errorf("middleware: CORS.Origins: %q is no origin such as https://a.example", o)
	case scheme == "https" && strings.HasSuffix(host, ":443"),
		scheme == "http" && strings.HasSuffix(host, ":80"):
		return fmt.Errorf("middleware: CORS.Origins: %q: a browser leaves its port out", o)
	case pattern && !strings.Contains(below, "."):
		return fmt.Errorf("middleware: CORS.Origins: %q is the whole of a top-level domain", o)
	case pattern:
		p.patterns = append(p.patterns, originPattern{scheme + "://", "." + below})
		return nil
	}
	p.exact[o] = true
	return nil
}

func (p *cors) allows(origin string, r *http.Request) bool {
	if p.exact[origin] {
		return true
	}
	for _, t := range p.patterns {
		host, ok := strings.CutPrefix(origin, t.scheme)
		if ok && len(host) > len(t.below) && strings.HasSuffix(host, t.below) &&
			!strings.ContainsAny(host, "/@?# ") {
			return true
		}
	}
	return p.Allow != nil && p.Allow(origin, r)
}

// allow says that the origin may. The values of a request are taken over, since
// they live as long as it.
func (p *cors) allow(h http.Header, origin []string) {
	if !p.all {
		h["Access-Control-Allow-Origin"] = origin[:1:1]
	}
	if p.Credentials {
		h["Access-Control-Allow-Credentials"] = p.yes
	}
}

// preflight answers in the place of the handler.
func (p *cors) preflight(w http.ResponseWriter, r *http.Request, origin []string, allowed bool) {
	if !allowed {
		WriteProblem(w, r, Problem{
			Status: http.StatusForbidden, Detail: "this origin may not use the answers from a page",
		})
		return
	}
	h := w.Header()
	p.allow(h, origin)
	for _, f := range [...]struct {
		name  string
		value []string
	}{
		{"Access-Control-Allow-Methods", p.methods},
		{"Access-Control-Allow-Headers", p.headers},
		{"Access-Control-Max-Age", p.maxAge},
	} {
		if f.value != nil {
			h[f.name] = f.value
		}
	}
	if p.PrivateNetwork && r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h["Access-Control-Allow-Private-Network"] = p.yes
	}
	w.WriteHeader(http.StatusNoContent)
}
