// SPDX-License-Identifier: MIT

package ws_test

import (
	"fmt"
)

// goodTexts are valid: the borders of every length, noncharacters included (they
// are characters to UTF-8).
var goodTexts = []string{
	"", "plain", "Hello-µ@ßöäüàáâãåèéêëìíîï-UTF-8!!", "κόσμε", "日本語テキスト", "🙂🚀🏳️‍🌈",
	"\x00", "\x7f", "\u0080", "\u07ff", "\u0800", "\u0fff", "\u1000", "\ucfff", "\ud000",
	"\ud7ff", "\ue000", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U00010000", "\U0001fffe",
	"\U0001ffff", "\U0003ffff", "\U00040000", "\U0007ffff", "\U000fffff", "\U00100000",
	"\U0010fffe", "\U0010ffff", "a\u0301\u0327", "\u202e right to left",
}

// badTexts end in the byte that makes them bad: no continuation is text.
var badTexts = []string{
	// A continuation that continues nothing.
	"\x80", "\xbf", "a\x80", "µ\x80", "€\xbf", "\U00010000\x80",
	// Leads that do not exist.
	"\xc0", "\xc1", "\xf5", "\xf6", "\xf7", "\xf8", "\xfb", "\xfc", "\xfd", "\xfe", "\xff",
	// Overlong forms.
	"\xe0\x80", "\xe0\x9f", "\xf0\x80", "\xf0\x8f",
	// Surrogates.
	"\xed\xa0", "\xed\xa1", "\xed\xae", "\xed\xaf", "\xed\xb0", "\xed\xbe", "\xed\xbf",
	// Beyond U+10FFFF.
	"\xf4\x90", "\xf4\xbf", "\xf4\xa0",
	// A character broken off by another byte.
	"\xc2a", "\xdf\xc2", "\xe1\x80a", "\xe2\x82\xe2", "\xf1\x80\x80a", "\xf3\xbf\xbf\xf3",
	"\xe1a", "\xf1a", "\xf1\x80a", "\xc2\x00", "\xe1\x80\x00", "\xf1\x80\x80\x00",
	"\xcb\xff", "\xe1\xff", "\xf1\xff", "κόσμε\xed\xa0", "plain\xff",
}

// openTexts are the beginning of text, bad only because the message ends.
var openTexts = []string{
	"\xc2", "\xdf", "\xe0", "\xe0\xa0", "\xe1", "\xe1\x80", "\xed", "\xed\x9f", "\xef\xbf",
	"\xf0", "\xf0\x90", "\xf0\x90\x80", "\xf1\x80", "\xf4", "\xf4\x8f", "\xf4\x8f\xbf",
	"κόσμ\xce", "ab\xe2\x82",
}

// textCases are group 6.
func textCases() (cases []wireCase) {
	for i, s := range goodTexts {
		half := len(s) / 2
		cases = append(cases,
			wireCase{id: fmt.Sprintf("6.1.%d", i+1), send: txt(0x81, s), want: []got{text(s)}},
			wireCase{id: fmt.Sprintf("6.2.%d", i+1), want: []got{text(s)},
				send: join(txt(0x01, s[:half]), txt(0x00, ""), txt(0x80, s[half:]))})
	}
	for i, s := range badTexts {
		last := len(s) - 1
		cases = append(cases,
			wireCase{id: fmt.Sprintf("6.3.%d", i+1), send: txt(0x81, s+"tail"), end: 1007},
			// Neither the frame nor the message is whole: it fails all the same.
			wireCase{id: fmt.Sprintf("6.4.%d", i+1), end: 1007,
				send: frameWith(0x01, []byte{0x80 | 100}, []byte(s))},
			wireCase{id: fmt.Sprintf("6.5.%d", i+1), end: 1007,
				send: join(txt(0x01, s[:last]), txt(0x89, ""), txt(0x00, s[last:])),
				want: []got{pong("")}})
	}
	for i, s := range openTexts {
		cases = append(cases,
			wireCase{id: fmt.Sprintf("6.6.%d", i+1), send: txt(0x81, s), end: 1007},
			wireCase{id: fmt.Sprintf("6.7.%d", i+1), end: 1007,
				send: join(txt(0x01, s), txt(0x80, ""))})
	}
	for i, s := range []string{"\xff", "\xed\xa0\x80", "\x80"} { // binary is not text
		cases = append(cases, wireCase{id: fmt.Sprintf("6.8.%d", i+1), send: txt(0x82, s),
			want: []got{binary2(s)}})
	}
	return cases
}
