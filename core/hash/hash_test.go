// SPDX-License-Identifier: MIT

package hash

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"
	"testing"
)

// sanityBytes is the byte generator of the xxHash sanity vectors.
func sanityBytes(n int) []byte {
	b := make([]byte, n)
	gen := uint64(2654435761)
	for i := range b {
		b[i] = byte(gen >> 56)
		gen *= 11400714785074694797
	}
	return b
}

// wyVectors are the upstream vectors: the seed is the index. The last is of another
// implementation that gives these.
var wyVectors = []struct {
	in   string
	want uint64
}{
	{"", 0x93228a4de0eec5a2},
	{"a", 0xc5bac3db178713c4},
	{"abc", 0xa97f2f7b1d9b3314},
	{"message digest", 0x786d1f1df3801df4},
	{"abcdefghijklmnopqrstuvwxyz", 0xdca5a8138ad37c87},
	{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0xb9e734f117cfaf70},
	{strings.Repeat("1234567890", 8), 0x6cc5eab49a92d617},
	{"abcd", 0x375a476b5103ecc2},
}

func TestWyVectors(t *testing.T) {
	for seed, v := range wyVectors {
		if got := Wy([]byte(v.in), uint64(seed)); got != v.want {
			t.Errorf("Wy(%q, %d) = %016x, want %016x", v.in, seed, got, v.want)
		}
	}
}

var xxhVectors = []struct {
	n      int
	seed32 uint32
	want32 uint32
	seed64 uint64
	want64 uint64
}{
	{0, 0, 0x02cc5d05, 0, 0xef46db3751d8e999},
	{1, 0, 0xcf65b03e, 0, 0xe934a84adb052768},
	{4, 0, 0xa9de7ce9, 0, 0x9136a0dca57457ee},
	{14, 0, 0x1208e7e2, 0, 0x8282dcc4994e35c8},
	{222, 0, 0x5bd11dbd, 0, 0xb641ae8cb691c174},
}

func TestXXHVectors(t *testing.T) {
	for _, v := range xxhVectors {
		b := sanityBytes(v.n)
		if got := XXH32(b, v.seed32); got != v.want32 {
			t.Errorf("XXH32(%d bytes, %d) = %08x, want %08x", v.n, v.seed32, got, v.want32)
		}
		if got := XXH64(b); got != v.want64 {
			t.Errorf("XXH64(%d bytes) = %016x, want %016x", v.n, got, v.want64)
		}
		d := NewXXH64(v.seed64)
		d.Write(b)
		if got := d.Sum64(); got != v.want64 {
			t.Errorf("NewXXH64(%d) of %d bytes = %016x, want %016x", v.seed64, v.n, got, v.want64)
		}
	}
}

func TestFNVVectors(t *testing.T) {
	// The last two columns are RFC 9923's values for these strings.
	for _, v := range []struct {
		in     string
		want32 uint32
		want64 uint64
	}{
		{"", 0x811c9dc5, 0xcbf29ce484222325},
		{"a", 0xe40c292c, 0xaf63dc4c8601ec8c},
		{"foobar", 0xbf9cf968, 0x85944171f73967e8},
	} {
		if got := FNV32a([]byte(v.in)); got != v.want32 {
			t.Errorf("FNV32a(%q) = %08x, want %08x", v.in, got, v.want32)
		}
		if got := FNV64a([]byte(v.in)); got != v.want64 {
			t.Errorf("FNV64a(%q) = %016x, want %016x", v.in, got, v.want64)
		}
	}
	for n := range 300 {
		b := sanityBytes(n)
		s32, s64 := fnv.New32a(), fnv.New64a()
		s32.Write(b)
		s64.Write(b)
		if FNV32a(b) != s32.Sum32() || FNV64a(b) != s64.Sum64() {
			t.Fatalf("FNV of %d bytes differs from hash/fnv", n)
		}
	}
}

// wholeSums gives every hash of b by the whole-buffer functions.
func wholeSums(b []byte, seed uint64) [5]uint64 {
	sums := [5]uint64{
		uint64(FNV32a(b)), FNV64a(b), uint64(XXH32(b, uint32(seed))), XXH64(b), Wy(b, seed),
	}
	return sums
}

