// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What a socket may send. A message that is longer than any that is meant closes it
// with 1009.
const (
	textMax      = 1000 // characters of a text
	nameMax      = 24   // of a name
	keyLeast     = 16   // bytes of the secret that tells somebody from others
	keyMax       = 64
	refMax       = 40
	messageBytes = 16 << 10

	talkBurst   = 8 // texts at once
	talkEvery   = 500 * time.Millisecond
	typingBurst = 2
	typingEvery = time.Second
	refusalsMax = 40 // in a row; then the socket is closed with 1008

	enterWait = 10 * time.Second // until somebody has said who he is
)

// A bucket bounds a rate: burst at once, and one more each period. The zero value
// is full.
type bucket struct {
	next time.Time // when it is full again
}

// take takes one, or returns how long there is none.
func (b *bucket) take(now time.Time, burst int, every time.Duration) (wait time.Duration) {
	if b.next.Before(now) {
		b.next = now
	}
	full := b.next.Add(every)
	if wait = full.Sub(now) - time.Duration(burst)*every; wait > 0 {
		return wait
	}
	b.next = full
	return 0
}

// cleanText takes away what nobody sees: blanks around the text, blank lines in a row,
// characters that steer a terminal.
func cleanText(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	lines := strings.Split(s, "\n")
	kept, blank := lines[:0], 0
	for _, line := range lines {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if blank++; line != "" {
			blank = 0
		}
		if blank < 2 {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// cleanName makes a name one line without characters that hide or turn others; "" is
// none.
func cleanName(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != zeroWidthJoiner {
			return -1
		}
		return r
	}, s)
	visible := strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
	})
	if !visible || utf8.RuneCountInString(s) > nameMax {
		return ""
	}
	return s
}

const zeroWidthJoiner = '\u200d' // emoji are made with it

// isRoom reports whether a room may have that name.
func isRoom(s string) bool {
	return len(s) >= 1 && len(s) <= nameMax && strings.Trim(s, "-") == s &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
		})
}
