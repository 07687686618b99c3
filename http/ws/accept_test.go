// SPDX-License-Identifier: MIT

package ws_test

import (
	"net"
	"net/http"
	"testing"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/server"
	"m0serve.dev/http/ws"
)

// A wrapper is what middleware puts around a writer.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestBehindMiddleware(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-App", "1")
		_ = ws.Accept(wrapper{w}, r, &ws.Options{Protocols: []string{"v2", "v1"}}, echoHandler)
	})
	everywhere(t, h, func(t *testing.T, addr string) {
		p := dialRaw(t, addr, "/", "Sec-WebSocket-Protocol: v0, v1\r\nSec-WebSocket-Protocol: V2\r\n"+
			"Sec-WebSocket-Extensions: permessage-deflate\r\n")
		res := p.response()
		if res.Header.Get("Sec-Websocket-Protocol") != "v1" || res.Header.Get("X-App") != "1" ||
			res.Header.Get("Sec-Websocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" ||
			res.Header.Get("Sec-Websocket-Extensions") != "" {
			t.Errorf("answer %v, want protocol v1, X-App and no extension", res.Header)
		}
		p.raw(txt(0x81, "through"))
		p.wantText("through")
	})
}

func TestRefusedOpenings(t *testing.T) {
	o := &ws.Options{Origins: []string{"https://app.example"}}
	native := server.HandlerFunc(func(x *server.Exchange) {
		if err := ws.AcceptExchange(x, o, echoHandler); err == nil {
			t.Error("AcceptExchange = nil for a request that is refused")
		}
	})
	std := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ws.Accept(w, r, o, echoHandler); err == nil {
			t.Error("Accept = nil for a request that is refused")
		}
	})
	_, nativeAddr := both.Start(t, server.Config{Handler: native})
	for _, addr := range []string{places[0].start(t, std), places[1].start(t, std), nativeAddr} {
		for request, want := range map[string]int{
			"GET / HTTP/1.1\r\nHost: a\r\n\r\n": 400,
			"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" +
				"Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: " + key + "\r\n\r\n": 426,
			"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" +
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
				"\r\nOrigin: https://evil.example\r\n\r\n": 403,
		} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			p := newPeer(t, c)
			p.raw([]byte(request))
			res := p.response()
			if res.StatusCode != want || res.Header.Get("Sec-Websocket-Version") != "13" {
				t.Errorf("%.60q…: status %d, %v; want %d and the version", request, res.StatusCode,
					res.Header, want)
			}
			_ = c.Close()
		}
	}
	if n := o.Stats().Refused; n != 9 {
		t.Errorf("Refused = %d, want 9", n)
	}
}

// TestOriginOfTheSameHost is the rule when none is given.
func TestOriginOfTheSameHost(t *testing.T) {
	addr := both.Loop(t, echo(nil))
	for origin, want := range map[string]int{
		"http://a": 101, "https://A": 101, "https://b": 403, "https://a.b": 403, "null": 403,
		"https://a:8080": 403, "https://b/a": 403, "https://a@b": 403,
	} {
		p := dialRaw(t, addr, "/", "Origin: "+origin+"\r\n")
		if res := p.response(); res.StatusCode != want {
			t.Errorf("Origin %s at host a: status %d, want %d", origin, res.StatusCode, want)
		}
	}
}
