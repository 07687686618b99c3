// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"m0serve.dev/http/wire"
)

// The names of schemes.
const (
	bearer = "Bearer"
	basic  = "Basic"
	apiKey = "ApiKey"
)

// A Check tells whose secret it is, "" for nobody's. An error is for a check
// that could not be made, and must not hold the secret.
type Check func(ctx context.Context, secret string) (name string, err error)

// A PasswordCheck tells whether user and password are a pair, by the name of the
// principal; see Check.
type PasswordCheck func(ctx context.Context, user, password string) (name string, err error)

// A Scheme is one way of showing who one is. Bearer, Basic, APIKeyField and
// APIKeyQuery make them.
type Scheme struct {
	name     string
	field    string // of an API key, or its parameter
	inQuery  bool
	check    Check
	password PasswordCheck
}

// Bearer is a token in Authorization (RFC 6750 section 2.1).
func Bearer(check Check) Scheme { return Scheme{name: bearer, check: check} }

// Basic is user and password, in UTF-8 (RFC 7617).
func Basic(check PasswordCheck) Scheme { return Scheme{name: basic, password: check} }

// APIKeyField is a secret in a field of the request, such as X-Api-Key.
func APIKeyField(field string, check Check) Scheme {
	return Scheme{name: apiKey, field: http.CanonicalHeaderKey(field), check: check}
}

// APIKeyQuery is a secret in a parameter of the query, for clients that can do
// no better: proxies and browsers write URLs down.
func APIKeyQuery(parameter string, check Check) Scheme {
	return Scheme{name: apiKey, field: parameter, inQuery: true, check: check}
}

func (s *Scheme) valid() error {
	switch {
	case s.check == nil && s.password == nil:
		return fmt.Errorf("middleware: Auth: scheme %q without a check", s.name)
	case s.name == apiKey && (s.field == "" || !s.inQuery && !wire.ValidName(s.field)):
		return fmt.Errorf("middleware: Auth: %q names no place of an API key", s.field)
	}
	_, err := quote(s.field)
	return err
}

// challenge is what a 401 says of the scheme (RFC 9110 section 11.6.1).
func (s *Scheme) challenge(realm string) string {
	c := s.name + " realm=" + realm
	switch {
	case s.name == basic:
		c += `, charset="UTF-8"`
	case s.name == apiKey:
		place, _ := quote(s.field) // valid has looked
		if s.inQuery {
			return c + ", parameter=" + place
		}
		return c + ", field=" + place
	}
	return c
}

// quote makes a quoted string.
func quote(s string) (string, error) {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", fmt.Errorf("middleware: Auth: %q cannot stand in a challenge", s)
		}
	}
	return `"` + s + `"`, nil
}

// find gives what the request shows for the scheme. Something that is shown
// twice is shown, and nobody's.
func (s *Scheme) find(r *http.Request) (shown string, is bool) {
	if s.inQuery {
		return s.findInQuery(r.URL.RawQuery)
	}
	field := "Authorization"
	if s.name == apiKey {
		field = s.field
	}
	values := r.Header[field]
	if len(values) == 0 {
		return "", false
	}
	if s.name == apiKey {
		return once(values), true
	}
	name, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(name, s.name) {
		return "", false
	}
	if len(values) > 1 {
		return "", true
	}
	return strings.Trim(rest, " "), true
}

func once(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (s *Scheme) findInQuery(query string) (shown string, is bool) {
	if !strings.Contains(query, "=") {
		return "", false
	}
	values, _ := url.ParseQuery(query) // what is malformed is left out
	all, is := values[s.field]
	return once(all), is
}

// decide asks the check.
func (s *Scheme) decide(ctx context.Context, shown string) (name string, err error) {
	if shown == "" {
		return "", nil
	}
	if s.name != basic {
		return s.check(ctx, shown)
	}
	decoded, err := base64.StdEncoding.DecodeString(shown)
	pair := string(decoded)
	if err != nil || !utf8.ValidString(pair) {
		return "", nil
	}
	user, password, ok := strings.Cut(pair, ":")
	if !ok || strings.ContainsFunc(pair, isControl) {
		return "", nil // RFC 7617 section 2
	}
	return s.password(ctx, user, password)
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// without is r without a key in its query.
func (s *Scheme) without(r *http.Request) *http.Request {
	if !s.inQuery {
		return r
	}
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || plain != s.field {
			kept = append(kept, part)
		}
	}
	inner, u := *r, *r.URL
	u.RawQuery = strings.Join(kept, "&")
	inner.URL, inner.RequestURI = &u, u.RequestURI()
	return &inner
}

// Secrets is a Check by a table of names by their secrets. Every secret of the
// table is compared, each in the same time, whatever was shown.
func Secrets(names map[string]string) Check {
	known := makeSecrets(names)
	return func(_ context.Context, secret string) (string, error) {
		return known.find(secret, subtle.ConstantTimeCompare), nil
	}
}

// Passwords is a PasswordCheck by a table of passwords by users; see Secrets.
func Passwords(passwords map[string]string) PasswordCheck {
	names := make(map[string]string, len(passwords))
	for user, password := range passwords {
		if user == "" || password == "" {
			panic("middleware: an empty password, or one of nobody")
		}
		names[user+"\x00"+password] = user
	}
	known := makeSecrets(names)
	return func(_ context.Context, user, password string) (string, error) {
		return known.find(user+"\x00"+password, subtle.ConstantTimeCompare), nil
	}
}

// secrets are hashes, so that all are of one length.
type secrets []struct {
	sum  [sha256.Size]byte
	name string
}

func makeSecrets(names map[string]string) secrets {
	known := make(secrets, 0, len(names))
	for secret, name := range names {
		if secret == "" || name == "" {
			panic("middleware: an empty secret, or one of nobody")
		}
		known = append(known, secrets{{sha256.Sum256([]byte(secret)), name}}...)
	}
	return known
}

// find compares with all of them.
func (known secrets) find(secret string, equal func(a, b []byte) int) (name string) {
	sum := sha256.Sum256([]byte(secret))
	for i := range known {
		if equal(sum[:], known[i].sum[:]) == 1 {
			name = known[i].name
		}
	}
	return name
}
