// SPDX-License-Identifier: MIT

package bus

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// The wire format is pinned byte for byte: processes of two builds may meet
// during a rolling restart.
func TestCodecBytes(t *testing.T) {
	f := Frame{ID: 0x0102030405060708, Channel: "ch", Kind: "k", Origin: 3, Body: []byte("body")}
	const want = "b5010001" + "0200" + "0000" + "0807060504030201" + "03000000" + "04000000" +
		"6368" + "6b" + "626f6479"
	if got := hex.EncodeToString(appendFrame(nil, &f, false)); got != want {
		t.Errorf("appendFrame(%+v) = %s, want %s", f, got, want)
	}
	const large = "b5010101" + "0200" + "0000" + "0807060504030201" + "03000000" + "04000000" +
		"6368" + "6b"
	if got := hex.EncodeToString(appendFrame(nil, &f, true)); got != large {
		t.Errorf("appendFrame(%+v, large) = %s, want %s", f, got, large)
	}
}

func TestCodecRoundTrip(t *testing.T) {
	for _, f := range []Frame{
		{Channel: "c"},
		{ID: 1, Channel: "c", Kind: "k", Origin: NoOrigin, Body: []byte{0}},
		{ID: 1<<64 - 1, Channel: strings.Repeat("c", MaxChannel),
			Kind: strings.Repeat("k", MaxKind),
			Body: bytes.Repeat([]byte("b"), inlineBody)},
	} {
		for _, large := range []bool{false, true} {
			data := appendFrame(nil, &f, large)
			if len(data) > datagramBytes {
				t.Errorf("a datagram of %d bytes, want at most %d", len(data), datagramBytes)
			}
			v, err := decode(data)
			if err != nil {
				t.Fatalf("decode(%d bytes) = %v", len(data), err)
			}
			same := v.id == f.ID && v.origin == f.Origin && v.large == large &&
				string(v.channel) == f.Channel && string(v.kind) == f.Kind && v.bytes == len(f.Body)
			if !same || (!large && !bytes.Equal(v.body, f.Body)) {
				t.Errorf("decode(%d bytes) = %+v, want %+v", len(data), v, f)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := appendFrame(nil, &Frame{ID: 1, Channel: "ch", Kind: "k", Body: []byte("body")}, false)
	with := func(at int, b ...byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], b)
		return data
	}
	for _, tc := range []struct {
		what string
		data []byte
		want error
	}{
		{"nothing", nil, errShort},
		{"a short head", good[:codecHead-1], errShort},
		{"another magic", with(0, 0), errMagic},
		{"another version", with(1, 2), errMagic},
		{"an unknown flag", with(2, 2), errFlags},
		{"reserved bits", with(7, 1), errFlags},
		{"no channel", with(4, 0), errNameless},
		{"a long channel", with(4, 1, 2), errLimits},
		{"a body over the limit", with(20, 1, 0, 0x40, 0), errLimits},
		{"a body of 4 GiB", with(20, 255, 255, 255, 255), errLimits},
		{"a byte missing", good[:len(good)-1], errLength},
		{"a byte too many", append(bytes.Clone(good), 0), errLength},
		{"a body beside a descriptor", with(2, flagLarge), errLength},
	} {
		if v, err := decode(tc.data); !errors.Is(err, tc.want) {
			t.Errorf("decode of %s = %+v, %v; want %v", tc.what, v, err, tc.want)
		}
	}
}

// Whatever decodes is exactly what encoding it again gives.
func FuzzDecode(f *testing.F) {
	for _, frame := range []Frame{
		{Channel: "c"},
		{ID: 7, Channel: "news", Kind: "added", Origin: 1, Body: []byte("data: x\n\n")},
		{ID: 1 << 60, Channel: "\x01journal", Origin: NoOrigin},
	} {
		f.Add(appendFrame(nil, &frame, false))
		f.Add(appendFrame(nil, &frame, true))
	}
	f.Add([]byte("\xb5\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decode(data)
		if err != nil {
			return
		}
		frame := Frame{
			ID: v.id, Origin: v.origin, Channel: string(v.channel), Kind: string(v.kind),
			Body: v.body,
		}
		if v.large {
			frame.Body = make([]byte, v.bytes)
		}
		if again := appendFrame(nil, &frame, v.large); !bytes.Equal(again, data) {
			t.Fatalf("decode(%x) = %+v, which encodes to %x", data, v, again)
		}
	})
}

// TestDecodeHeadAlone: a head is long enough to be read, and tells what is missing.
func TestDecodeHeadAlone(t *testing.T) {
	head := appendFrame(nil, &Frame{Channel: "c"}, false)[:codecHead]
	for n, want := range map[int]error{codecHead - 1: errShort, codecHead: errLength} {
		if _, err := decode(head[:n]); err != want {
			t.Errorf("decode of %d bytes = %v, want %v", n, err, want)
		}
	}
}
