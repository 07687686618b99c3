// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"strings"
	"testing"
)

// Row B4: reserved names are refused where an untrusted name comes in.
func TestNames(t *testing.T) {
	b := Local()
	defer b.Close()
	for _, tc := range []struct {
		name string
		want error
	}{
		{"news", nil},
		{"a", nil},
		{"room/1?x=ü 雪", nil},
		{" \\x01", nil},
		{"%01", nil},
		{strings.Repeat("n", MaxChannel), nil},
		{"\x01", ErrReserved},
		{"\x01/1/", ErrReserved},
		{"\x01news", ErrReserved},
		{"\x01\x01", ErrReserved},
		{"\x01" + strings.Repeat("n", MaxChannel), ErrReserved},
		{"", ErrName},
		{"n\x01", ErrName},
		{"n\x00", ErrName},
		{"\x00\x01", ErrName},
		{"a\nb", ErrName},
		{"a\rb", ErrName},
		{"a\tb", ErrName},
		{"a\x7fb", ErrName},
		{"\xff", ErrName},
		{"a\xc0\x81b", ErrName}, // overlong \x01
		{strings.Repeat("n", MaxChannel+1), ErrName},
	} {
		if err := CheckName(tc.name); !errors.Is(err, tc.want) {
			t.Errorf("CheckName(%.20q) = %v, want %v", tc.name, err, tc.want)
		}
		if got, want := IsReserved(tc.name), errors.Is(tc.want, ErrReserved); got != want {
			t.Errorf("IsReserved(%.20q) = %v, want %v", tc.name, got, want)
		}
		before := b.Stats().Published
		if err := b.Publish(Frame{Channel: tc.name}); !errors.Is(err, tc.want) {
			t.Errorf("Publish to %.20q = %v, want %v", tc.name, err, tc.want)
		}
		if got := b.Stats().Published - before; got != 0 && tc.want != nil {
			t.Errorf("Publish to %.20q reached the channels, want refused before", tc.name)
		}
	}
}

func TestKinds(t *testing.T) {
	b := Local()
	defer b.Close()
	for _, tc := range []struct {
		kind string
		want error
	}{
		{"", nil},
		{"datastar-patch-elements", nil},
		{strings.Repeat("k", MaxKind), nil},
		{strings.Repeat("k", MaxKind+1), ErrKind},
		{"a\nid: 1", ErrKind},
		{"a\rb", ErrKind},
		{"\x00", ErrKind},
		{"\xff", ErrKind},
	} {
		if err := b.Publish(Frame{Channel: "c", Kind: tc.kind}); !errors.Is(err, tc.want) {
			t.Errorf("Publish kind %.20q = %v, want %v", tc.kind, err, tc.want)
		}
		if err := b.SendTo(0, Frame{Channel: "\x01", Kind: tc.kind}); !errors.Is(err, tc.want) {
			t.Errorf("SendTo kind %.20q = %v, want %v", tc.kind, err, tc.want)
		}
	}
	long := "\x01" + strings.Repeat("n", MaxChannel)
	if err := b.SendTo(0, Frame{Channel: long}); !errors.Is(err, ErrName) {
		t.Errorf("SendTo to %d bytes of name = %v, want ErrName", len(long), err)
	}
	if err := b.SendTo(0, Frame{Channel: long[:MaxChannel]}); err != nil {
		t.Errorf("SendTo to %d bytes of name: %v", MaxChannel, err)
	}
}
