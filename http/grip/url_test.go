// SPDX-License-Identifier: MIT

package grip

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, tc := range []struct {
		text string
		want URL
	}{
		{"http://localhost:5561", URL{Base: "http://localhost:5561"}},
		{"http://localhost:5561/?iss=realm&key=changeme",
			URL{Base: "http://localhost:5561", Issuer: "realm", Key: []byte("changeme")}},
		{"https://api.fanout.io/realm/x/?iss=x&key=base64:+/8=&a=b%20c",
			URL{Base: "https://api.fanout.io/realm/x?a=b%20c", Issuer: "x", Key: []byte{0xfb, 0xff}}},
		{"http://[::1]:1/?key=a%26b&verify-iss=v&verify-key=base64:aGk",
			URL{Base: "http://[::1]:1", Key: []byte("a&b"), VerifyIssuer: "v", VerifyKey: []byte("hi")}},
	} {
		got, err := ParseURL(tc.text)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("ParseURL(%q) = %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
		if again, err := ParseURL(got.String()); err != nil || !reflect.DeepEqual(again, tc.want) {
			t.Errorf("ParseURL(%q) = %+v, %v, want %+v", got.String(), again, err, tc.want)
		}
	}
}

func TestURLString(t *testing.T) {
	u := URL{Base: "http://127.0.0.1:5561", Issuer: "a b+c", Key: []byte{0xfb, 0xff}}
	const want = "http://127.0.0.1:5561/?iss=a%20b%2Bc&key=base64%3A%2B%2F8%3D"
	if got := u.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := (URL{Base: "http://h"}).String(); got != "http://h/" {
		t.Errorf("String() of a bare address = %q, want http://h/", got)
	}
}

// What is refused is not repeated: it holds a key.
func TestParseURLRefuses(t *testing.T) {
	for _, text := range []string{
		"", "localhost:5561/?key=secret", "http:///?key=secret", "ftp://h/?key=secret",
		"http://h:port/?key=secret", "http://h/?key=base64:secret!", "http://h/?a=%zz&key=secret",
		"http://h/?key=base64:", "http://h/?verify-key=base64:secret!",
	} {
		u, err := ParseURL(text)
		if err == nil || strings.Contains(err.Error(), "secret!") ||
			strings.Contains(strings.ReplaceAll(err.Error(), "key=secret", ""), "secret") {
			t.Errorf("ParseURL(%q) = %+v, %v, want an error without the key", text, u, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("http://localhost:5561/?iss=realm&key=base64:aGk=")
	f.Add("https://h/a%2Fb/?a=b;c&key=+")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			return
		}
		if again, err := ParseURL(u.String()); err != nil || !reflect.DeepEqual(again, u) {
			t.Fatalf("ParseURL(%q) = %+v; written %q, read %+v, %v", text, u, u.String(), again, err)
		}
	})
}
