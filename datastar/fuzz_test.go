// SPDX-License-Identifier: MIT

package datastar

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// FuzzReadSignals: a query and a body with the same text give what encoding/json gives,
// and an error says what to answer. Reviewed difference: a body of spaces alone is none.
func FuzzReadSignals(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":`, "", " ", "null", `[1]`, `{"a":"\ud800"}`, "\xff",
		`{"datastar":"%zz"}`, `{"a":{"b":[true,null,1e5]}}`, strings.Repeat("[", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var want any
		wantErr := json.Unmarshal([]byte(doc), &want)
		tooLong := len(doc) > 200
		for _, r := range []*http.Request{
			httptest.NewRequest("GET", "/?datastar="+url.QueryEscape(doc), nil),
			httptest.NewRequest("POST", "/", strings.NewReader(doc)),
		} {
			var got any
			err := ReadSignalsUpTo(r, &got, 200)
			var refused *SignalsError
			switch {
			case r.Method == "POST" && strings.TrimSpace(doc) == "" && !tooLong:
				if err != nil || got != nil {
					t.Fatalf("%s of %q: %v, %v; want nothing", r.Method, doc, got, err)
				}
			case tooLong:
				if !errors.As(err, &refused) || refused.Status != 413 {
					t.Fatalf("%s of %d bytes: %v, want 413", r.Method, len(doc), err)
				}
			case wantErr != nil:
				if !errors.As(err, &refused) || refused.Status != 400 {
					t.Fatalf("%s of %q: %v, want 400 for %v", r.Method, doc, err, wantErr)
				}
			case err != nil || !reflect.DeepEqual(got, want):
				t.Fatalf("%s of %q: %v, %v; want %v", r.Method, doc, got, err, want)
			}
		}
	})
}