// streamSums gives the same values by the streaming forms, cut as pieces says.
func streamSums(b []byte, seed uint64, pieces func(rest int) int) [5]uint64 {
	f32, f64 := NewFNV32a(), NewFNV64a()
	x32, x64, wy := NewXXH32(uint32(seed)), NewXXH64(0), NewWy(seed)
	for len(b) > 0 {
		n := min(max(pieces(len(b)), 1), len(b))
		for _, h := range []hash.Hash{f32, f64, x32, x64, wy} {
			h.Write(b[:n])
		}
		b = b[n:]
	}
	return [5]uint64{
		uint64(f32.Sum32()), f64.Sum64(), uint64(x32.Sum32()), x64.Sum64(), wy.Sum64(),
	}
}

func TestStreamEqualsWhole(t *testing.T) {
	for n := range 260 {
		b := sanityBytes(n)
		for _, piece := range []int{1, 3, 15, 16, 17, 47, 48, 49, 96, 130, 260} {
			got := streamSums(b, uint64(n), func(int) int { return piece })
			if want := wholeSums(b, uint64(n)); got != want {
				t.Fatalf("%d bytes in pieces of %d: stream %x, want %x", n, piece, got, want)
			}
		}
	}
}

func TestUnalignedInput(t *testing.T) {
	src := sanityBytes(200)
	room := make([]byte, 300)
	for off := range 16 {
		for _, n := range []int{0, 3, 8, 16, 17, 48, 49, 130, 200} {
			b := room[off : off+n : off+n]
			copy(b, src)
			if got, want := wholeSums(b, 7), wholeSums(src[:n], 7); got != want {
				t.Fatalf("%d bytes at offset %d: %x, want %x", n, off, got, want)
			}
		}
	}
}

func TestStreamReadsAndResets(t *testing.T) {
	b := sanityBytes(100)
	for name, h := range map[string]hash.Hash{
		"XXH32": NewXXH32(9), "XXH64": NewXXH64(9), "Wy": NewWy(9),
	} {
		h.Write(b[:60])
		first := fmt.Sprintf("%x", h.Sum(nil))
		if again := fmt.Sprintf("%x", h.Sum(nil)); again != first {
			t.Errorf("%s: second Sum = %s, want %s: reading changed the state", name, again, first)
		}
		h.Write(b[60:])
		h.Reset()
		h.Write(b[:60])
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != first {
			t.Errorf("%s: Sum after Reset = %s, want %s", name, got, first)
		}
		if got := len(h.Sum(nil)); got != h.Size() {
			t.Errorf("%s: Sum has %d bytes, want Size() = %d", name, got, h.Size())
		}
	}
	wy := NewWy(1)
	wy.Write([]byte("a"))
	if got := binary.BigEndian.Uint64(wy.Sum(nil)); got != wy.Sum64() {
		t.Errorf("Wy: Sum = %x, want Sum64 = %x in big-endian", got, wy.Sum64())
	}
}

func TestNoAllocation(t *testing.T) {
	b := sanityBytes(1000)
	x32, x64, wy := NewXXH32(0), NewXXH64(0), NewWy(0)
	for name, fn := range map[string]func(){
		"whole": func() { wholeSums(b, 1) },
		"stream": func() {
			for _, h := range []hash.Hash{x32, x64, wy} {
				h.Write(b)
			}
			_ = uint64(x32.Sum32()) + x64.Sum64() + wy.Sum64()
		},
	} {
		if got := testing.AllocsPerRun(100, fn); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("abc"), uint64(2), []byte{1, 2})
	f.Add(sanityBytes(200), uint64(0), []byte{16, 48, 1})
	f.Fuzz(func(t *testing.T, b []byte, seed uint64, cuts []byte) {
		next := 0
		got := streamSums(b, seed, func(rest int) int {
			if len(cuts) == 0 {
				return rest
			}
			next++
			return int(cuts[next%len(cuts)])
		})
		if want := wholeSums(b, seed); got != want {
			t.Errorf("stream of %d bytes cut by %v: %x, want %x", len(b), cuts, got, want)
		}
	})
}
