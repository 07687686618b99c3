// SPDX-License-Identifier: MIT

package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

const noBound = 1 << 30

// samples are texts of all kinds.
func samples() map[string][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	few := bytes.Clone(noise)
	for i := range few {
		few[i] = "abcdefgh \n"[few[i]%10]
	}
	return map[string][]byte{
		"empty": nil, "letter": []byte("a"), "hello": []byte("Hello"),
		"json":  []byte(strings.Repeat(`{"user":"ann","text":"hello, world","at":1234567},`, 700)),
		"zeros": make([]byte, 70_000), "noise": noise, "few": few,
		"far": append(append(bytes.Clone(noise[:30_000]), make([]byte, 2_700)...), noise[:30_000]...),
	}
}

// deflate is what the standard library makes of b, flushed and not ended.
func deflate(tb testing.TB, b []byte, level int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// inflated gives z the input in pieces.
func inflated(input []byte, piece, bound int) ([]byte, bool, error) {
	var z Inflater
	var out []byte
	var err error
	for len(input) > 0 && err == nil {
		n := min(piece, len(input))
		out, err = z.Append(out, input[:n:n], bound)
		input = input[n:]
	}
	return out, z.IsBetween(), err
}

// TestAppend: what the standard library compresses comes back, however it is cut.
func TestAppend(t *testing.T) {
	for name, want := range samples() {
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, 6, 9, flate.HuffmanOnly} {
			input := deflate(t, want, level)
			for _, piece := range []int{len(input), 1, 4093} {
				if piece == 1 && len(input) > 1000 {
					piece = 97
				}
				got, between, err := inflated(input, piece, len(want))
				if err != nil || !between || !bytes.Equal(got, want) {
					t.Errorf("%s, level %d, pieces of %d: Append = %d bytes, %v, between blocks %v; want %d",
						name, level, piece, len(got), err, between, len(want))
				}
			}
		}
	}
}

// TestBound: not a byte comes beyond the bound, wherever it lies.
func TestBound(t *testing.T) {
	want := samples()["json"][:2000]
	for _, level := range []int{flate.NoCompression, 6, flate.HuffmanOnly} {
		input := deflate(t, want, level)
		for bound := 0; bound < len(want); bound += 7 {
			got, _, err := inflated(input, len(input), bound)
			if !errors.Is(err, ErrTooLong) || !bytes.HasPrefix(want, got) || len(got) > bound {
				t.Fatalf("level %d: %d bytes, %v within %d, want ErrTooLong", level, len(got), err, bound)
			}
		}
	}
}

// TestBoundOfBlocks: what came before counts.
func TestBoundOfBlocks(t *testing.T) {
	const input = "\x00\x05\x00\xfa\xffHello\x00\x05\x00\xfa\xffHello"
	for bound := range 10 {
		got, _, err := inflated([]byte(input), len(input), bound)
		if !errors.Is(err, ErrTooLong) || string(got) != "HelloHello"[:bound] {
			t.Errorf("Append = %q, %v within %d, want ErrTooLong", got, err, bound)
		}
	}
}

// TestBomb: a bomb costs its bound and no more.
func TestBomb(t *testing.T) {
	const bound = 1 << 20
	bomb := deflate(t, make([]byte, 16<<20), 1)
	var z Inflater
	got, err := z.Append(nil, bomb, bound)
	if !errors.Is(err, ErrTooLong) || cap(got) > 2*bound {
		t.Errorf("%d bytes of a bomb: Append = %d bytes of %d, %v; want ErrTooLong and at most %d",
			len(bomb), len(got), cap(got), err, 2*bound)
	}
	more, err := z.Append(got, bomb, noBound)
	if !errors.Is(err, ErrTooLong) || len(more) != len(got) {
		t.Errorf("Append behind it = %d bytes, %v; want it to stay ErrTooLong", len(more), err)
	}
}

// TestBlocks: blocks follow each other, also behind one that is marked as final
// (RFC 7692, section 7.2.3.4).
func TestBlocks(t *testing.T) {
	for name, tc := range map[string]struct{ input, want string }{
		"fixed":       {"\xf2\x48\xcd\xc9\xc9\x07\x00\x00\x00\xff\xff", "Hello"},
		"final":       {"\xf3\x48\xcd\xc9\xc9\x07\x00\x00\x00\x00\xff\xff", "Hello"},
		"final alone": {"\xf3\x48\xcd\xc9\xc9\x07\x00", "Hello"},
		"two": {"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00\x00\x00\xff\xff",
			"Hello"},
		"stored": {"\x00\x05\x00\xfa\xffHello\x00\x00\x00\xff\xff", "Hello"},
		"behind a final": {"\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x00\x11\x00\x00\x00\x00\xff\xff",
			"HelloHello"},
	} {
		for piece := 1; piece <= len(tc.input); piece++ {
			got, between, err := inflated([]byte(tc.input), piece, noBound)
			if string(got) != tc.want || !between || err != nil {
				t.Errorf("%s, pieces of %d: Append = %q, %v, between %v; want %q",
					name, piece, got, err, between, tc.want)
			}
		}
	}
}

