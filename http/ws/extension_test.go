// SPDX-License-Identifier: MIT

package ws_test

import (
	"net/http"
	"strings"
	"testing"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/server"
	"m0serve.dev/http/ws"
)

const (
	pd      = "permessage-deflate"
	yes     = pd + "; server_no_context_takeover; client_no_context_takeover"
	offered = pd + "; client_max_window_bits" // of a browser
)

// TestAgree: the first offer that can be kept to is taken; one with a parameter that
// is unknown, doubled or wrong is declined (RFC 7692, section 7.1).
func TestAgree(t *testing.T) {
	const bits = "; server_max_window_bits="
	for offers, more := range map[string]string{
		pd:                                "",
		offered:                           "",
		pd + "; client_max_window_bits=9": "",
		pd + ";server_no_context_takeover;client_no_context_takeover":       "",
		pd + "; server_max_window_bits=8":                                   bits + "8",
		pd + `; server_max_window_bits="10"`:                                bits + "10",
		" permessage-deflate ; server_max_window_bits = 15":                 bits + "15",
		"x-webkit-deflate-frame, permessage-bzip2; a=1, permessage-deflate": "",
		`other; p="a, permessage-deflate; \" b", permessage-deflate`:        "",
		pd + "; server_max_window_bits=7, permessage-deflate":               "",
		pd + "; mystery, " + pd + "; server_max_window_bits=12":             bits + "12",
		pd + "; server_max_window_bits=9, permessage-deflate":               bits + "9",
		",,permessage-deflate":                                              "",
	} {
		if got := new(ws.Compression).Agree(offers); got != yes+more {
			t.Errorf("offers %q are answered by %q, want %q", offers, got, yes+more)
		}
		if got := (*ws.Compression)(nil).Agree(offers); got != "" {
			t.Errorf("without Compression offers %q are answered by %q", offers, got)
		}
	}
	for _, offers := range []string{
		"",
		`other; p="a, permessage-deflate, b"`,
		`other; p="permessage-deflate, permessage-deflate"`,
		pd + "; mystery",
		pd + "; Server_max_window_bits=9",
		pd + "; server_max_window_bits",
		pd + "; server_max_window_bits=",
		pd + "; server_max_window_bits=16",
		pd + "; server_max_window_bits=08",
		pd + "; server_max_window_bits=+9",
		pd + "; server_max_window_bits=9 9",
		pd + "; server_max_window_bits=264",
		pd + `; server_max_window_bits="9`,
		pd + `; server_max_window_bits=9"`,
		pd + "; client_max_window_bits=7",
		pd + "; client_max_window_bits=",
		pd + "; client_max_window_bits; client_max_window_bits",
		pd + "; server_max_window_bits=9; server_max_window_bits=9",
		pd + "; server_no_context_takeover; server_no_context_takeover",
		pd + "; client_no_context_takeover=true",
		pd + "; server_no_context_takeover=",
		pd + "; client_no_context_takeover; client_no_context_takeover",
		pd + ";",
		pd + ";;",
		pd + "=1",
		"Xpermessage-deflate",
		"permessage deflate",
		pd + "; =8",
	} {
		if got := new(ws.Compression).Agree(offers); got != "" {
			t.Errorf("offers %q are answered by %q, want none", offers, got)
		}
	}
	keeps := &ws.Compression{ClientContext: true}
	for offers, want := range map[string]string{
		offered: "permessage-deflate; server_no_context_takeover",
		"permessage-deflate; client_no_context_takeover": yes,
	} {
		if got := keeps.Agree(offers); got != want {
			t.Errorf("with ClientContext offers %q are answered by %q, want %q", offers, got, want)
		}
	}
}

// TestOfferOnTheWire: offers may stand in several field lines, and are read by every
// way of accepting; without Compression there is no answer to them.
func TestOfferOnTheWire(t *testing.T) {
	const lines = "Sec-WebSocket-Extensions: other; a=b\r\n" +
		"sec-websocket-extensions: " + offered + "\r\n"
	for _, compression := range []*ws.Compression{nil, {}} {
		o := &ws.Options{Compression: compression}
		want := compression.Agree(offered)
		look := func(t *testing.T, addr string) {
			res := dialRaw(t, addr, "/", lines).response()
			got := strings.Join(res.Header["Sec-Websocket-Extensions"], " and ")
			if res.StatusCode != http.StatusSwitchingProtocols || got != want {
				t.Errorf("answer: %d, extensions %q; want 101 and %q", res.StatusCode, got, want)
			}
		}
		everywhere(t, echo(o), look)
		t.Run("native", func(t *testing.T) {
			_, addr := both.Start(t, server.Config{Handler: server.HandlerFunc(
				func(x *server.Exchange) { _ = ws.AcceptExchange(x, o, ws.Handler{}) })})
			look(t, addr)
		})
	}
}

// FuzzAgree: whatever is offered, the answer is none, or one that was asked for.
func FuzzAgree(f *testing.F) {
	f.Add(offered + ", permessage-deflate")
	f.Add(`other; p="a, \" b", permessage-deflate; server_max_window_bits="9"`)
	f.Add("permessage-deflate; client_no_context_takeover; server_max_window_bits=15;")
	f.Fuzz(func(t *testing.T, offers string) {
		got := new(ws.Compression).Agree(offers)
		rest, said := strings.CutPrefix(got, yes)
		switch {
		case got == "":
		case !said || !strings.Contains(offers, "permessage-deflate"):
			t.Errorf("%q is answered by %q", offers, got)
		case rest != "" && !strings.Contains(offers, "server_max_window_bits"):
			t.Errorf("%q is answered by %q, which nobody asked for", offers, got)
		}
	})
}
