// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

var noon = time.Unix(1_800_000_000, 0)

// token signs any head and claims.
func token(head, claims string, key []byte) string {
	signed := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature([]byte(signed), key))
}

func TestSign(t *testing.T) {
	key := []byte("changeme")
	got := Sign(Claims{Issuer: "realm", Expires: noon}, key)
	// Made with hmac and base64 of Python.
	const want = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJyZWFsbSIsImV4cCI6MTgwMDAwMDAwMH0." +
		"KZjv4xFKpvXiQd9U5ICrUjo4lfMaiWfeAI4URjnaHqc"
	if got != want {
		t.Errorf("Sign(realm, noon) = %s, want %s", got, want)
	}
	claims, err := Verify(got, key, noon.Add(-time.Second))
	if err != nil || claims.Issuer != "realm" || !claims.Expires.Equal(noon) {
		t.Errorf("Verify(%s) = %+v, %v, want realm and %v", got, claims, err, noon)
	}
	odd := Sign(Claims{Issuer: "a\"\\\n<é", Expires: noon}, key)
	if claims, err := Verify(odd, key, noon.Add(-time.Second)); claims.Issuer != "a\"\\\n<é" {
		t.Errorf("Verify(%s) = %+v, %v, want the issuer unchanged", odd, claims, err)
	}
}

func TestVerifyAcceptsOthers(t *testing.T) {
	key := []byte("k")
	for _, tc := range []struct{ head, claims string }{
		{`{"typ":"JWT","alg":"HS256"}`, `{"exp":1800000001,"iss":"x"}`},
		{`{"alg":"HS256"}`, `{"exp":1800000000.5,"other":{}}`},
		{`{"alg":"HS256","kid":"1"}`, `{"exp":1e300,"nbf":1800000000}`},
	} {
		if _, err := Verify(token(tc.head, tc.claims, key), key, noon); err != nil {
			t.Errorf("Verify(%s, %s) = %v", tc.head, tc.claims, err)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	key := []byte("k")
	const head, claims = `{"alg":"HS256"}`, `{"exp":1800000001}`
	good := token(head, claims, key)
	parts := strings.Split(good, ".")
	for _, tc := range []struct {
		what, token, want string
		key               []byte
	}{
		{"another key", good, "not of this key", []byte("K")},
		{"no key", token(head, claims, nil), "no key", nil},
		{"nothing", "", "three parts", key},
		{"two parts", parts[0] + "." + parts[2], "three parts", key},
		{"four parts", "." + good, "three parts", key},
		{"no signature", parts[0] + "." + parts[1] + ".", "not of this key", key},
		{"half a signature", good[:len(good)-10], "not of this key", key},
		{"other claims", parts[0] + "." + "e30" + "." + parts[2], "not of this key", key},
		{"none", token(`{"alg":"none"}`, claims, key), `alg is "none", want HS256`, key},
		{"another algorithm", token(`{"alg":"RS256"}`, claims, key), `alg is "RS256"`, key},
		{"no algorithm", token(`{}`, claims, key), `alg is ""`, key},
		{"critical", token(`{"alg":"HS256","crit":["b64"]}`, claims, key), "extension", key},
		{"no head", token(`x`, claims, key), "the head is not", key},
		{"expired", token(head, `{"exp":1800000000}`, key), "it expired at 1800000000", key},
		{"no expiry", token(head, `{}`, key), "does not say when it expires", key},
		{"expiry null", token(head, `{"exp":null}`, key), "does not say when it expires", key},
		{"expiry text", token(head, `{"exp":"1800000001"}`, key), "the claims are not", key},
		{"too early", token(head, `{"exp":1800000009,"nbf":1800000001}`, key), "not good before", key},
		{"claims no JSON", token(head, `x`, key), "the claims are not", key},
		{"long", token(head, strings.Repeat(" ", tokenMax)+claims, key), "more than 8192 bytes", key},
	} {
		_, err := Verify(tc.token, tc.key, noon)
		if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Verify of %s = %v, want ErrToken with %q", tc.what, err, tc.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key := []byte("k")
	f.Add(Sign(Claims{Issuer: "a", Expires: noon.Add(time.Hour)}, key))
	f.Add(token(`{"alg":"HS256"}`, `{"exp":1e9}`, key))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, s string) {
		claims, err := Verify(s, key, noon)
		if err == nil && claims.Expires.Before(noon.Add(-time.Second)) {
			t.Fatalf("Verify(%q) = %+v, expired", s, claims)
		}
	})
}
