// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// isPlain tells pairs that this package takes: RFC 7617 wants UTF-8 and no control
// characters, and net/http takes both.
func isPlain(pair string) bool {
	return utf8.ValidString(pair) && !strings.ContainsFunc(pair, func(c rune) bool {
		return c < ' ' || c == 0x7f
	})
}

// FuzzBasicLikeNetHTTP: user and password are those of net/http. The reviewed list of
// differences: more spaces around the pair are taken here, and a pair is asked about only
// when it isPlain.
func FuzzBasicLikeNetHTTP(f *testing.F) {
	for _, s := range []string{
		"Basic " + pair("ann:pass:word"), "basic " + pair("a:"), "BASIC  " + pair(":b") + " ",
		"Basic", "Basic ", "Basic" + pair("a:b"), "Basic\t" + pair("a:b"), "Basic " + pair("a"),
		"Basic " + pair("a:b") + "=", "Basic YTpi\nYTpi", "Basic YTpiYQ=", "Basic " + pair("a:\xff"),
		"Basic " + pair("a:b\x00"), "Basic " + pair("jürgen:schlüssel"), "Bearer " + pair("a:b"),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		asked, user, password := false, "", ""
		scheme := Basic(func(_ context.Context, u, p string) (string, error) {
			asked, user, password = true, u, p
			return "somebody", nil
		})
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"] = []string{field}
		name := ""
		if shown, is := scheme.find(r); is {
			name, _ = scheme.decide(r.Context(), shown)
		}
		if asked != (name != "") {
			t.Fatalf("%q is %q, asked: %v", field, name, asked)
		}
		if len(field) > len(basic) && field[len(basic)] == ' ' { // the list, first
			r.Header["Authorization"] = []string{field[:len(basic)+1] +
				strings.Trim(field[len(basic):], " ")}
		}
		theirUser, theirPassword, ok := r.BasicAuth()
		ok = ok && isPlain(theirUser+theirPassword)
		if asked != ok || ok && (user != theirUser || password != theirPassword) {
			t.Errorf("%q is %q and %q, asked: %v; in net/http %q and %q, %v", field, user, password,
				asked, theirUser, theirPassword, ok)
		}
	})
}

// FuzzKeyInQuery: a key is found as net/url finds it, and what the handler gets is the
// query without it, with everything else as it was.
func FuzzKeyInQuery(f *testing.F) {
	for _, s := range []string{
		"", "key=a", "a=1&key=x&b=2", "%6bey=x&a", "k%65y=1&key=2", "key", "key&a=%zz", "%zz=1&key=2",
		"key=1;a=2&b=3", "a=1&&key=&", "Key=1&key%00=2", "+key=1&key+=2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		scheme := APIKeyQuery("key", func(context.Context, string) (string, error) { return "", nil })
		r := &http.Request{URL: &url.URL{Path: "/", RawQuery: query}}
		rest := r.URL.Query()
		all, has := rest["key"]
		delete(rest, "key")
		want := ""
		if len(all) == 1 {
			want = all[0]
		}
		if shown, is := scheme.find(r); is != has || shown != want {
			t.Errorf("the key of %q is %q, %v; want %q, %v", query, shown, is, want, has)
		}
		inner := scheme.without(r)
		if got := inner.URL.Query(); !reflect.DeepEqual(got, rest) || r.URL.RawQuery != query {
			t.Errorf("%q without its key is %q, %v; want %v", query, inner.URL.RawQuery, got, rest)
		}
	})
}
