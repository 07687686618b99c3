// SPDX-License-Identifier: MIT

//go:build !purego

#include "textflag.h"

// STOPS or's into X5 the bytes of v that must be escaped or are not ASCII: those
// below 0x20 as signed numbers. v and X4 are changed.
#define STOPS(v) \
	MOVOU   X15, X4        \
	PCMPGTB v, X4          \
	POR     X4, X5         \
	MOVOU   v, X4          \
	PCMPEQB X14, X4        \
	POR     X4, X5         \
	MOVOU   v, X4          \
	POR     X13, X4        \
	PCMPEQB X12, X4        \
	POR     X4, X5         \
	POR     X11, v         \
	PCMPEQB X10, v         \
	POR     v, X5

// CONSTANTS loads what STOPS wants from the wide part of *marks.
#define CONSTANTS \
	MOVOU 32(BX), X15 \
	MOVOU 48(BX), X14 \
	MOVOU 64(BX), X13 \
	MOVOU 80(BX), X12 \
	MOVOU 96(BX), X11 \
	MOVOU 112(BX), X10

// func shortSSE2(out, src *byte, n int, m *marks) bool
//
// It wants 8 <= n <= 32 and room for n+2 bytes: two blocks of 16 bytes (below 16, of
// 8 bytes), one that begins and one that ends the text, cover it and read nothing
// else; the quotes stand around them.
TEXT ·shortSSE2(SB), NOSPLIT, $0-33
	MOVQ out+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ m+24(FP), BX
	MOVB $'"', 0(DI)
	MOVB $'"', 1(DI)(CX*1)
	CONSTANTS
	PXOR X5, X5
	CMPQ CX, $16
	JB   words
	MOVOU 0(SI), X0
	MOVOU -16(SI)(CX*1), X1
	MOVOU X0, 1(DI)
	MOVOU X1, -15(DI)(CX*1)
	STOPS(X0)
	STOPS(X1)
	PMOVMSKB X5, AX
	TESTL AX, AX
	SETEQ ret+32(FP)
	RET

words:
	MOVQ 0(SI), X0
	MOVQ -8(SI)(CX*1), X1
	MOVQ X0, 1(DI)
	MOVQ X1, -7(DI)(CX*1)
	PUNPCKLQDQ X1, X0
	STOPS(X0)
	PMOVMSKB X5, AX
	TESTL AX, AX
	SETEQ ret+32(FP)
	RET

// func bulkSSE2(out *byte, free int, src *byte, n int, t *asciiTable, m *marks) (wrote, read int)
//
// It wants n >= 32 and free >= 72, and stops at a block with a byte that is not
// ASCII. Registers are those of bulkAVX2, with blocks of 16 bytes: they are read
// while SI <= R10, then one that ends the text. Behind a hit 16 bytes are read that
// begin at most 16 bytes into the block, so hits are looked at while 32 bytes are
// left. Stores begin at most at R8, checked before each block and each hit.
TEXT ·bulkSSE2(SB), NOSPLIT, $0-64
	MOVQ out+0(FP), DI
	MOVQ free+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), R9
	MOVQ t+32(FP), DX
	MOVQ m+40(FP), BX
	LEAQ -72(DI)(R8*1), R8
	ADDQ SI, R9
	LEAQ -16(R9), R10
	CONSTANTS

block:
	CMPQ SI, R10
	JA   tail
	CMPQ DI, R8
	JA   done
	MOVOU    (SI), X0
	MOVOU    X0, (DI)
	PMOVMSKB X0, AX
	TESTL    AX, AX
	JNZ      done
	PXOR     X5, X5
	STOPS(X0)
	PMOVMSKB X5, R13
	TESTL    R13, R13
	JNZ      hits
	ADDQ     $16, SI
	ADDQ     $16, DI
	JMP      block

hits:
	LEAQ 32(SI), AX
	CMPQ AX, R9
	JA   done
	XORL CX, CX // what of the block DI stands behind

hit:
	BSFL    R13, AX
	SUBQ    CX, DI
	ADDQ    AX, DI
	MOVBLZX (SI)(AX*1), CX
	MOVQ    (DX)(CX*8), CX
	MOVQ    CX, (DI)
	SHRQ    $56, CX
	ADDQ    CX, DI
	MOVOU   1(SI)(AX*1), X1
	MOVOU   X1, (DI)
	LEAQ    1(AX), CX
	LEAL    -1(R13), AX
	ANDL    AX, R13
	JZ      lastHit
	CMPQ    DI, R8
	JBE     hit
	ADDQ    CX, SI
	JMP     done

lastHit:
	ADDQ $16, DI
	SUBQ CX, DI
	ADDQ $16, SI
	JMP  block

tail: // 0...15 bytes are left; the last 16 are looked at
	MOVQ R9, CX
	SUBQ SI, CX
	JEQ  done
	CMPQ DI, R8
	JA   done
	MOVOU    (R10), X0
	PXOR     X5, X5
	STOPS(X0)
	PMOVMSKB X5, R13
	MOVL     SI, CX
	SUBL     R10, CX // bytes of the block that were dealt with before
	SHRL     CX, R13
	JNZ      done
	MOVQ     R9, CX
	SUBQ     SI, CX

each: // a byte at a time; only old processors come here
	MOVBLZX (SI), AX
	MOVB    AX, (DI)
	INCQ    SI
	INCQ    DI
	DECQ    CX
	JNZ     each

done:
	SUBQ out+0(FP), DI
	SUBQ src+16(FP), SI
	MOVQ DI, wrote+48(FP)
	MOVQ SI, read+56(FP)
	RET
