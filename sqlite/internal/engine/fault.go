// SPDX-License-Identifier: MIT

package engine

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// This file puts itself between SQLite and the operating system, for tests: every
// call that reads, writes, cuts, syncs, opens or deletes a file asks first whether it
// fails. Nothing of it is in a program that does not call InstallFaults.

// A FaultCall is what SQLite asks of a file.
type FaultCall string

// The calls that can fail.
const (
	FaultOpen     FaultCall = "open"
	FaultDelete   FaultCall = "delete"
	FaultRead     FaultCall = "read"
	FaultWrite    FaultCall = "write"
	FaultTruncate FaultCall = "truncate"
	FaultSync     FaultCall = "sync"
)

// What a call can fail with: https://www.sqlite.org/rescode.html
const (
	FaultNoMem    = lib.SQLITE_NOMEM
	FaultFull     = lib.SQLITE_FULL
	FaultCantOpen = lib.SQLITE_CANTOPEN
	FaultIORead   = lib.SQLITE_IOERR_READ
	FaultIOWrite  = lib.SQLITE_IOERR_WRITE
	FaultIOTrunc  = lib.SQLITE_IOERR_TRUNCATE
	FaultIOSync   = lib.SQLITE_IOERR_FSYNC
	FaultIODelete = lib.SQLITE_IOERR_DELETE
)

// FaultTorn, as the answer for a write, lets half of it happen, and is FaultIOWrite
// then.
const FaultTorn = -1

// A faultVFS is the one that is installed. C code has the addresses of its functions,
// so it lives on the heap until it is taken away; its tables are in C memory.
type faultVFS struct {
	table  uintptr
	under  uintptr // the system's
	before func(FaultCall) int32
	open   func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	delete func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	files  map[uintptr]*faultMethods // by what stands below
}

// faultMethods are the calls of a kind of file.
type faultMethods struct {
	table    uintptr
	under    lib.Tsqlite3_io_methods
	read     faultTransfer
	write    faultTransfer
	truncate func(tls *libc.TLS, file uintptr, size int64) int32
	sync     func(tls *libc.TLS, file uintptr, flags int32) int32
}

type faultTransfer = func(tls *libc.TLS, file, buf uintptr, amount int32, offset int64) int32

// InstallFaults makes every database that is opened from now on ask before, which is
// called by whoever uses it. Nothing is synced for real: no test ends the machine.
func InstallFaults(before func(FaultCall) int32) (remove func()) {
	tls := libc.NewTLS()
	v := &faultVFS{before: before, files: map[uintptr]*faultMethods{}}
	v.under = lib.Xsqlite3_vfs_find(tls, 0)
	v.open, v.delete = v.callOpen, v.callDelete
	v.table = copied(tls, structAt[lib.Tsqlite3_vfs](v.under))
	t := structAt[lib.Tsqlite3_vfs](v.table)
	name := [8]byte{'m', '0', 'f', 'a', 'u', 'l', 't'}
	t.FpNext, t.FzName = 0, copied(tls, &name)
	t.FxOpen, t.FxDelete = funcAddr(&v.open), funcAddr(&v.delete)
	lib.Xsqlite3_vfs_register(tls, v.table, 1)
	return func() {
		lib.Xsqlite3_vfs_unregister(tls, v.table)
		lib.Xsqlite3_vfs_register(tls, v.under, 1)
		libc.Xfree(tls, t.FzName)
		libc.Xfree(tls, v.table)
		for _, m := range v.files {
			libc.Xfree(tls, m.table)
		}
		tls.Close()
	}
}

func (v *faultVFS) callOpen(
	tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr,
) int32 {
	f := structAt[lib.Tsqlite3_file](file)
	if rc := v.before(FaultOpen); rc != OK {
		f.FpMethods = 0 // nothing is to be closed
		return rc
	}
	open := structAt[lib.Tsqlite3_vfs](v.under).FxOpen
	rc := funcAt[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](open)(
		tls, v.under, name, file, flags, outFlags)
	if rc == OK && f.FpMethods != 0 {
		f.FpMethods = v.methodsOver(tls, f.FpMethods).table
	}
	return rc
}

func (v *faultVFS) callDelete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	if rc := v.before(FaultDelete); rc != OK {
		return rc
	}
	under := structAt[lib.Tsqlite3_vfs](v.under).FxDelete
	return funcAt[func(*libc.TLS, uintptr, uintptr, int32) int32](under)(tls, v.under, name, syncDir)
}

// methodsOver are those over a table of the system's.
func (v *faultVFS) methodsOver(tls *libc.TLS, under uintptr) *faultMethods {
	if m := v.files[under]; m != nil {
		return m
	}
	m := &faultMethods{under: *structAt[lib.Tsqlite3_io_methods](under)}
	m.read = func(tls *libc.TLS, file, buf uintptr, amount int32, offset int64) int32 {
		if rc := v.before(FaultRead); rc != OK {
			return rc
		}
		return funcAt[faultTransfer](m.under.FxRead)(tls, file, buf, amount, offset)
	}
	m.write = func(tls *libc.TLS, file, buf uintptr, amount int32, offset int64) int32 {
		switch rc := v.before(FaultWrite); rc {
		case OK:
			return funcAt[faultTransfer](m.under.FxWrite)(tls, file, buf, amount, offset)
		case FaultTorn:
			funcAt[faultTransfer](m.under.FxWrite)(tls, file, buf, amount/2, offset)
			return FaultIOWrite
		default:
			return rc
		}
	}
	m.truncate = func(tls *libc.TLS, file uintptr, size int64) int32 {
		if rc := v.before(FaultTruncate); rc != OK {
			return rc
		}
		return funcAt[func(*libc.TLS, uintptr, int64) int32](m.under.FxTruncate)(tls, file, size)
	}
	m.sync = func(*libc.TLS, uintptr, int32) int32 { return v.before(FaultSync) }
	m.table = copied(tls, &m.under)
	t := structAt[lib.Tsqlite3_io_methods](m.table)
	t.FxRead, t.FxWrite = funcAddr(&m.read), funcAddr(&m.write)
	t.FxTruncate, t.FxSync = funcAddr(&m.truncate), funcAddr(&m.sync)
	v.files[under] = m
	return m
}

// copied puts a copy into C memory.
func copied[T any](tls *libc.TLS, from *T) uintptr {
	address := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*from)))
	*structAt[T](address) = *from
	return address
}

// structAt is what C memory holds at an address.
func structAt[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// funcAt is the function that the translated C code has at such an address.
func funcAt[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }
