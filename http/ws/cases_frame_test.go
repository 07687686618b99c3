// SPDX-License-Identifier: MIT

package ws_test

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// framingCases are group 1: text and binary at every border of the length field.
func framingCases() (cases []wireCase) {
	for i, n := range []int{0, 1, 125, 126, 127, 128, 1000, 65535, 65536, 65537} {
		s := strings.Repeat("*", n)
		cases = append(cases,
			wireCase{id: fmt.Sprintf("1.1.%d", i+1), send: txt(0x81, s), want: []got{text(s)}},
			wireCase{id: fmt.Sprintf("1.2.%d", i+1), send: txt(0x82, s), want: []got{binary2(s)}})
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return append(cases, wireCase{id: "1.3.1", send: frame(0x82, every),
		want: []got{{0x82, every}}},
		wireCase{id: "1.3.2", send: join(txt(0x81, "a"), txt(0x82, "b"), txt(0x81, "c")),
			want: []got{text("a"), binary2("b"), text("c")}})
}

// pingCases are group 2.
func pingCases() []wireCase {
	long := strings.Repeat("\xfe", 125)
	var ten []byte
	var pongs []got
	for i := range 10 {
		s := fmt.Sprintf("payload-%d", i)
		ten = append(ten, txt(0x89, s)...)
		pongs = append(pongs, pong(s))
	}
	return []wireCase{
		{id: "2.1", send: txt(0x89, ""), want: []got{pong("")}},
		{id: "2.2", send: txt(0x89, "Hello, world!"), want: []got{pong("Hello, world!")}},
		{id: "2.3", send: txt(0x89, "\x00\xff\xfe\xfd\x00"), want: []got{pong("\x00\xff\xfe\xfd\x00")}},
		{id: "2.4", send: txt(0x89, long), want: []got{pong(long)}},
		{id: "2.5", send: txt(0x89, long+"x"), end: 1002},
		{id: "2.6", send: txt(0x8a, "")},
		{id: "2.7", send: txt(0x8a, "unasked")},
		{id: "2.8", send: join(txt(0x8a, "unasked"), txt(0x89, "p")), want: []got{pong("p")}},
		{id: "2.9", send: ten, want: pongs},
		{id: "2.10", send: txt(0x8a, long+"x"), end: 1002},
		{id: "2.11", send: join(txt(0x89, "a"), txt(0x81, "t"), txt(0x89, "b")),
			want: []got{pong("a"), text("t"), pong("b")}},
	}
}

// reservedCases are groups 3 and 4: reserved bits and opcodes, alone, behind a
// message, behind a ping, inside of a fragmented message.
func reservedCases() (cases []wireCase) {
	add := func(id string, first byte) {
		bad := txt(first, "bad")
		cases = append(cases,
			wireCase{id: id + ".1", send: bad, end: 1002},
			wireCase{id: id + ".2", send: join(txt(0x81, "good"), bad, txt(0x89, "")),
				want: []got{text("good")}, end: 1002},
			wireCase{id: id + ".3", send: join(txt(0x89, "p"), txt(first, "")),
				want: []got{pong("p")}, end: 1002},
			wireCase{id: id + ".4", send: join(txt(0x01, "half"), bad), end: 1002})
	}
	for rsv := byte(1); rsv <= 7; rsv++ {
		add(fmt.Sprintf("3.%d", rsv), 0x81|rsv<<4)
	}
	for i, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		add(fmt.Sprintf("4.%d", i+1), 0x80|op)
	}
	for i, first := range []byte{0x98, 0xa9, 0xca, 0x40} { // bits on control and continuation
		cases = append(cases, wireCase{id: fmt.Sprintf("3.8.%d", i+1),
			send: txt(first, ""), end: 1002})
	}
	// The first byte is enough.
	return append(cases, wireCase{id: "3.9", send: []byte{0xc1}, end: 1002},
		wireCase{id: "4.11", send: []byte{0x83}, end: 1002})
}

