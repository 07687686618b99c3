// SPDX-License-Identifier: MIT

package publish

import (
	"encoding/base64"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/server"
)

func sign(issuer string, after time.Duration, key string) string {
	return "Bearer " + grip.Sign(
		grip.Claims{Issuer: issuer, Expires: time.Now().Add(after)}, []byte(key))
}

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

// TestHTTPBelievesTheKeyAlone: whatever GRIP clients send is understood, and what is
// not right is said.
func TestHTTPBelievesTheKeyAlone(t *testing.T) {
	w := openDefault(t)
	key := string(httpKey)
	coded := "base64:" + base64.StdEncoding.EncodeToString(httpKey)
	python := "Basic b'" + basic("m0:" + key)[len("Basic "):] + "'"
	for _, c := range []struct {
		name, authorization, why string // why "": believed
	}{
		{"token", sign("m0", time.Hour, key), ""},
		{"scheme in small letters", "bearer " + sign("m0", time.Hour, key)[7:], ""},
		{"name and key", basic("m0:" + key), ""},
		{"name and key in base64", basic("m0:" + coded), ""},
		{"name and key of pubcontrol", python, ""},
		{"key", "Bearer " + key, ""},
		{"key in base64", "Bearer " + coded, ""},
		{"none", "", `Authorization is missing: want Bearer with a token (JWT, HS256) of iss "m0"`},
		{"another scheme", "Digest x", "Authorization is missing"},
		{"scheme alone", "Bearer ", "Authorization is missing"},
		{"expired", sign("m0", -time.Second, key), "it expired"},
		{"another issuer", sign("m1", time.Hour, key), `it is of "m1", want "m0"`},
		{"another key", sign("m0", time.Hour, "x"), "the signature is not of this key"},
		{"no key", sign("m0", time.Hour, ""), "the signature is not of this key"},
		{"unsigned", "Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJtMCIsImV4cCI6OTk5OTk5OTk5OX0.",
			"want HS256"},
		{"beginning of the key", "Bearer " + key[:4], "want three parts"},
		{"another key as it is", basic("m0:" + key + "x"), "this is not the key"},
		{"empty key", basic("m0:"), "this is not the key"},
		{"another name", basic("m1:" + key), `it is of "m1"`},
		{"no name", basic(key), "wants NAME:KEY"},
		{"no base64", "Basic !", "wants NAME:KEY"},
	} {
		field := "Authorization: " + c.authorization + "\r\n"
		if c.authorization == "" {
			field = ""
		}
		denied := w.Stats().Denied
		a := w.publish(t, `{"items":[{"channel":"a","http-stream":{"content":"x"}}]}`, field)
		if c.why == "" {
			if a.status != 200 || w.Stats().Denied != denied {
				t.Errorf("%s = %+v, want it believed", c.name, a)
				continue
			}
			<-w.frames
			continue
		}
		if a.status != 401 || !strings.Contains(a.body, c.why) ||
			!strings.Contains(a.head.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s = %+v, want 401 and %q", c.name, a, c.why)
		}
		if strings.Contains(a.body, key) {
			t.Errorf("%s: the answer tells the key: %s", c.name, a.body)
		}
		if w.Stats().Denied != denied+1 {
			t.Errorf("%s is not counted", c.name)
		}
		w.nothing(t, c.name)
	}
}

// A door without a key believes nobody, rather than everybody.
func TestHTTPWithoutAKeyBelievesNobody(t *testing.T) {
	w := openWeb(t, HTTPConfig{}, server.Config{})
	for _, a := range []string{"Bearer ", basic(":"), basic("m0:"), sign("m0", time.Hour, "")} {
		if got := w.publish(t, `{"items":[]}`, "Authorization: "+a+"\r\n"); got.status != 401 {
			t.Errorf("%q at a door without a key = %+v, want 401", a, got)
		}
	}
}

// Without a key of the operator's the door is for this machine, whatever else a peer
// knows.
func TestHTTPLocal(t *testing.T) {
	d := NewHTTP(HTTPConfig{Bus: bus.Local(), Key: httpKey, Local: netip.IPv4Unspecified(),
		Log: slog.New(slog.DiscardHandler)})
	defer d.cfg.Bus.Close()
	w := openWeb(t, HTTPConfig{}, server.Config{Handler: server.HandlerFunc(
		func(x *server.Exchange) {
			from, _ := x.Request().Field("from")
			x.SetPeer(netip.MustParseAddrPort(string(from)))
			d.Serve(x)
		})})
	for address, want := range map[string]int{"192.0.2.1:1": 403, "127.0.0.1:1": 200} {
		a := w.publish(t, `{"items":[]}`, bearer+"From: "+address+"\r\n")
		if a.status != want {
			t.Errorf("publish from %s = %+v, want %d", address, a, want)
		}
	}
	if d.Stats().Denied != 1 {
		t.Errorf("Stats = %+v, want one denied", d.Stats())
	}
}
