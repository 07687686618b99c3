// SPDX-License-Identifier: MIT

package ws

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"m0serve.dev/http/wire"
)

// FuzzOpening: net/http and the native parser see the same opening in the same fields,
// an accepted one has all that RFC 6455 section 4.2.1 wants, and a page of another host
// is let in only where it is allowed.
func FuzzOpening(f *testing.F) {
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	f.Add("websocket", "Upgrade", "13", key, "http://a", "chat, super")
	f.Add("h2c, WebSocket", "keep-alive,upgrade", "13", key, "https://b:443", "")
	f.Add("websocket/1", "close, Upgrade", " 13", key[:22], "null", ",,")
	f.Add("websockets", "\"Upgrade\"", "08", "AQIDBAUGBwgJCgsMDQ4PE===", "http://a@b", "\x80")
	f.Add("websocket", "upgrade", "13", "dGhlIHNhbXBsZSBub25jZR==", "//a", "chat")
	f.Fuzz(func(t *testing.T, upgrade, connection, version, key, origin, protocol string) {
		fields := [][2]string{{"Host", "a"}, {"Upgrade", upgrade}, {"Connection", connection},
			{"Sec-WebSocket-Version", version}, {"Sec-WebSocket-Key", key}, {"Origin", origin},
			{"Sec-WebSocket-Protocol", protocol}}
		r := &http.Request{Method: "GET", ProtoMajor: 1, ProtoMinor: 1, Host: "a", Header: http.Header{}}
		raw := []byte("GET / HTTP/1.1\r\n")
		for _, one := range fields {
			var err error
			if raw, err = wire.AppendField(raw, one[0], strings.Trim(one[1], " \t")); err != nil {
				return // no field has such a value
			}
			r.Header.Add(one[0], strings.Trim(one[1], " \t"))
		}
		std := OpeningOf(r)
		accept, err := std.Accept()
		checkAccept(t, std, accept, err)
		var p wire.RequestParser
		var req wire.Request
		if n, wireErr := p.Parse(append(raw, "\r\n"...), &req); wireErr != nil || n == 0 {
			return // refused before anybody looks at it
		}
		native, nativeErr := OpeningOfRequest(&req).Accept()
		if native != accept || (nativeErr == nil) != (err == nil) {
			t.Fatalf("%q: native %q, %v; over net/http %q, %v", raw, native, nativeErr, accept, err)
		}
	})
}

// checkAccept looks at an opening with other means.
func checkAccept(t *testing.T, o Opening, accept string, err error) {
	t.Helper()
	nonce, keyErr := base64.StdEncoding.DecodeString(o.Keys[0])
	if err == nil && (keyErr != nil || len(nonce) != 16 || o.Version != "13" || len(accept) != 28 ||
		!strings.Contains(strings.ToLower(o.Upgrade), "websocket") ||
		!strings.Contains(strings.ToLower(o.Connection), "upgrade")) {
		t.Fatalf("%+v is accepted", o)
	}
	if o.CheckOrigin(nil) == nil && o.Origin != "" {
		at, parseErr := url.Parse(o.Origin)
		if parseErr != nil || !strings.EqualFold(at.Host, "a") {
			t.Fatalf("a page of %q may connect to a", o.Origin)
		}
	}
	if o.CheckOrigin([]string{"http://b"}) == nil && o.Origin != "" &&
		!strings.EqualFold(o.Origin, "http://b") {
		t.Fatalf("a page of %q may connect, http://b alone is allowed", o.Origin)
	}
}

// FuzzClose: a payload that is taken makes the same frame again, and one that is
// refused could not have been made. CodeNoStatus stands for no payload, on both sides.
func FuzzClose(f *testing.F) {
	for _, s := range []string{"", "\x03", "\x03\xe8", "\x03\xe8bye", "\x03\xed", "\x0f\xa1\xff",
		"\x0b\xb8", "\x13\x87x", "\x13\x88", "\x03\xe8\xed\xa0\x80"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) > controlMax {
			return // no close frame is so long
		}
		code, reason, err := ParseClose(payload)
		if err != nil {
			if len(payload) >= 2 && utf8.Valid(payload[2:]) {
				code = Code(payload[0])<<8 | Code(payload[1])
				frame, err := AppendClose(nil, code, string(payload[2:]))
				if err == nil && code != CodeNoStatus {
					t.Fatalf("ParseClose(%q) refuses what AppendClose makes: %q", payload, frame)
				}
			}
			return
		}
		frame, err := AppendClose(nil, code, string(reason))
		if err != nil || !bytes.Equal(frame[2:], payload) {
			t.Fatalf("%q is %d %q, made again %q, %v", payload, code, reason, frame, err)
		}
	})
}