// fragmentCases are group 5.
func fragmentCases() []wireCase {
	two := join(txt(0x01, "frag1"), txt(0x80, "frag2"))
	whole := []got{text("frag1frag2")}
	ping := txt(0x89, "p")
	cases := []wireCase{
		{id: "5.1", send: join(txt(0x09, "p1"), txt(0x80, "p2")), end: 1002},
		{id: "5.2", send: join(txt(0x0a, "p1"), txt(0x80, "p2")), end: 1002},
		{id: "5.3", send: two, want: whole},
		{id: "5.4", send: join(txt(0x02, "\xff"), txt(0x80, "\x00")), want: []got{binary2("\xff\x00")}},
		{id: "5.5", send: join(two, two), want: append(whole, whole...)},
		{id: "5.6", send: join(txt(0x01, "frag1"), ping, txt(0x80, "frag2")),
			want: []got{pong("p"), text("frag1frag2")}},
		{id: "5.7", send: join(txt(0x01, "frag1"), txt(0x8a, "x"), txt(0x80, "frag2")), want: whole},
		{id: "5.8", send: join(txt(0x01, ""), txt(0x00, ""), txt(0x80, "")), want: []got{text("")}},
		{id: "5.9", send: join(txt(0x01, ""), txt(0x00, "mid"), txt(0x80, "")), want: []got{text("mid")}},
		{id: "5.10", send: join(txt(0x80, "nothing to continue"), txt(0x81, "x")), end: 1002},
		{id: "5.11", send: txt(0x00, "nothing to continue"), end: 1002},
		{id: "5.12", send: join(two, txt(0x80, "done already")), want: whole, end: 1002},
		{id: "5.13", send: join(two, txt(0x00, "done already")), want: whole, end: 1002},
		{id: "5.14", send: join(txt(0x01, "frag1"), txt(0x81, "another")), end: 1002},
		{id: "5.15", send: join(txt(0x01, "frag1"), txt(0x02, "another")), end: 1002},
		{id: "5.16", send: join(txt(0x02, "frag1"), txt(0x01, "another")), end: 1002},
		{id: "5.17", send: join(txt(0x01, "frag1"), ping, txt(0x82, "another")),
			want: []got{pong("p")}, end: 1002},
		{id: "5.18", send: join(txt(0x01, "1"), ping, txt(0x00, "2"), ping, txt(0x80, "3")),
			want: []got{pong("p"), pong("p"), text("123")}},
		{id: "5.19", send: join(txt(0x01, "frag1"), txt(0x88, "\x03\xe8")),
			want: []got{{0x88, []byte("\x03\xe8")}}, end: ended},
		{id: "5.20", send: txt(0x08, "\x03\xe8"), end: 1002},
	}
	return append(cases, splitCases()...)
}

// splitCases cut one text at every byte into two fragments, and into as many as it
// has bytes, with a ping in every gap.
func splitCases() (cases []wireCase) {
	const s = "Hello-µ@ßöäüàá-UTF-8!!"
	for i := range len(s) + 1 {
		cases = append(cases, wireCase{id: fmt.Sprintf("5.21.%d", i),
			send: join(txt(0x01, s[:i]), txt(0x80, s[i:])), want: []got{text(s)}})
	}
	var single, pinged []byte
	var want []got
	for i := range len(s) {
		first := byte(0x00)
		if i == 0 {
			first = 0x01
		}
		single = append(single, txt(first, s[i:i+1])...)
		pinged = append(pinged, join(txt(first, s[i:i+1]), txt(0x89, s[:i]))...)
		want = append(want, pong(s[:i]))
	}
	end := txt(0x80, "")
	return append(cases,
		wireCase{id: "5.22", send: join(single, end), want: []got{text(s)}},
		wireCase{id: "5.23", send: join(pinged, end), want: append(want, text(s))})
}

// lengthCases are what the groups leave out: masks, lengths that are not minimal
// or absurd, and limits.
func lengthCases() []wireCase {
	be16 := func(n int) []byte { return binary.BigEndian.AppendUint16([]byte{0xfe}, uint16(n)) }
	be64 := func(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{0xff}, n) }
	long := make([]byte, 126)
	return []wireCase{
		{id: "8.1", send: []byte{0x81, 0x00}, end: 1002}, // no mask
		{id: "8.2", send: []byte{0x81, 0x05, 'h', 'e', 'l', 'l', 'o'}, end: 1002},
		{id: "8.3", send: []byte{0x89, 0x00}, end: 1002},
		{id: "8.4", send: []byte{0x81, 0x7e}, end: 1002},
		{id: "8.5", send: frameWith(0x81, be16(0), nil), end: 1002},
		{id: "8.6", send: frameWith(0x81, be16(125), long[:125]), end: 1002},
		{id: "8.7", send: frameWith(0x82, be16(126), long), want: []got{{0x82, long}}},
		{id: "8.8", send: frameWith(0x81, be64(126), long), end: 1002},
		{id: "8.9", send: frameWith(0x81, be64(65535), nil), end: 1002},
		{id: "8.10", send: frameWith(0x81, be64(1<<63), nil), end: 1002},
		{id: "8.11", send: frameWith(0x81, be64(1<<64-1), nil), end: 1002},
		{id: "8.12", send: frameWith(0x82, be64(1<<63-1), nil), end: 1009},
		{id: "8.13", send: frameWith(0x82, be64(suiteFrame+1), nil), end: 1009},
		{id: "8.14", send: join(txt(0x81, "ok"), frameWith(0x01, be64(1<<40), nil)),
			want: []got{text("ok")}, end: 1009},
		{id: "8.15", send: frameWith(0x89, be16(126), long), end: 1002},
		{id: "8.16", send: frameWith(0x88, be64(1<<20), nil), end: 1002},
		{id: "8.17", send: []byte{0x89, 0xfe}, end: 1002}, // a long control frame, two bytes suffice
	}
}
