// SPDX-License-Identifier: MIT

package socket

import (
	"strings"
	"testing"

	"m0serve.dev/http/ws"
)

// FuzzParseClose: what an application may say in M0-Close is a frame that travels.
func FuzzParseClose(f *testing.F) {
	for _, s := range []string{"4001 go away", "1000", "1005", " 3000  x ", "4001\tx", "-1", "99999",
		"4001 " + strings.Repeat("x", 124), "4001 \xff", "04001 x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, reason, err := parseClose(text)
		if err != nil {
			return
		}
		frame, err := ws.AppendClose(nil, code, reason)
		if err != nil {
			t.Fatalf("parseClose(%q) = %d %q, which no frame holds: %v", text, code, reason, err)
		}
		if code == ws.CodeNoStatus {
			return
		}
		back, backReason, err := ws.ParseClose(frame[2:])
		if err != nil || back != code || string(backReason) != reason {
			t.Fatalf("parseClose(%q) = %d %q, read by a client as %d %q, %v", text, code, reason, back,
				backReason, err)
		}
	})
}

// FuzzSplitChannels: no name is empty, has a comma or a space around it, and names that
// are listed come back.
func FuzzSplitChannels(f *testing.F) {
	for _, s := range []string{"a", "a, b", ",,", " a ,b", "\u00a0a", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names := splitChannels(list)
		for _, name := range names {
			if name == "" || strings.Contains(name, ",") || strings.TrimSpace(name) != name {
				t.Fatalf("splitChannels(%q) has %q", list, name)
			}
		}
		again := splitChannels(strings.Join(names, " , "))
		if strings.Join(again, ",") != strings.Join(names, ",") {
			t.Fatalf("splitChannels(%q) = %q, again %q", list, names, again)
		}
	})
}
