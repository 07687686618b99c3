// SPDX-License-Identifier: MIT

package engine

import (
	"runtime"

	lib "modernc.org/sqlite/lib"
)

// Copy is a copy of one database into another that is under way.
// https://www.sqlite.org/c3ref/backup_finish.html
type Copy struct {
	from, to *DB
	ptr      uintptr
}

// NewCopy begins a copy of the main database. On failure the error is that of to.
func NewCopy(from, to *DB) (*Copy, int32) {
	if !to.text.setString(to.tls, "main") {
		return nil, lib.SQLITE_NOMEM
	}
	ptr := lib.Xsqlite3_backup_init(to.tls, to.ptr, to.text.addr, from.ptr, to.text.addr)
	runtime.KeepAlive(from)
	if ptr == 0 {
		return nil, lib.Xsqlite3_extended_errcode(to.tls, to.ptr)
	}
	return &Copy{from: from, to: to, ptr: ptr}, OK
}

// Step copies some pages: OK, there are more; DONE; anything else went wrong.
func (k *Copy) Step(pages int32) int32 {
	rc := lib.Xsqlite3_backup_step(k.to.tls, k.ptr, pages)
	runtime.KeepAlive(k)
	return rc
}

// Pages are those to be copied still, and all, as of the last Step.
func (k *Copy) Pages() (left, total int) {
	return int(lib.Xsqlite3_backup_remaining(k.to.tls, k.ptr)),
		int(lib.Xsqlite3_backup_pagecount(k.to.tls, k.ptr))
}

// Finish ends the copy. It repeats the error of a Step.
func (k *Copy) Finish() int32 {
	rc := lib.Xsqlite3_backup_finish(k.to.tls, k.ptr)
	runtime.KeepAlive(k)
	k.ptr = 0
	return rc
}
