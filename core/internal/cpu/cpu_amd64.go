// SPDX-License-Identifier: MIT

//go:build !purego

package cpu

// HasAVX2 tells whether both the processor and the operating system handle the
// 256-bit registers of AVX2, and the processor BMI1 and BMI2 with them.
var HasAVX2 = hasAVX2()

// Bits of what CPUID and XGETBV say (Intel SDM, volume 2, CPUID and volume 1, 13.3).
const (
	leaf1OSXSAVE = 1 << 27 // ecx: XGETBV may be asked
	leaf1AVX     = 1 << 28 // ecx
	leaf7BMI1    = 1 << 3  // ebx
	leaf7AVX2    = 1 << 5  // ebx
	leaf7BMI2    = 1 << 8  // ebx
	xcr0Vectors  = 1<<1 | 1<<2
)

func hasAVX2() bool {
	last, _, _ := cpuid(0, 0)
	if last < 7 {
		return false
	}
	if _, _, ecx := cpuid(1, 0); ecx&leaf1OSXSAVE == 0 || ecx&leaf1AVX == 0 {
		return false
	}
	if xgetbv()&xcr0Vectors != xcr0Vectors {
		return false // the system would not save the upper halves
	}
	const want = leaf7AVX2 | leaf7BMI1 | leaf7BMI2
	_, ebx, _ := cpuid(7, 0)
	return ebx&want == want
}

// cpuid executes CPUID.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx uint32)

// xgetbv reads the low half of XCR0; only where leaf 1 has OSXSAVE.
func xgetbv() uint32
