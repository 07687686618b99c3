// SPDX-License-Identifier: MIT

package ws

import (
	"strconv"
	"strings"
)

// deflateName is the extension of RFC 7692.
const deflateName = "permessage-deflate"

// The bounds of a window's exponent (RFC 7692, section 7.1.2).
const (
	windowBitsMin = 8
	windowBitsMax = 15
)

// An agreement is what both sides have said about compression. The zero value is
// none.
type agreement struct {
	serverBits  uint8 // of the window of what we send; 0: nothing was agreed
	clientBits  uint8 // … of what we are sent
	clientKeeps bool  // what we are sent may refer to earlier messages
	saysBits    bool  // the answer has to name serverBits
}

// agree takes the first offer that can be kept to; list is what the client's
// Sec-WebSocket-Extensions say.
func (z *Compression) agree(list string) (a agreement) {
	if z == nil {
		return a
	}
	for _, offer := range splitOutside(list, ',') {
		if a = z.consider(offer); a.serverBits != 0 {
			return a
		}
	}
	return agreement{}
}

// consider reads one offer. One with a parameter that is unknown, doubled or wrong
// is declined (RFC 7692, section 7.1): the answer is the zero value.
func (z *Compression) consider(offer string) agreement {
	parts := splitOutside(offer, ';')
	if strings.TrimSpace(parts[0]) != deflateName {
		return agreement{}
	}
	a := agreement{serverBits: windowBitsMax, clientBits: windowBitsMax,
		clientKeeps: z.ClientContext}
	var seen [4]bool
	for _, p := range parts[1:] {
		at := a.take(p)
		if at < 0 || seen[at] {
			return agreement{}
		}
		seen[at] = true
	}
	return a
}

// take reads one parameter of an offer and tells which it was; -1: it is wrong.
func (a *agreement) take(parameter string) (which int) {
	name, value, valued := strings.Cut(parameter, "=")
	value, whole := unquote(strings.TrimSpace(value))
	bits := windowBits(value)
	switch strings.TrimSpace(name) {
	case "server_no_context_takeover":
		if valued {
			return -1
		}
		return 0 // as always
	case "client_no_context_takeover":
		if valued {
			return -1
		}
		a.clientKeeps = false
		return 1
	case "server_max_window_bits":
		if bits == 0 || !whole {
			return -1
		}
		a.serverBits, a.saysBits = bits, true
		return 2
	case "client_max_window_bits":
		if valued && (bits == 0 || !whole) {
			return -1
		}
		if valued {
			a.clientBits = bits
		}
		return 3
	}
	return -1
}

// windowBits reads an exponent; 0: it is none.
func windowBits(s string) uint8 {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || n < windowBitsMin || n > windowBitsMax || s[0] == '0' || s[0] == '+' {
		return 0
	}
	return uint8(n)
}

// String is the agreement as the answer says it; "" when there is none. That a side
// keeps no context may be said without having been asked for (sections 7.1.1.1 and
// 7.1.1.2).
func (a agreement) String() string {
	if a.serverBits == 0 {
		return ""
	}
	said := deflateName + "; server_no_context_takeover"
	if !a.clientKeeps {
		said += "; client_no_context_takeover"
	}
	if a.saysBits {
		said += "; server_max_window_bits=" + strconv.Itoa(int(a.serverBits))
	}
	return said
}

// splitOutside splits s at every sep that is not in a quoted string (RFC 9110,
// section 5.6.4).
func splitOutside(s string, sep byte) (parts []string) {
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == sep && !quoted:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

// unquote reads a value, which may be a quoted string; false: the quotes are wrong.
func unquote(s string) (string, bool) {
	if !strings.Contains(s, `"`) {
		return s, true
	}
	inner, ok := strings.CutPrefix(s, `"`)
	if inner, ok2 := strings.CutSuffix(inner, `"`); ok && ok2 && !strings.Contains(inner, `"`) {
		return strings.ReplaceAll(inner, `\`, ""), true
	}
	return "", false
}
