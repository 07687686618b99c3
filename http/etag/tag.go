// SPDX-License-Identifier: MIT

package etag

import (
	"strconv"

	"m0serve.dev/core/hash"
)

// Of makes the weak tag of a representation, from its hash and its length. The
// same bytes have the same tag in every process. The hash is quick and not
// cryptographic: two contents that were made to collide are one to it.
func Of(body []byte) string {
	var room [32]byte
	return string(appendOf(room[:0], body))
}

func appendOf(dst, body []byte) []byte {
	dst = append(dst, `W/"`...)
	dst = strconv.AppendUint(dst, hash.XXH64(body), 36)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, int64(len(body)), 36)
	return append(dst, '"')
}

// Match looks for tag in a list as If-Match and If-None-Match have it. Strong
// comparison wants both tags to be strong (RFC 9110 section 8.8.3.2). "*" is any
// tag. A list stops counting where it is malformed.
func Match[S string | []byte](list S, tag string, strong bool) bool {
	if len(list) == 1 && list[0] == '*' {
		return true
	}
	own, weak := cutWeak(tag)
	if strong && weak || len(own) < 2 {
		return false
	}
	for {
		for len(list) > 0 && (list[0] == ' ' || list[0] == '\t' || list[0] == ',') {
			list = list[1:]
		}
		rest, weak := cutWeak(list)
		end := quotedLen(rest)
		if end == 0 {
			return false
		}
		if end == len(own) && equal(rest[:end], own) && !(strong && weak) {
			return true
		}
		list = rest[end:]
	}
}

func cutWeak[S string | []byte](tag S) (opaque S, weak bool) {
	if len(tag) >= 2 && tag[0] == 'W' && tag[1] == '/' {
		return tag[2:], true
	}
	return tag, false
}

// quotedLen is the length of the opaque tag that s begins with, 0 for none.
func quotedLen[S string | []byte](s S) int {
	if len(s) == 0 || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			return i + 1
		}
	}
	return 0
}

// equal compares texts of one length.
func equal[S string | []byte](a S, b string) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// matchesAny is Match for the lines of a field and several tags.
func matchesAny(lines, tags []string, strong bool) bool {
	for _, line := range lines {
		for _, tag := range tags {
			if Match(line, tag, strong) {
				return true
			}
		}
	}
	return false
}
