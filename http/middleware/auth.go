// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
)

// A Principal is who a request is made by.
type Principal struct {
	Name   string
	Scheme string // Bearer, Basic or ApiKey
}

// PrincipalOf is the principal of the request with this context; ok is false
// where Auth let it through without one, or is not around it.
func PrincipalOf(ctx context.Context) (p Principal, ok bool) {
	held, ok := ctx.Value(principalKey{}).(*Principal)
	if !ok {
		return p, false
	}
	return *held, true
}

type principalKey struct{}

// A principalContext holds the principal without a value of its own.
type principalContext struct {
	context.Context
	p Principal
}

// Value implements context.Context.
func (c *principalContext) Value(key any) any {
	if _, ok := key.(principalKey); ok {
		return &c.p
	}
	return c.Context.Value(key)
}

// An authorized request and its context are one piece of memory.
type authorized struct {
	ctx principalContext
	r   http.Request
}

// Auth lets through who shows what one of its schemes knows.
type Auth struct {
	Schemes []Scheme // the first one that the request speaks to decides
	Realm   string   // "" is the host's default, "restricted"
	// Optional lets requests through that show nothing at all, without a
	// principal; what is wrong is refused all the same.
	Optional bool
	// GuardOnly tells next nothing of the principal, which saves a copy of the request:
	// for files and figures, say, that are the same for all who may have them.
	GuardOnly bool
	// Allow decides what a principal may do; false is 403. nil: everything.
	Allow func(p Principal, r *http.Request) bool
	Log   *slog.Logger // checks that could not be made; nil is slog.Default
}

// Wrap answers 401 with a challenge of each scheme to who shows nothing or what
// is wrong, 403 to who may not, and 503 when a check could not be made, all as
// problem documents. The principal of who passes is in the context. What was
// shown is in no log and no answer; a key in the query is taken off the URL that
// next sees. Wrap fails where there is no scheme, or one that cannot work.
func (a Auth) Wrap(next http.Handler) (http.Handler, error) {
	if len(a.Schemes) == 0 {
		return nil, errors.New("middleware: Auth without a scheme lets nobody in")
	}
	if a.Log == nil {
		a.Log = slog.Default()
	}
	realm, err := quote(orDefault(a.Realm, "restricted"))
	if err != nil {
		return nil, err
	}
	var challenges []string
	for _, s := range a.Schemes {
		if err := s.valid(); err != nil {
			return nil, err
		}
		challenges = append(challenges, s.challenge(realm))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range a.Schemes {
			s := &a.Schemes[i]
			shown, is := s.find(r)
			if !is {
				continue
			}
			name, err := s.decide(r.Context(), shown)
			switch {
			case err != nil:
				a.Log.LogAttrs(r.Context(), slog.LevelError, "middleware: a check of credentials",
					slog.String("scheme", s.name), slog.Any("error", err))
				WriteProblem(w, r, Problem{Status: http.StatusServiceUnavailable})
			case name == "":
				refuse(w, r, challenges, s.name == bearer)
			default:
				inner := s.without(r)
				a.pass(w, inner, next, Principal{name, s.name})
				r.Pattern = inner.Pattern
			}
			return
		}
		if a.Optional && len(r.Header["Authorization"]) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		refuse(w, r, challenges, false)
	}), nil
}

func (a *Auth) pass(w http.ResponseWriter, r *http.Request, next http.Handler, p Principal) {
	if a.Allow != nil && !a.Allow(p, r) {
		WriteProblem(w, r, Problem{Status: http.StatusForbidden})
		return
	}
	if a.GuardOnly {
		next.ServeHTTP(w, r)
		return
	}
	inner := &authorized{ctx: principalContext{r.Context(), p}}
	inner.r = *r.WithContext(&inner.ctx)
	next.ServeHTTP(w, &inner.r)
	r.Pattern = inner.r.Pattern
}

// refuse answers 401. invalid tells a client whose token is not good, or not any
// more, to get another one (RFC 6750 section 3.1).
func refuse(w http.ResponseWriter, r *http.Request, challenges []string, invalid bool) {
	h := w.Header()
	for _, c := range challenges {
		if invalid && len(c) > len(bearer) && c[:len(bearer)] == bearer {
			c += `, error="invalid_token"`
		}
		h.Add("WWW-Authenticate", c)
	}
	WriteProblem(w, r, Problem{Status: http.StatusUnauthorized})
}
