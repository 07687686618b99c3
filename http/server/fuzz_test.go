// SPDX-License-Identifier: MIT

package server

import (
	"net/url"
	"reflect"
	"testing"
)

// FuzzParseURL: the short way gives what net/url gives, for every target that it
// takes.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"/", "/a?b", "/a?", "/a%2Fb", "//a/b", "/a;b=c", "*", "/?", "/a?b?c#d", "/a b", "/:x", "/a//b",
		"http://a/b", "/..", "/~a$&+,/:;=@", "/!", "/(", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		want, err := url.ParseRequestURI(target)
		if err != nil {
			return // never reaches a handler as such: the parser's own path stands
		}
		var e stdExchange
		if got := e.parseURL(target); !reflect.DeepEqual(got, want) {
			t.Fatalf("parseURL(%q) = %#v\nwant %#v", target, got, want)
		}
	})
}
