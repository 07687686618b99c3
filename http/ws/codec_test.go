// SPDX-License-Identifier: MIT

package ws

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	key := [4]byte{1, 20, 77, 200}
	for n := range 100 {
		for first := 0; first <= n; first++ {
			got := bytes.Repeat([]byte{'x'}, n)
			next := mask(got[:first], binary.LittleEndian.Uint32(key[:]))
			mask(got[first:], next)
			for i, b := range got {
				if b != 'x'^key[i%4] {
					t.Fatalf("mask of %d bytes cut at %d: byte %d = %#x", n, first, i, b)
				}
			}
		}
	}
}

// TestTextCheck compares with unicode/utf8: what it takes can be continued to
// text, and what it refuses cannot.
func TestTextCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pool := []string{"a", "é", "€", "😀", "\x80", "\xc2", "\xe2\x82", "\xed\xa0", "\xf0\x90",
		"\xf4\x90", "\xff", "\xe0\x9f", "\xf4\x8f\xbf", strings.Repeat("plain ", 10)}
	for range 20_000 {
		var s []byte
		for range 1 + rng.IntN(5) {
			s = append(s, pool[rng.IntN(len(pool))]...)
		}
		var whole, cut textCheck
		at := rng.IntN(len(s) + 1)
		okWhole := whole.write(s)
		okCut := cut.write(s[:at]) && cut.write(s[at:])
		okBytes, bytewise := true, textCheck{}
		for i := range s {
			okBytes = okBytes && bytewise.write(s[i:i+1])
		}
		if okWhole != isPrefixOfText(s) || okCut != okWhole || okBytes != okWhole {
			t.Fatalf("write(%q) = %v, cut at %d %v, bytewise %v; want %v", s, okWhole, at, okCut,
				okBytes, isPrefixOfText(s))
		}
		if okWhole && whole.isWhole() != utf8.Valid(s) {
			t.Fatalf("isWhole(%q) = %v, want %v", s, whole.isWhole(), utf8.Valid(s))
		}
	}
}

// isPrefixOfText tries every end that could make s text.
func isPrefixOfText(s []byte) bool {
	for _, end := range []string{"", "\x80", "\xa0", "\x90", "\x80\x80", "\xa0\x80", "\x90\x80",
		"\x80\x80\x80", "\x90\x80\x80"} {
		if utf8.Valid(append(bytes.Clone(s), end...)) {
			return true
		}
	}
	return false
}

func TestFramesRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 65535, 65536} {
		payload := bytes.Repeat([]byte("y"), n)
		for _, client := range []bool{false, true} {
			wire := AppendFrame(nil, OpBinary, true, payload)
			if client {
				wire = AppendMasked(nil, OpBinary, true, [4]byte{9, 8, 7, 6}, payload)
			}
			p := Parser{FromServer: !client}
			used, piece, ok, err := p.Next(wire)
			if used != len(wire) || !ok || err != nil || !piece.First || !piece.Last ||
				piece.Op != OpBinary || !bytes.Equal(piece.Data, payload) {
				t.Errorf("%d bytes, client %v: Next = %d, %v, %v", n, client, used, ok, err)
			}
		}
	}
	p := Parser{FromServer: true}
	if _, _, _, err := p.Next(AppendMasked(nil, OpText, true, [4]byte{}, nil)); err != ErrMask {
		t.Errorf("a server that masks: %v, want ErrMask", err)
	}
}

func TestControlFrameMistakesPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"long":     func() { AppendFrame(nil, OpPing, true, make([]byte, 126)) },
		"fragment": func() { AppendFrame(nil, OpPong, false, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s control frame: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestParserLimits(t *testing.T) {
	part := func(first byte, n int) []byte {
		return AppendMasked(nil, Op(first&opBits), first&finalBit != 0, [4]byte{1, 2, 3, 4},
			make([]byte, n))
	}
	for name, tt := range map[string]struct {
		frame, message int64
		input          [][]byte
		want           error
	}{
		"the longest frame":   {100, 0, [][]byte{part(0x82, 100)}, nil},
		"a byte more":         {100, 0, [][]byte{part(0x82, 101)}, ErrFrameSize},
		"the longest message": {60, 100, [][]byte{part(0x02, 60), part(0x80, 40)}, nil},
		"a message of a byte more": {60, 100, [][]byte{part(0x02, 60), part(0x80, 41)},
			ErrMessageSize},
		"a new message starts over": {0, 100, [][]byte{part(0x82, 100), part(0x82, 100)}, nil},
		"a long control frame":      {0, 0, [][]byte{{0x89, maskBit | size16}}, ErrControl},
		"control frames are apart":  {0, 10, [][]byte{part(0x02, 10), part(0x89, 100)}, nil},
	} {
		p := Parser{MaxFrame: tt.frame, MaxMessage: tt.message}
		var err error
		for _, b := range tt.input {
			for len(b) > 0 && err == nil {
				var n int
				n, _, _, err = p.Next(b)
				b = b[n:]
			}
		}
		if err != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if _, _, _, again := p.Next([]byte{0x82}); err != nil && again != err {
			t.Errorf("%s: behind the error %v, want it again", name, again)
		}
	}
}
