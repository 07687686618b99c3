// SPDX-License-Identifier: MIT

//go:build !purego

#include "textflag.h"

// What stands in these registers throughout both bulk functions:
//
//	SI  where the next block of the text begins      R9   end of the text
//	DI  where the next byte of the result goes       R8   last place for a step
//	DX  *asciiTable                                  BX   *marks
//	R10 last SI with a whole block before R9         R13  bits of bytes to escape
//	R12 bits of bytes >= 0x80 in the block before (AVX2)
//
// R8 is 72 bytes (room) before the end of the free part of dst: a step stores a
// block, and behind a hit at most 31 bytes further on an entry of 8 bytes and a
// block again, which ends 31+6+32 = 69 bytes from where it began.

DATA bytes<>+0x00(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x08(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x10(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x18(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x20(SB)/8, $0x2020202020202020
DATA bytes<>+0x28(SB)/8, $0x2020202020202020
DATA bytes<>+0x30(SB)/8, $0x2020202020202020
DATA bytes<>+0x38(SB)/8, $0x2020202020202020
DATA bytes<>+0x40(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA bytes<>+0x48(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA bytes<>+0x50(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA bytes<>+0x58(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA bytes<>+0x60(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA bytes<>+0x68(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA bytes<>+0x70(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA bytes<>+0x78(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA bytes<>+0x80(SB)/8, $0x6060606060606060
DATA bytes<>+0x88(SB)/8, $0x6060606060606060
DATA bytes<>+0x90(SB)/8, $0x6060606060606060
DATA bytes<>+0x98(SB)/8, $0x6060606060606060
DATA bytes<>+0xa0(SB)/8, $0x7070707070707070
DATA bytes<>+0xa8(SB)/8, $0x7070707070707070
DATA bytes<>+0xb0(SB)/8, $0x7070707070707070
DATA bytes<>+0xb8(SB)/8, $0x7070707070707070
DATA bytes<>+0xc0(SB)/8, $0x8080808080808080
DATA bytes<>+0xc8(SB)/8, $0x8080808080808080
DATA bytes<>+0xd0(SB)/8, $0x8080808080808080
DATA bytes<>+0xd8(SB)/8, $0x8080808080808080
DATA bytes<>+0xe0(SB)/8, $0xe2e2e2e2e2e2e2e2
DATA bytes<>+0xe8(SB)/8, $0xe2e2e2e2e2e2e2e2
DATA bytes<>+0xf0(SB)/8, $0xe2e2e2e2e2e2e2e2
DATA bytes<>+0xf8(SB)/8, $0xe2e2e2e2e2e2e2e2
DATA bytes<>+0x100(SB)/8, $0x0101010101010101
DATA bytes<>+0x108(SB)/8, $0x0101010101010101
DATA bytes<>+0x110(SB)/8, $0x0101010101010101
DATA bytes<>+0x118(SB)/8, $0x0101010101010101
DATA bytes<>+0x120(SB)/8, $0xa9a9a9a9a9a9a9a9
DATA bytes<>+0x128(SB)/8, $0xa9a9a9a9a9a9a9a9
DATA bytes<>+0x130(SB)/8, $0xa9a9a9a9a9a9a9a9
DATA bytes<>+0x138(SB)/8, $0xa9a9a9a9a9a9a9a9
GLOBL bytes<>(SB), RODATA|NOPTR, $0x140

#define B1F bytes<>+0x00(SB)
#define B20 bytes<>+0x20(SB)
#define B5C bytes<>+0x40(SB)
#define B0F bytes<>+0x60(SB)
#define B60 bytes<>+0x80(SB)
#define B70 bytes<>+0xa0(SB)
#define B80 bytes<>+0xc0(SB)
#define BE2 bytes<>+0xe0(SB)
#define B01 bytes<>+0x100(SB)
#define BA9 bytes<>+0x120(SB)

// Faults of two neighbouring bytes (Keiser and Lemire, "Validating UTF-8 in less
// than one instruction per byte"), a bit each:
//
//	01 a leading byte without a continuation   10 a surrogate
//	02 ASCII, then a continuation              20 an overlong form of two bytes
//	04 an overlong form of three bytes         40 of four, or f5 and above
//	08 beyond U+10FFFF                         80 two continuations
//
// A fault is there when all three tables have its bit: by the high half of the
// first byte, by its low half, by the high half of the second. 80 alone is no
// fault where a form of three or four bytes wants it.
DATA pairs<>+0x00(SB)/8, $0x0202020202020202
DATA pairs<>+0x08(SB)/8, $0x4915012180808080
DATA pairs<>+0x10(SB)/8, $0xcbcbcb8b8383a3e7
DATA pairs<>+0x18(SB)/8, $0xcbcbdbcbcbcbcbcb
DATA pairs<>+0x20(SB)/8, $0x0101010101010101
DATA pairs<>+0x28(SB)/8, $0x01010101babaaee6
GLOBL pairs<>(SB), RODATA|NOPTR, $0x30

// SPECIAL sets the bytes of Y1 where those of Y0 must be escaped. Y2 is changed.
// Y13 has, at the place of its own low half, each byte that m asks for.
#define SPECIAL \
	VPMINUB  Y12, Y0, Y1   \ // at most 0x1f: a control
	VPCMPEQB Y0, Y1, Y1    \
	VPCMPEQB Y14, Y0, Y2   \
	VPOR     Y2, Y1, Y1    \
	VPSHUFB  Y0, Y13, Y2   \ // zero for bytes that are not ASCII
	VPCMPEQB Y0, Y2, Y2    \
	VPOR     Y2, Y1, Y1

// STOPS or's into Y5 the bytes of v that must be escaped or are not ASCII: those
// below 0x20 as signed numbers. Y4 is changed.
#define STOPS(v) \
	VPCMPGTB v, Y15, Y4    \
	VPOR     Y4, Y5, Y5    \
	VPCMPEQB v, Y14, Y4    \
	VPOR     Y4, Y5, Y5    \
	VPSHUFB  v, Y13, Y4    \
	VPCMPEQB v, Y4, Y4     \
	VPOR     Y4, Y5, Y5

// UTF8 leaves bits in Y4 where Y0 is not UTF-8; Y1, Y2, Y3 are the text one, two
// and three bytes before it. Y3 and Y5 are changed.
#define UTF8 \
	VPSRLW   $4, Y1, Y4    \
	VPAND    Y6, Y4, Y4    \
	VPSHUFB  Y4, Y9, Y4    \
	VPAND    Y6, Y1, Y5    \
	VPSHUFB  Y5, Y8, Y5    \
	VPAND    Y5, Y4, Y4    \
	VPSRLW   $4, Y0, Y5    \
	VPAND    Y6, Y5, Y5    \
	VPSHUFB  Y5, Y7, Y5    \
	VPAND    Y5, Y4, Y4    \
	VPSUBUSB Y11, Y2, Y5   \ // top bit: e0 and above, two bytes before
	VPSUBUSB Y10, Y3, Y3   \ // top bit: f0 and above, three bytes before
	VPOR     Y3, Y5, Y5    \
	VPAND    B80, Y5, Y5   \
	VPXOR    Y5, Y4, Y4

// SEPARATOR leaves bits in Y1 where Y0 ends U+2028 or U+2029 (e2 80 a8/a9). Y2 and
// Y3 are changed.
#define SEPARATOR \
	VPCMPEQB BE2, Y2, Y2   \
	VPCMPEQB B80, Y1, Y1   \
	VPAND    Y2, Y1, Y1    \
	VPOR     B01, Y0, Y3   \
	VPCMPEQB BA9, Y3, Y3   \
	VPAND    Y3, Y1, Y1

// func bulkAVX2(out *byte, free int, src *byte, n int, t *asciiTable, m *marks) (wrote, read int)
//
// It wants n >= 40 and free >= 72. Text is read by blocks of 32 bytes at SI while
// SI <= R10, by 128 while SI <= R11, and by one last block that ends at R9, so
// never beyond R9; the bytes one to three before a block are read only where the
// block does not begin the text. Behind a hit 32 bytes are read that begin at most
// 32 bytes into the block, which hits are therefore looked at only while 64 bytes
// are left. Stores begin at most at R8, checked before each block and each hit.
TEXT ·bulkAVX2(SB), NOSPLIT, $0-64
	MOVQ out+0(FP), DI
	MOVQ free+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), R9
	MOVQ t+32(FP), DX
	MOVQ m+40(FP), BX
	LEAQ -72(DI)(R8*1), R8
	ADDQ SI, R9
	LEAQ -32(R9), R10
	LEAQ -128(R9), R11
	XORL R12, R12
	VMOVDQU B20, Y15
	VMOVDQU B5C, Y14
	VBROADCASTI128 16(BX), Y13
	VMOVDQU B1F, Y12
	VMOVDQU B60, Y11
	VMOVDQU B70, Y10
	VBROADCASTI128 pairs<>+0x00(SB), Y9
	VBROADCASTI128 pairs<>+0x10(SB), Y8
	VBROADCASTI128 pairs<>+0x20(SB), Y7
	VMOVDQU B0F, Y6

fast: // four blocks in which nothing has to be done; the block before was ASCII
	CMPQ SI, R11
	JA   last
	LEAQ 56(DI), AX // the fourth block may end where the free part ends
	CMPQ AX, R8
	JA   block
	VMOVDQU 0(SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPXOR   Y5, Y5, Y5
	STOPS(Y0)
	STOPS(Y1)
	STOPS(Y2)
	STOPS(Y3)
	VPTEST  Y5, Y5
	JNZ     block
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	JMP     fast

last: // four that end the text, some bytes a second time; only for speed
	MOVQ SI, AX
	SUBQ src+16(FP), AX
	MOVQ DI, CX
	SUBQ out+0(FP), CX
	CMPQ AX, CX
	JNE  block // bytes before have grown, so they cannot be copied again
	MOVQ n+24(FP), AX
	CMPQ AX, $128
	JB   block
	CMPQ AX, free+8(FP)
	JA   block
	VMOVDQU 0(R11), Y0
	VMOVDQU 32(R11), Y1
	VMOVDQU 64(R11), Y2
	VMOVDQU 96(R11), Y3
	VPXOR   Y5, Y5, Y5
	STOPS(Y0)
	STOPS(Y1)
	STOPS(Y2)
	STOPS(Y3)
	VPTEST  Y5, Y5
	JNZ     block
	MOVQ    out+0(FP), DI
	ADDQ    n+24(FP), DI
	VMOVDQU Y0, -128(DI)
	VMOVDQU Y1, -96(DI)
	VMOVDQU Y2, -64(DI)
	VMOVDQU Y3, -32(DI)
	MOVQ    R9, SI
	JMP     done

block:
	CMPQ SI, R10
	JA   tail
	CMPQ DI, R8
	JA   done
	VMOVDQU   (SI), Y0
	SPECIAL
	VPMOVMSKB Y1, R13
	VPMOVMSKB Y0, AX
	ORL       AX, R12
	JNZ       runes

checked: // AX: bits of Y0 outside ASCII
	MOVL    AX, R12
	VMOVDQU Y0, (DI)
	TESTL   R13, R13
	JNZ     hits
	ADDQ    $32, SI
	ADDQ    $32, DI
	TESTL   AX, AX
	JZ      fast
	JMP     block

runes:
	CMPQ SI, src+16(FP)
	JEQ  first
	VMOVDQU -1(SI), Y1
	VMOVDQU -2(SI), Y2
	VMOVDQU -3(SI), Y3

neighbours:
	UTF8
	VPTEST Y4, Y4
	JNZ    done
	CMPB   0(BX), $0
	JEQ    checked
	SEPARATOR
	VPTEST Y1, Y1
	JZ     checked
	JMP    done

first: // nothing stands before the block
	VPERM2I128 $0x08, Y0, Y0, Y4
	VPALIGNR   $15, Y4, Y0, Y1
	VPALIGNR   $14, Y4, Y0, Y2
	VPALIGNR   $13, Y4, Y0, Y3
	JMP        neighbours

hits:
	LEAQ 64(SI), AX
	CMPQ AX, R9
	JA   done
	XORL CX, CX // what of the block DI stands behind

hit:
	TZCNTL  R13, AX
	SUBQ    CX, DI
	ADDQ    AX, DI
	MOVBLZX (SI)(AX*1), CX
	MOVQ    (DX)(CX*8), CX
	MOVQ    CX, (DI)
	SHRQ    $56, CX
	ADDQ    CX, DI
	VMOVDQU 1(SI)(AX*1), Y1
	VMOVDQU Y1, (DI)
	LEAQ    1(AX), CX
	LEAL    -1(R13), AX
	ANDL    AX, R13
	JZ      lastHit
	CMPQ    DI, R8
	JBE     hit
	ADDQ    CX, SI
	JMP     done

lastHit:
	ADDQ $32, DI
	SUBQ CX, DI
	ADDQ $32, SI
	JMP  block

tail: // 0...31 bytes are left
	CMPQ SI, R9
	JEQ  done
	CMPQ DI, R8
	JA   done
	VMOVDQU   (R10), Y0
	SPECIAL
	VPMOVMSKB Y1, R13
	MOVL      SI, CX
	SUBL      R10, CX // bytes of the block that were dealt with before
	SHRL      CX, R13
	JNZ       done
	VPMOVMSKB Y0, AX
	ORL       AX, R12
	JZ        rest
	VMOVDQU   -1(R10), Y1
	VMOVDQU   -2(R10), Y2
	VMOVDQU   -3(R10), Y3
	UTF8
	VPTEST    Y4, Y4
	JNZ       done
	CMPB      0(BX), $0
	JEQ       rest
	SEPARATOR
	VPTEST    Y1, Y1
	JNZ       done

rest: // copy what is left, in two pieces that overlap
	MOVQ R9, CX
	SUBQ SI, CX
	CMPQ CX, $16
	JAE  rest16
	CMPQ CX, $8
	JAE  rest8
	CMPQ CX, $4
	JAE  rest4
	MOVBLZX (SI), AX
	MOVB    AX, (DI)
	CMPQ    CX, $1
	JEQ     moved
	MOVWLZX -2(R9), AX
	MOVW    AX, -2(DI)(CX*1)
	JMP     moved

rest16:
	VMOVDQU (SI), X0
	VMOVDQU -16(R9), X1
	VMOVDQU X0, (DI)
	VMOVDQU X1, -16(DI)(CX*1)
	JMP     moved

rest8:
	MOVQ (SI), AX
	MOVQ -8(R9), R11
	MOVQ AX, (DI)
	MOVQ R11, -8(DI)(CX*1)
	JMP  moved

rest4:
	MOVL (SI), AX
	MOVL -4(R9), R11
	MOVL AX, (DI)
	MOVL R11, -4(DI)(CX*1)

moved:
	ADDQ CX, DI
	MOVQ R9, SI

done:
	VZEROUPPER
	SUBQ out+0(FP), DI
	SUBQ src+16(FP), SI
	MOVQ DI, wrote+48(FP)
	MOVQ SI, read+56(FP)
	RET
