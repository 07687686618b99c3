// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"net/netip"
	"strings"
)

// Host takes what IsHost is true of, with or without the brackets of an IPv6
// address, and stores it without.
func Host(to *string) func(string) error {
	return func(v string) error {
		bare := v
		if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
			bare = v[1 : len(v)-1]
		}
		if bare == "" || !IsHost(bare) {
			return errors.New("set it to an address or a name, such as 127.0.0.1 or 0.0.0.0; " +
				"the port goes to --port")
		}
		*to = bare
		return nil
	}
}

// IsHost tells whether v may be a host to listen at: an address, a name for the
// resolver, or nothing. It is none when it IsScheme, or an IPv4 address with a number
// above 255: asking the resolver for those only takes time.
func IsHost(v string) bool {
	_, errAddr := netip.ParseAddr(v)
	switch {
	case strings.Contains(v, ":"), isDotted(v):
		return errAddr == nil
	case IsScheme(v):
		return false
	}
	for _, r := range v {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`/\?#@[]%"',`, r) {
			return false
		}
	}
	return true
}

// IsScheme tells whether v is the beginning of an address of another kind, whose rest was
// left out, as in --bind unix.
func IsScheme(v string) bool { return v == "unix" || v == "fd" || v == "tcp" }

// isDotted reports four numbers, of any size.
func isDotted(v string) bool {
	return strings.Count(v, ".") == 3 && strings.Trim(v, "0123456789.") == ""
}
