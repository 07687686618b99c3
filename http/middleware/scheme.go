// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash/maphash"
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
	value, n := values[0], len(s.name)
	if len(value) < n || value[:n] != s.name && !strings.EqualFold(value[:n], s.name) ||
		len(value) > n && value[n] != ' ' {
		return "", false
	}
	if len(values) > 1 {
		return "", true
	}
	return strings.Trim(value[n:], " "), true
}

func once(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (s *Scheme) findInQuery(query string) (shown string, is bool) {
	if query == "" {
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
	pair, ok := decodePair(shown)
	if !ok {
		return "", nil
	}
	user, password, ok := strings.Cut(pair, ":")
	if !ok {
		return "", nil
	}
	return s.password(ctx, user, password)
}

// decodePair gives the text that base64 says (RFC 7617 section 2).
func decodePair(shown string) (pair string, ok bool) {
	var text, room [128]byte
	decoded, err := base64.StdEncoding.AppendDecode(room[:0], append(text[:0], shown...))
	if err != nil {
		return "", false
	}
	high := byte(0)
	for _, c := range decoded {
		if c < ' ' || c == 0x7f {
			return "", false
		}
		high |= c
	}
	return string(decoded), high < utf8.RuneSelf || utf8.Valid(decoded)
}

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
	known := newSecrets()
	for secret, name := range names {
		known.add("", secret, name)
	}
	return func(_ context.Context, secret string) (string, error) {
		return known.find("", secret, equalSums), nil
	}
}

// Passwords is a PasswordCheck by a table of passwords by users; see Secrets.
func Passwords(passwords map[string]string) PasswordCheck {
	known := newSecrets()
	for user, password := range passwords {
		known.add(user, password, user)
	}
	return func(_ context.Context, user, password string) (string, error) {
		return known.find(user, password, equalSums), nil
	}
}

// secrets are compared by sums, which are of one length, under keys that nobody
// knows and that every start draws anew: how long it takes says nothing about a
// secret. The sums are not cryptographic, so what they find is compared itself.
type secrets struct {
	userKey, secretKey maphash.Seed

	all []secret
}

// A secret is one that lets somebody in.
type secret struct {
	sum                uint64
	user, secret, name string // user is "" where there is none
}

func newSecrets() *secrets {
	return &secrets{userKey: maphash.MakeSeed(), secretKey: maphash.MakeSeed()}
}

func (known *secrets) add(user, text, name string) {
	if text == "" || name == "" {
		panic("middleware: an empty secret, or one of nobody")
	}
	known.all = append(known.all, secret{known.sum(user, text), user, text, name})
}

// sum takes as long as what was shown is long.
func (known *secrets) sum(user, text string) uint64 {
	sum := maphash.String(known.secretKey, text)
	if user == "" {
		return sum
	}
	return sum ^ maphash.String(known.userKey, user)
}

func equalSums(a, b uint64) bool { return a == b }

// find compares with all of them.
func (known *secrets) find(user, text string, equal func(a, b uint64) bool) (name string) {
	sum := known.sum(user, text)
	for i := range known.all {
		if k := &known.all[i]; equal(k.sum, sum) && k.is(user, text) {
			name = k.name
		}
	}
	return name
}

// is reports whether the secret is this one, in a time that depends on no byte of it.
func (k *secret) is(user, text string) bool {
	return subtle.ConstantTimeCompare([]byte(k.secret), []byte(text)) == 1 && k.user == user
}
