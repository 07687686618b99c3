// SPDX-License-Identifier: MIT

package ws

import (
	"errors"
	"net/http/httptest"
	"testing"
)

func sample() Opening {
	return Opening{Method: "GET", HTTP11: true, Upgrade: "websocket", Connection: "Upgrade",
		Version: "13", Keys: []string{"dGhlIHNhbXBsZSBub25jZQ=="}}
}

// TestAcceptSample is the example of RFC 6455, section 1.3.
func TestAcceptSample(t *testing.T) {
	const want = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	o := sample()
	o.Upgrade, o.Connection = "h2c, WebSocket", "keep-alive, UPGRADE"
	for _, o := range []Opening{sample(), o} {
		if got, err := o.Accept(); got != want || err != nil {
			t.Errorf("%+v.Accept() = %q, %v; want %q", o, got, err, want)
		}
	}
}

func TestAcceptRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Opening)
		status int
	}{
		"method":        {func(o *Opening) { o.Method = "POST" }, 405},
		"HTTP/1.0":      {func(o *Opening) { o.HTTP11 = false }, 400},
		"upgrade":       {func(o *Opening) { o.Upgrade = "websockets" }, 400},
		"connection":    {func(o *Opening) { o.Connection = "keep-alive" }, 400},
		"version":       {func(o *Opening) { o.Version = "8" }, 426},
		"no version":    {func(o *Opening) { o.Version = "" }, 426},
		"no key":        {func(o *Opening) { o.Keys = nil }, 400},
		"two keys":      {func(o *Opening) { o.Keys = append(o.Keys, o.Keys[0]) }, 400},
		"short key":     {func(o *Opening) { o.Keys = []string{"YWJj"} }, 400},
		"no base64":     {func(o *Opening) { o.Keys = []string{"dGhlIHNhbXBsZSBub25jZQ="} }, 400},
		"trailing bits": {func(o *Opening) { o.Keys = []string{"dGhlIHNhbXBsZSBub25jZR=="} }, 400},
	} {
		o := sample()
		c.change(&o)
		var refused *Error
		if got, err := o.Accept(); !errors.As(err, &refused) || refused.Status != c.status || got != "" {
			t.Errorf("%s: Accept() = %q, %v; want status %d", name, got, err, c.status)
		}
	}
}

func TestOpeningOf(t *testing.T) {
	r := httptest.NewRequest("GET", "/ws", nil)
	for name, value := range map[string]string{"Upgrade": "websocket", "Connection": "Upgrade",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		r.Header.Set(name, value)
	}
	r.Header.Add("Connection", "keep-alive")
	if _, err := OpeningOf(r).Accept(); err != nil {
		t.Errorf("OpeningOf a good request is refused: %v", err)
	}
	r.Header.Add("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if _, err := OpeningOf(r).Accept(); err == nil {
		t.Error("OpeningOf a request with two keys is accepted")
	}
}

func TestCheckOrigin(t *testing.T) {
	for _, c := range []struct {
		origin, host string
		allowed      []string
		ok           bool
	}{
		{"", "a.example", nil, true},
		{"https://a.example", "A.example", nil, true},
		{"https://a.example:8080", "a.example", nil, false},
		{"https://b.example", "a.example", nil, false},
		{"null", "a.example", nil, false},
		{"null", "", nil, false},
		{"https://b.example", "a.example", []string{"https://B.example"}, true},
		{"https://a.example", "a.example", []string{"https://b.example"}, false},
		{"https://c.example", "a.example", []string{"*"}, true},
	} {
		o := Opening{Origin: c.origin, Host: c.host}
		var refused *Error
		err := o.CheckOrigin(c.allowed)
		if (err == nil) != c.ok || !c.ok && (!errors.As(err, &refused) || refused.Status != 403) {
			t.Errorf("CheckOrigin(%q) of %q at %q = %v; want ok %v", c.allowed, c.origin, c.host,
				err, c.ok)
		}
	}
}
