// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"slices"
	"strconv"
	"testing"
)

// talkLikeTheLast asks for answers, and sends requests, whose heads are like the last one,
// or differ from it in one place and not in length.
func talkLikeTheLast(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	for _, v := range []string{"A:one", "A:one", "A:two", "A:two", "B:two", "A:one"} {
		c.Send(get("/fields?h=X-" + v))
		r := expect(t, c, "GET", "200 OK", "fields")
		if want := "X-" + v[:2] + " " + v[2:]; !slices.Contains(r.Fields, want) {
			t.Errorf("fields are %q, want %q", r.Fields, want)
		}
	}
	for _, status := range []string{"200 OK", "200 Ok", "200 Ok", "299 Ok", "299 OK", "200 OK"} {
		c.Send(get("/status?body=x&s=" + status[:3] + "%20" + status[4:]))
		expect(t, c, "GET", status, "x")
	}
	for _, value := range []string{"one", "one", "two", "two", "\xe9\xe9\xe9", "one"} {
		c.Send(get("/environ", "X-A: "+value))
		r := read(t, c, "GET")
		for _, fault := range checkEntries(r.Body, entries{"HTTP_X_A": latin(value)}) {
			t.Error(fault)
		}
	}
}

// latin is value in latin-1 as a string of JSON.
func latin(value string) string {
	var text []rune
	for _, b := range []byte(value) {
		text = append(text, rune(b))
	}
	return strconv.QuoteToASCII(string(text))
}