// TestDamaged: what is no deflate data is told, at the bit that shows it.
func TestDamaged(t *testing.T) {
	for name, input := range map[string]string{
		"reserved block":     "\x07",
		"stored check":       "\x00\x05\x00\xfa\xfe",
		"too many literals":  "\xfd\xff\xff",
		"distance too far":   "\x02\x11\x00",
		"order overflows":    "\x05\x00\x92\x24\x49\x92\x24\x49\x92",
		"repeats nothing":    "\x04\x00\x12\x00",
		"distance 30":        "\x4b\x04\xf3\x01",
		"length 286":         "\x1b\x03\x00\x00",
		"incomplete lengths": "\x04\x00\x00\x09\x00\x00",
	} {
		got, _, err := inflated([]byte(input), 1, noBound)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Append = %q, %v; want ErrDamaged", name, got, err)
		}
		if _, theirs := io.ReadAll(flate.NewReader(strings.NewReader(input))); theirs == nil {
			t.Errorf("%s: the standard library reads it", name)
		}
	}
}

// TestWindow: a match may reach 32 KiB back and no byte further than there is.
func TestWindow(t *testing.T) {
	noise := samples()["noise"][:1<<15]
	input := deflate(t, append(bytes.Clone(noise), noise...), 9)
	got, _, err := inflated(input, 1000, noBound)
	if err != nil || !bytes.Equal(got[len(noise):], noise) {
		t.Fatalf("Append = %d bytes, %v; want the same %d bytes twice", len(got), err, len(noise))
	}
	var z Inflater
	got, err = z.Append([]byte("Hello"), []byte("\x02\x11\x00"), noBound)
	if string(got) != "HelloHell" {
		t.Errorf("behind Hello: Append = %q, %v; want HelloHell", got, err)
	}
}

// FuzzAppend: what this package and the standard library make of any bytes is the
// same, whole, cut, and byte by byte.
func FuzzAppend(f *testing.F) {
	for _, want := range samples() {
		want = want[:min(len(want), 3000)]
		for _, level := range []int{flate.NoCompression, 1, 9, flate.HuffmanOnly} {
			f.Add(deflate(f, want, level), uint16(len(want)/2))
		}
	}
	for _, seed := range []string{"$0\x00 0", "\x04\x00\x12\x00", "\x07", "\x4b\x04\xf3\x01"} {
		f.Add([]byte(seed), uint16(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		const bound = 1 << 20
		// Theirs ends with a block that is marked as final, ours does not.
		theirs, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(input)), bound+1))
		whole, between, ours := inflated(input, max(1, len(input)), bound)
		damaged := errors.As(err, new(flate.CorruptInputError))
		switch {
		case len(theirs) > bound || errors.Is(ours, ErrTooLong):
		case damaged && ours == nil && between:
			t.Errorf("Append takes it, want ErrDamaged as %v", err)
		case !bytes.HasPrefix(whole, theirs):
			t.Errorf("Append = %.80q, want %.80q", whole, theirs)
		case err == io.ErrUnexpectedEOF && ours != nil:
			t.Errorf("Append = %v, want more bytes awaited", ours)
		}
		says := fmt.Sprint(between, ours)
		for _, piece := range []int{1, int(cut)%(len(input)+1) + 1} {
			got, between, err := inflated(input, piece, bound)
			if told := fmt.Sprint(between, err); told != says || !bytes.Equal(got, whole) {
				t.Errorf("pieces of %d: %d bytes, %s; whole %d, %s",
					piece, len(got), told, len(whole), says)
			}
		}
	})
}

// BenchmarkAppend is beside the standard library.
func BenchmarkAppend(b *testing.B) {
	want := samples()["json"]
	input := deflate(b, want, 1)
	short := deflate(b, want[:150], 1)
	for name, input := range map[string][]byte{"long": input, "short": short} {
		b.Run(name+"/ours", func(b *testing.B) {
			var z Inflater
			out := make([]byte, 0, len(want))
			b.ReportAllocs()
			for b.Loop() {
				z.Reset()
				if _, err := z.Append(out, input, noBound); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/theirs", func(b *testing.B) {
			src := bytes.NewReader(nil)
			r := flate.NewReader(src)
			out := make([]byte, len(want))
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(input)
				if err := r.(flate.Resetter).Reset(src, nil); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r, out); err != nil && err != io.ErrUnexpectedEOF {
					b.Fatal(err)
				}
			}
		})
	}
}
