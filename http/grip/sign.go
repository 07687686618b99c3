// SPDX-License-Identifier: MIT

package grip

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tokenMax bounds a token that is verified, in bytes.
const tokenMax = 8 << 10

// tokenHead is the first part of every token that is signed here:
// {"alg":"HS256","typ":"JWT"}.
const tokenHead = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

// ErrToken is what every refused token has in common.
var ErrToken = errors.New("grip: token refused")

// Claims are what a token says (RFC 7519).
type Claims struct {
	Issuer  string // iss, "" when absent
	Expires time.Time
}

// Sign makes a token (JWT, HS256) that says claims, for Grip-Sig and for
// publishing. Its expiry is cut to whole seconds.
func Sign(claims Claims, key []byte) string {
	issuer, err := json.Marshal(claims.Issuer)
	if err != nil {
		panic("grip: a string has no JSON: " + err.Error())
	}
	body := append([]byte(`{"iss":`), issuer...)
	body = strconv.AppendInt(append(body, `,"exp":`...), claims.Expires.Unix(), 10)
	body = append(body, '}')

	token := append([]byte(tokenHead), '.')
	token = base64.RawURLEncoding.AppendEncode(token, body)
	mac := signature(token, key)
	return string(base64.RawURLEncoding.AppendEncode(append(token, '.'), mac))
}

// Verify checks a token that was signed with key, and returns its claims. It has
// to say when it expires, which has to be after now. A key of no bytes verifies
// nothing. Errors are ErrToken.
func Verify(token string, key []byte, now time.Time) (Claims, error) {
	if len(key) == 0 || len(token) > tokenMax {
		return Claims{}, refused("no key, or more than %d bytes", tokenMax)
	}
	signed, mac, _ := cutLast(token, '.')
	head, body, ok := strings.Cut(signed, ".")
	if !ok || strings.Contains(body, ".") {
		return Claims{}, refused("want three parts with dots between them")
	}
	if err := checkHead(head); err != nil {
		return Claims{}, err
	}
	got, err := decodePart(mac)
	if err != nil || !hmac.Equal(got, signature([]byte(signed), key)) {
		return Claims{}, refused("the signature is not of this key")
	}
	text, err := decodePart(body)
	if err != nil {
		return Claims{}, refused("the claims are not base64url")
	}
	return parseClaims(text, now)
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrToken}, args...)...)
}

// checkHead refuses every algorithm but HS256, none before all.
func checkHead(part string) error {
	if part == tokenHead {
		return nil
	}
	var head struct {
		Alg  string          `json:"alg"`
		Crit json.RawMessage `json:"crit"`
	}
	text, err := decodePart(part)
	if err != nil || json.Unmarshal(text, &head) != nil {
		return refused("the head is not a JSON object in base64url")
	}
	if head.Alg != "HS256" {
		return refused("alg is %.20q, want HS256", head.Alg)
	}
	if head.Crit != nil {
		return refused("crit asks for an extension")
	}
	return nil
}

func parseClaims(text []byte, now time.Time) (Claims, error) {
	var body struct {
		Issuer    string   `json:"iss"`
		Expires   *float64 `json:"exp"`
		NotBefore *float64 `json:"nbf"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return Claims{}, refused("the claims are not a JSON object with iss and exp")
	}
	if body.Expires == nil {
		return Claims{}, refused("it does not say when it expires (exp)")
	}
	if expires := *body.Expires; float64(now.UnixNano())/1e9 >= expires {
		return Claims{}, refused("it expired at %.0f, now is %d", expires, now.Unix())
	}
	if from := body.NotBefore; from != nil && float64(now.UnixNano())/1e9 < *from {
		return Claims{}, refused("it is not good before %.0f", *from)
	}
	expires := min(*body.Expires, math.MaxUint32) // the year 2106
	return Claims{Issuer: body.Issuer, Expires: time.Unix(int64(expires), 0)}, nil
}

func signature(signed, key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(signed)
	return mac.Sum(nil)
}

func decodePart(s string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
