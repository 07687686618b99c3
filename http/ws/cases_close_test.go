// SPDX-License-Identifier: MIT

package ws_test

import (
	"fmt"
	"strings"
)

// closeCases are group 7.
func closeCases() (cases []wireCase) {
	closed := func(payload string) []got { return []got{{0x88, []byte(payload)}} }
	bye := txt(0x88, "\x03\xe8")
	long := strings.Repeat("*", 123)
	cases = []wireCase{
		{id: "7.1.1", send: join(txt(0x81, "m"), bye), end: ended,
			want: append([]got{text("m")}, closed("\x03\xe8")...)},
		{id: "7.1.2", send: join(bye, bye), want: closed("\x03\xe8"), end: ended},
		{id: "7.1.3", send: join(bye, txt(0x89, "late")), want: closed("\x03\xe8"), end: ended},
		{id: "7.1.4", send: join(bye, txt(0x81, "late")), want: closed("\x03\xe8"), end: ended},
		{id: "7.1.5", send: join(txt(0x01, "half"), bye, txt(0x80, "late")),
			want: closed("\x03\xe8"), end: ended},
		{id: "7.1.6", send: join(bye, []byte{0xff, 0xff, 0xff}), want: closed("\x03\xe8"), end: ended},
		{id: "7.3.1", send: txt(0x88, ""), want: closed(""), end: ended},
		{id: "7.3.2", send: txt(0x88, "\x03"), end: 1002},
		{id: "7.3.3", send: bye, want: closed("\x03\xe8"), end: ended},
		{id: "7.3.4", send: txt(0x88, "\x03\xe8bye"), want: closed("\x03\xe8"), end: ended},
		{id: "7.3.5", send: txt(0x88, "\x03\xe8"+long), want: closed("\x03\xe8"), end: ended},
		{id: "7.3.6", send: txt(0x88, "\x03\xe8"+long+"*"), end: 1002},
		{id: "7.5.1", send: txt(0x88, "\x03\xe8κόσμ\xce"), end: 1007},
		{id: "7.5.2", send: txt(0x88, "\x03\xe8\xed\xa0\x80"), end: 1007},
		{id: "7.5.3", send: txt(0x88, "\x03\xe8κόσμε"), want: closed("\x03\xe8"), end: ended},
	}
	for _, code := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013,
		1014, 3000, 3999, 4000, 4999} {
		p := string(closePayload(code, ""))
		cases = append(cases, wireCase{id: fmt.Sprintf("7.7.%d", code), send: txt(0x88, p+"why"),
			want: closed(p), end: ended})
	}
	for _, code := range []int{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000,
		9999, 65535} {
		cases = append(cases, wireCase{id: fmt.Sprintf("7.9.%d", code),
			send: frame(0x88, closePayload(code, "why")), end: 1002})
	}
	return cases
}

// largeCases are groups 9 and 10: messages up to the limit, whole and in fragments.
func largeCases() (cases []wireCase) {
	for i, n := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		s := strings.Repeat("0123456789abcdeµ", n/17)
		cases = append(cases,
			wireCase{id: fmt.Sprintf("9.1.%d", i+1), send: txt(0x81, s), want: []got{text(s)}},
			wireCase{id: fmt.Sprintf("9.2.%d", i+1), send: txt(0x82, s), want: []got{binary2(s)}})
	}
	s := strings.Repeat("abcdefgh", suiteMessage/8)
	half := len(s) / 2
	cases = append(cases,
		wireCase{id: "9.3.1", send: fragments(s, 2<<20), want: []got{text(s)}},
		wireCase{id: "9.3.2", want: []got{pong("x"), text(s)},
			send: join(txt(0x01, s[:half]), txt(0x89, "x"), txt(0x80, s[half:]))},
		wireCase{id: "9.3.3", end: 1009,
			send: join(txt(0x01, s[:half]), txt(0x00, s[:half]), txt(0x00, "x"))})
	for i, n := range []int{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10} {
		part := s[:1<<20]
		cases = append(cases, wireCase{id: fmt.Sprintf("9.4.%d", i+1), send: fragments(part, n),
			want: []got{text(part)}})
	}
	for i, n := range []int{0, 16, 64, 256, 1024} { // many messages in one go
		var send []byte
		var want []got
		for range 300 {
			send = append(send, txt(0x81, s[:n])...)
			want = append(want, text(s[:n]))
		}
		cases = append(cases, wireCase{id: fmt.Sprintf("9.7.%d", i+1), send: send, want: want})
	}
	return append(cases, wireCase{id: "10.1.1", send: fragments(s[:65536], 1300),
		want: []got{text(s[:65536])}})
}

// fragments cuts a text into frames of n bytes.
func fragments(s string, n int) (send []byte) {
	first := byte(0x01)
	for len(s) > n {
		send = append(send, txt(first, s[:n])...)
		s, first = s[n:], 0x00
	}
	return append(send, txt(first|0x80, s)...)
}
