// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// keyMark opens a key in base64.
const keyMark = "base64:"

// A URL says where to publish and with which key, in one text as GRIP_URL has
// it: http://127.0.0.1:5561/?iss=realm&key=base64:c2VjcmV0.
type URL struct {
	Base         string // without iss and key, and without a slash at the end
	Issuer       string // iss; "": none
	Key          []byte // key; nil: none
	VerifyIssuer string // verify-iss; "": any
	VerifyKey    []byte // verify-key, of Grip-Sig; nil: Key
}

// ParseKey reads a key as it is, or in base64 behind "base64:".
func ParseKey(s string) ([]byte, error) {
	coded, isCoded := strings.CutPrefix(s, keyMark)
	if !isCoded {
		return []byte(s), nil
	}
	key, err := decodeBase64(coded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("grip: a key behind base64: is not base64")
	}
	return key, nil
}

// ParseURL reads a GRIP_URL. A plus sign in it is one, not a blank, since keys
// in base64 have some. Errors do not repeat the text: it holds a secret.
func ParseURL(s string) (URL, error) {
	parsed, err := url.Parse(s)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return URL{}, errors.New(
			"grip: a GRIP_URL looks like http://127.0.0.1:5561/?iss=realm&key=secret")
	}
	query, err := url.ParseQuery(strings.ReplaceAll(parsed.RawQuery, "+", "%2B"))
	if err != nil {
		return URL{}, errors.New("grip: the query of a GRIP_URL is not valid")
	}
	u := URL{Issuer: query.Get("iss"), VerifyIssuer: query.Get("verify-iss")}
	for name, key := range map[string]*[]byte{"key": &u.Key, "verify-key": &u.VerifyKey} {
		if text := query.Get(name); text != "" {
			if *key, err = ParseKey(text); err != nil {
				return URL{}, fmt.Errorf("%w (%s of a GRIP_URL)", err, name)
			}
		}
	}
	for _, name := range []string{"iss", "key", "verify-iss", "verify-key"} {
		query.Del(name)
	}
	root := url.URL{Scheme: parsed.Scheme, User: parsed.User, Host: parsed.Host}
	u.Base = root.String() + strings.TrimSuffix(parsed.EscapedPath(), "/")
	if len(query) > 0 {
		u.Base += "?" + blanks(query.Encode())
	}
	return u, nil
}

// String writes u as a GRIP_URL. Keys are written in base64.
func (u URL) String() string {
	base, query, _ := strings.Cut(u.Base, "?")
	text := []string{}
	if query != "" {
		text = append(text, query)
	}
	add := func(name, value string) {
		if value != "" {
			text = append(text, name+"="+blanks(url.QueryEscape(value)))
		}
	}
	add("iss", u.Issuer)
	add("key", formatKey(u.Key))
	add("verify-iss", u.VerifyIssuer)
	add("verify-key", formatKey(u.VerifyKey))
	if len(text) == 0 {
		return base + "/"
	}
	return base + "/?" + strings.Join(text, "&")
}

func formatKey(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return keyMark + base64.StdEncoding.EncodeToString(key)
}

// blanks writes blanks so that nobody takes them for plus signs.
func blanks(s string) string { return strings.ReplaceAll(s, "+", "%20") }
