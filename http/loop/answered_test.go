// SPDX-License-Identifier: MIT

package loop

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAnswerField(t *testing.T) {
	x := &Exchange{}
	for name, value := range map[string]string{
		"Server": "m0", "X-Empty": "", "Server-Timing": "db;dur=5",
	} {
		if err := x.Field(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for lower, want := range map[string]string{
		"server": "m0", "x-empty": "", "server-timing": "db;dur=5",
	} {
		if got, found := x.AnswerField(lower); string(got) != want || !found {
			t.Errorf("AnswerField(%q) = %q, %v; want %q", lower, got, found, want)
		}
	}
	for _, lower := range []string{"serve", "erver", "etag", "db;dur=5", ""} {
		if got, found := x.AnswerField(lower); found {
			t.Errorf("AnswerField(%q) = %q; want none", lower, got)
		}
	}
}

func TestAnswerFields(t *testing.T) {
	x := &Exchange{}
	for _, f := range []string{"A: 1", "B: x:y", "a: "} {
		name, value, _ := strings.Cut(f, ": ")
		if err := x.Field(name, value); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	for name, value := range x.AnswerFields() {
		got += name + "=" + value + ";"
	}
	if want := "A=1;B=x:y;a=;"; got != want {
		t.Errorf("AnswerFields = %q; want %q", got, want)
	}
	for name := range x.AnswerFields() {
		if name != "A" {
			t.Errorf("AnswerFields goes on behind a break: %q", name)
		}
		break
	}
}

func TestSetPeerLastsForOneRequest(t *testing.T) {
	c := &conn{peer: netip.MustParseAddrPort("127.0.0.1:1")}
	x := &Exchange{}
	x.reset(nil, c, nil)
	x.SetPeer(netip.MustParseAddrPort("198.51.100.1:0"))
	if got := x.RemoteAddr(); got != "198.51.100.1:0" {
		t.Errorf("RemoteAddr = %s; want what was set", got)
	}
	if x.reset(nil, c, nil); x.Peer() != c.peer {
		t.Errorf("Peer of the next request = %v; want %v", x.Peer(), c.peer)
	}
}
