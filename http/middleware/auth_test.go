// SPDX-License-Identifier: MIT

package middleware

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func pair(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// guarded is a handler behind all schemes, which answers who was let in, and by
// what URL.
func guarded(t *testing.T, a Auth) http.Handler {
	t.Helper()
	a.Schemes = []Scheme{
		Bearer(Secrets(map[string]string{"t0ken": "robot", "other": "second"})),
		Basic(Passwords(map[string]string{"ann": "pass:word", "jürgen": "schlüssel"})),
		APIKeyField("x-api-key", Secrets(map[string]string{"fieldkey": "machine"})),
		APIKeyQuery("key", Secrets(map[string]string{"query key": "link"})),
	}
	h, err := a.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := PrincipalOf(r.Context())
		if !ok {
			p.Name = "nobody"
		}
		w.Header().Set("X-Url", r.RequestURI+" "+r.URL.String())
		_, _ = w.Write([]byte(p.Name + " " + p.Scheme))
	}))
	if err != nil {
		t.Fatalf("Auth.Wrap: %v", err)
	}
	return h
}

func TestAuth(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := RequestID{}.Wrap(AccessLog(log, guarded(t, Auth{Log: log, Realm: "notes"})))
	for _, c := range []struct {
		target, fields string
		want           string // "": 401
	}{
		{"/", "", ""},
		{"/", "Authorization: Bearer t0ken", "robot Bearer"},
		{"/", "Authorization: bearer  other", "second Bearer"},
		{"/", "Authorization: Bearer t0keN", ""},
		{"/", "Authorization: Bearer t0ke", ""},
		{"/", "Authorization: Bearer t0ken2", ""},
		{"/", "Authorization: Bearer ", ""},
		{"/", "Authorization: Bearer", ""},
		{"/", "Authorization: t0ken", ""},
		{"/", "Authorization: Digest t0ken", ""},
		{"/", "Authorization: Bearer t0ken|Authorization: Bearer t0ken", ""},
		{"/", "Authorization: Basic " + pair("ann:pass:word"), "ann Basic"},
		{"/", "Authorization: BASIC " + pair("jürgen:schlüssel"), "jürgen Basic"},
		{"/", "Authorization: Basic " + pair("ann:pass"), ""},
		{"/", "Authorization: Basic " + pair("ann:"), ""},
		{"/", "Authorization: Basic " + pair("ann"), ""},
		{"/", "Authorization: Basic " + pair("ann\x00pass:word"), ""},
		{"/", "Authorization: Basic " + pair("j\xfcrgen:schl\xfcssel"), ""}, // Latin-1
		{"/", "Authorization: Basic pass:word", ""},
		{"/", "X-Api-Key: fieldkey", "machine ApiKey"},
		{"/", "X-Api-Key: t0ken", ""},
		{"/", "X-Api-Key: fieldkey|X-Api-Key: fieldkey", ""},
		{"/?key=query+key", "", "link ApiKey"},
		{"/?a=b&k%65y=query%20key&c", "", "link ApiKey"},
		{"/?key=fieldkey", "", ""},
		{"/?key=query+key&key=query+key", "", ""},
		{"/?other=query+key", "", ""},
		// Several: the first scheme that is spoken to decides.
		{"/?key=query+key", "Authorization: Bearer t0ken", "robot Bearer"},
		{"/?key=query+key", "Authorization: Bearer wrong", ""},
		{"/?key=wrong", "X-Api-Key: fieldkey", "machine ApiKey"},
	} {
		w := call(h, "GET", c.target, c.fields)
		want := c.want
		if want == "" {
			if w.Code != 401 || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s with %q = %d %s; want a problem with 401", c.target, c.fields, w.Code, w.Body)
			}
			continue
		}
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s with %q = %d %s; want %s", c.target, c.fields, w.Code, w.Body, want)
		}
		if url := w.Header().Get("X-Url"); strings.HasSuffix(want, "link ApiKey") &&
			(strings.Contains(url, "query") || strings.Contains(c.target, "a=b") &&
				url != "/?a=b&c /?a=b&c") {
			t.Errorf("%s: the handler sees %q; want the URL without the key", c.target, url)
		}
	}
	for _, secret := range []string{
		"t0ken", "other", "pass:word", "schlüssel", "fieldkey", "query", "wrong",
		pair("ann:pass:word"), pair("ann:pass"),
	} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestAuthChallenges(t *testing.T) {
	h := guarded(t, Auth{Realm: "notes"})
	want := []string{
		`Bearer realm="notes"`, `Basic realm="notes", charset="UTF-8"`,
		`ApiKey realm="notes", field="X-Api-Key"`, `ApiKey realm="notes", parameter="key"`,
	}
	for _, fields := range []string{"", "X-Api-Key: wrong", "Authorization: Bearer wrong"} {
		got := call(h, "GET", "/", fields).Header()["Www-Authenticate"]
		if strings.Contains(fields, "Bearer") {
			want[0] += `, error="invalid_token"`
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("with %q the challenges are %q; want %q", fields, got, want)
		}
	}
}

func TestAuthAllowAndOptional(t *testing.T) {
	robots := func(p Principal, r *http.Request) bool { return p.Name == "robot" }
	for _, c := range []struct {
		auth   Auth
		fields string
		status int
	}{
		{Auth{Allow: robots}, "Authorization: Bearer t0ken", 200},
		{Auth{Allow: robots}, "Authorization: Bearer other", 403},
		{Auth{Allow: robots}, "", 401},
		{Auth{Optional: true}, "", 200},
		{Auth{Optional: true}, "Authorization: Bearer wrong", 401},
		{Auth{Optional: true}, "Authorization: Unknown x", 401},
	} {
		w := call(guarded(t, c.auth), "GET", "/", c.fields)
		if w.Code != c.status {
			t.Errorf("with %q = %d; want %d", c.fields, w.Code, c.status)
		}
		if c.status == 403 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("403 = %s; want a problem", w.Body)
		}
	}
}

