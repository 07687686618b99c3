// SPDX-License-Identifier: MIT

//go:build !purego

#include "textflag.h"

DATA bytes<>+0x00(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x08(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA bytes<>+0x10(SB)/8, $0x2222222222222222
DATA bytes<>+0x18(SB)/8, $0x2222222222222222
DATA bytes<>+0x20(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA bytes<>+0x28(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL bytes<>(SB), RODATA|NOPTR, $0x30

// MARK sets reg to the bits of the 16 bytes at m that are stops: at most 0x1f, a
// quote (X14), a backslash (X13). X0, X1 and X2 are changed.
#define MARK(m, reg) \
	MOVOU    m, X0         \
	MOVOU    X15, X1       \
	PMINUB   X0, X1        \
	PCMPEQB  X0, X1        \
	MOVOU    X14, X2       \
	PCMPEQB  X0, X2        \
	PCMPEQB  X13, X0       \
	POR      X2, X1        \
	POR      X0, X1        \
	PMOVMSKB X1, reg

// func stopsSSE2(stops *[windowWords]uint64, text *byte, n int)
//
// It wants n <= 512. Registers: SI where the next word's bytes begin, CX how many
// are left, DI where the word goes. Four blocks of 16 bytes are read while
// CX >= 64. Of what is left, a block is read while 16, 32, 48 bytes are there, and
// then the last 16 bytes of the text, if it has 16: their bits that were set before
// are set a second time or, in the word before, dropped. A text of 8...15 bytes is
// read as two words that overlap, a shorter one byte by byte.
TEXT ·stopsSSE2(SB), NOSPLIT, $0-24
	MOVQ stops+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	CMPQ  CX, $16
	JB    short
	MOVOU bytes<>+0x00(SB), X15
	MOVOU bytes<>+0x10(SB), X14
	MOVOU bytes<>+0x20(SB), X13

whole:
	CMPQ CX, $64
	JB   rest
	MARK(0(SI), AX)
	MARK(16(SI), R8)
	MARK(32(SI), R9)
	MARK(48(SI), R10)
	SHLQ $16, R8
	SHLQ $32, R9
	SHLQ $48, R10
	ORQ  R8, AX
	ORQ  R10, R9
	ORQ  R9, AX
	MOVQ AX, (DI)
	ADDQ $8, DI
	ADDQ $64, SI
	SUBQ $64, CX
	JMP  whole

rest: // 0...63 bytes
	TESTQ CX, CX
	JEQ   done
	XORL  R9, R9
	CMPQ  CX, $16
	JB    last
	MARK(0(SI), R9)
	CMPQ  CX, $32
	JB    last
	MARK(16(SI), R8)
	SHLQ  $16, R8
	ORQ   R8, R9
	CMPQ  CX, $48
	JB    last
	MARK(32(SI), R8)
	SHLQ  $32, R8
	ORQ   R8, R9

last: // bit 0 of these is byte CX-16 of the word, which may be negative
	MARK(-16(SI)(CX*1), R8)
	SUBQ $16, CX
	JLT  before
	SHLQ CX, R8
	ORQ  R8, R9
	MOVQ R9, (DI)
	RET

before:
	NEGQ CX
	SHRQ CX, R8
	MOVQ R8, (DI)

done:
	RET

short: // 0...15 bytes
	XORL  R9, R9
	CMPQ  CX, $8
	JB    byte
	MOVOU bytes<>+0x00(SB), X15
	MOVOU bytes<>+0x10(SB), X14
	MOVOU bytes<>+0x20(SB), X13
	MOVQ  0(SI), X3
	MOVQ  -8(SI)(CX*1), X4
	PUNPCKLQDQ X4, X3
	MARK(X3, R8)
	MOVBLZX R8, R9
	SHRL  $8, R8
	SUBQ  $8, CX
	SHLL  CX, R8
	ORL   R8, R9
	MOVQ  R9, (DI)
	RET

byte: // from the last to the first
	SUBQ $1, CX
	JLT  store
	ADDQ R9, R9
	MOVBLZX (SI)(CX*1), AX
	CMPL AX, $0x1f
	JLS  stop
	CMPL AX, $0x22
	JEQ  stop
	CMPL AX, $0x5c
	JNE  byte

stop:
	INCQ R9
	JMP  byte

store:
	MOVQ R9, (DI)
	RET
