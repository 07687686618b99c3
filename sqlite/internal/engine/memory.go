// SPDX-License-Identifier: MIT

package engine

import (
	"math"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Every conversion between addresses of the C side and Go pointers is in this file.

// buffer is a reusable piece of C memory. Its owner frees it with release.
type buffer struct {
	addr uintptr // 0: none yet
	size int     // bytes at addr
}

// bufferMin is the smallest buffer asked for: short names and keys never grow it.
const bufferMin = 64

// grow makes room for n bytes, dropping what the buffer held. It reports false without memory.
func (b *buffer) grow(tls *libc.TLS, n int) bool {
	if n <= b.size {
		return true
	}
	size := max(n, bufferMin)
	if b.size > 0 && n < math.MaxInt/2 {
		size = max(size, 2*b.size)
	}
	b.release(tls)
	b.addr = lib.Xsqlite3_malloc64(tls, uint64(size))
	if b.addr == 0 {
		return false
	}
	b.size = size
	return true
}

// release gives the memory back.
func (b *buffer) release(tls *libc.TLS) {
	if b.addr != 0 {
		lib.Xsqlite3_free(tls, b.addr)
	}
	b.addr, b.size = 0, 0
}

// setString copies s and a terminating zero into the buffer.
func (b *buffer) setString(tls *libc.TLS, s string) bool {
	if !b.grow(tls, len(s)+1) {
		return false
	}
	dst := view(b.addr, len(s)+1)
	copy(dst, s)
	dst[len(s)] = 0
	return true
}

// word reads the i-th pointer sized word of the buffer.
func (b *buffer) word(i int) uintptr {
	return *(*uintptr)(unsafe.Add(pointer(b.addr), i*wordBytes))
}

// int32 reads the i-th C int of the buffer.
func (b *buffer) int32(i int) int {
	return int(*(*int32)(unsafe.Add(pointer(b.addr), i*4)))
}

// text shows zero-terminated text of the C side, for as long as that keeps it.
func text(addr uintptr) []byte {
	n := 0
	for *(*byte)(unsafe.Add(pointer(addr), n)) != 0 {
		n++
	}
	return view(addr, n)
}

// wordBytes is the size of a C pointer.
const wordBytes = int(unsafe.Sizeof(uintptr(0)))

// pointer turns an address of C memory into a Go pointer.
func pointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// view shows n bytes of C memory as a slice. It is valid while the C side keeps them.
func view(addr uintptr, n int) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(pointer(addr)), n)
}

// funcAddr is the address the translated C code calls a Go function by: that of its func value.
// *f must be a field of a living heap object for as long as C may call it.
func funcAddr[F any](f *F) uintptr {
	return *(*uintptr)(unsafe.Pointer(f))
}