// TestAuthThatCannotCheck is no yes and no no.
func TestAuthThatCannotCheck(t *testing.T) {
	var out bytes.Buffer
	h, err := Auth{
		Log: slog.New(slog.NewTextHandler(&out, nil)),
		Schemes: []Scheme{Bearer(func(context.Context, string) (string, error) {
			return "robot", errors.New("no database")
		})},
	}.Wrap(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	w := call(h, "GET", "/", "Authorization: Bearer t0ken")
	if w.Code != 503 || strings.Contains(w.Body.String(), "database") ||
		!strings.Contains(out.String(), "no database") || strings.Contains(out.String(), "t0ken") {
		t.Errorf("a check that fails = %d %s, log %s; want 503, the cause in the log alone",
			w.Code, w.Body, out.String())
	}
}

func TestAuthRefusesToStart(t *testing.T) {
	check := Secrets(map[string]string{"a": "b"})
	for _, a := range []Auth{
		{}, {Schemes: []Scheme{{}}}, {Schemes: []Scheme{Bearer(nil)}}, {Schemes: []Scheme{Basic(nil)}},
		{Schemes: []Scheme{APIKeyField("", check)}}, {Schemes: []Scheme{APIKeyField("a b", check)}},
		{Schemes: []Scheme{APIKeyQuery("", check)}}, {Schemes: []Scheme{APIKeyQuery("a\"", check)}},
		{Schemes: []Scheme{Bearer(check)}, Realm: "a\"b"}, {Schemes: []Scheme{Bearer(check)},
			Realm: "a\r\nb"},
	} {
		if _, err := a.Wrap(http.NotFoundHandler()); err == nil {
			t.Errorf("%+v.Wrap starts; want an error", a)
		}
	}
	for name, make := range map[string]func(){
		"secret":   func() { Secrets(map[string]string{"": "a"}) },
		"name":     func() { Secrets(map[string]string{"a": ""}) },
		"password": func() { Passwords(map[string]string{"a": ""}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("an empty %s is taken", name)
				}
			}()
			make()
		}()
	}
}

// TestEverySecretIsCompared: which one it is, and whether it is one, does not
// show in how many are compared, or how much of them.
func TestEverySecretIsCompared(t *testing.T) {
	known := newSecrets()
	for _, text := range []string{"a", "bb", "ccc", "dddd"} {
		known.add("", text, "owner of "+text)
	}
	for _, shown := range []string{"a", "bb", "ccc", "dddd", "x", strings.Repeat("long", 1000)} {
		compared := 0
		known.find("", shown, func(a, b uint64) bool {
			compared++
			return a == b
		})
		if compared != 4 {
			t.Errorf("%d secrets are compared with one of %d bytes; want 4", compared, len(shown))
		}
	}
}

// TestSumsAloneLetNobodyIn: what has the sum of a secret may be another text.
func TestSumsAloneLetNobodyIn(t *testing.T) {
	known := newSecrets()
	known.add("ann", "secret", "ann")
	known.add("joe", "other", "joe")
	for _, c := range []struct{ user, text, want string }{
		{"ann", "secret", "ann"}, {"joe", "other", "joe"}, {"ann", "other", ""}, {"joe", "secret", ""},
		{"ann", "secre", ""}, {"ann", "secret ", ""}, {"", "secret", ""}, {"ann", "sEcret", ""},
	} {
		got := known.find(c.user, c.text, func(uint64, uint64) bool { return true })
		if got != c.want {
			t.Errorf("%q with %q is %q where all sums are one; want %q", c.user, c.text, got, c.want)
		}
		if got := known.find(c.user, c.text, equalSums); got != c.want {
			t.Errorf("%q with %q is %q; want %q", c.user, c.text, got, c.want)
		}
	}
}

// TestGuardOnlyCopiesNothing: who is only guarded gets the request itself, and no
// principal.
func TestGuardOnlyCopiesNothing(t *testing.T) {
	outer := httptest.NewRequest("GET", "/", nil)
	outer.Header.Set("Authorization", "Bearer t0ken")
	served := false
	h, err := Auth{
		Schemes:   []Scheme{Bearer(Secrets(map[string]string{"t0ken": "robot"}))},
		GuardOnly: true,
		Allow:     func(p Principal, _ *http.Request) bool { return p.Name == "robot" },
	}.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, ok := PrincipalOf(r.Context())
		if ok || r != outer {
			t.Errorf("principal %v, %t, the same request: %t; want none and the same", p, ok, r == outer)
		}
		served = true
	}))
	if err != nil {
		t.Fatalf("Auth.Wrap: %v", err)
	}
	h.ServeHTTP(httptest.NewRecorder(), outer)
	if !served {
		t.Error("the right token is refused")
	}
	if w := call(h, "GET", "/", "Authorization: Bearer wrong"); w.Code != 401 {
		t.Errorf("a wrong token is answered %d; want 401", w.Code)
	}
}

// TestPairsOfEveryLength: a pair is read whether or not it fits into the room that most do.
func TestPairsOfEveryLength(t *testing.T) {
	for n := range 300 {
		pair := "user:" + strings.Repeat("x", n)
		got, ok := decodePair(base64.StdEncoding.EncodeToString([]byte(pair)))
		if !ok || got != pair {
			t.Fatalf("a pair of %d bytes: %d bytes, %v", len(pair), len(got), ok)
		}
	}
}
