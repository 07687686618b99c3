// SPDX-License-Identifier: MIT

package engine

import (
	"runtime"

	lib "modernc.org/sqlite/lib"
)

// Handle is an open value of a row: https://www.sqlite.org/c3ref/blob.html
type Handle struct {
	db   *DB
	ptr  uintptr
	size int
	room buffer // bytes on their way between the two memories
}

// roomBytes is how many bytes of a blob cross at once.
const roomBytes = 64 << 10

// OpenBlob opens the value of a column in one row.
// https://www.sqlite.org/c3ref/blob_open.html
func (d *DB) OpenBlob(schema, table, column string, rowid int64, write bool) (*Handle, int32) {
	// Three names in one buffer, each with its zero.
	if !d.text.setString(d.tls, schema+"\x00"+table+"\x00"+column) {
		return nil, lib.SQLITE_NOMEM
	}
	zTable := d.text.addr + uintptr(len(schema)+1)
	zColumn := zTable + uintptr(len(table)+1)
	var flag int32
	if write {
		flag = 1
	}
	rc := lib.Xsqlite3_blob_open(d.tls, d.ptr, d.text.addr, zTable, zColumn, rowid, flag,
		d.scratch.addr)
	runtime.KeepAlive(d)
	if rc != OK {
		return nil, rc
	}
	h := &Handle{db: d, ptr: d.scratch.word(0)}
	h.size = int(lib.Xsqlite3_blob_bytes(d.tls, h.ptr))
	return h, OK
}

// Size is the number of bytes.
func (h *Handle) Size() int { return h.size }

// Reopen moves to the same column of another row.
// https://www.sqlite.org/c3ref/blob_reopen.html
func (h *Handle) Reopen(rowid int64) int32 {
	rc := lib.Xsqlite3_blob_reopen(h.db.tls, h.ptr, rowid)
	runtime.KeepAlive(h)
	h.size = int(lib.Xsqlite3_blob_bytes(h.db.tls, h.ptr))
	return rc
}

// ReadAt fills p from off on; all of it lies inside the value. n is what was read before an error.
// https://www.sqlite.org/c3ref/blob_read.html
func (h *Handle) ReadAt(p []byte, off int) (n int, rc int32) {
	if !h.room.grow(h.db.tls, min(len(p), roomBytes)) {
		return 0, lib.SQLITE_NOMEM
	}
	for n < len(p) {
		k := min(len(p)-n, roomBytes)
		rc = lib.Xsqlite3_blob_read(h.db.tls, h.ptr, h.room.addr, int32(k), int32(off+n))
		runtime.KeepAlive(h)
		if rc != OK {
			return n, rc
		}
		n += copy(p[n:], view(h.room.addr, k))
	}
	return n, OK
}

// WriteAt puts p at off; all of it lies inside the value. n is what was written before an error.
// https://www.sqlite.org/c3ref/blob_write.html
func (h *Handle) WriteAt(p []byte, off int) (n int, rc int32) {
	if !h.room.grow(h.db.tls, min(len(p), roomBytes)) {
		return 0, lib.SQLITE_NOMEM
	}
	for n < len(p) {
		k := copy(view(h.room.addr, min(len(p)-n, roomBytes)), p[n:])
		rc = lib.Xsqlite3_blob_write(h.db.tls, h.ptr, h.room.addr, int32(k), int32(off+n))
		runtime.KeepAlive(h)
		if rc != OK {
			return n, rc
		}
		n += k
	}
	return n, OK
}

// Close ends it. Outside a transaction that commits what was written.
// https://www.sqlite.org/c3ref/blob_close.html
func (h *Handle) Close() int32 {
	rc := lib.Xsqlite3_blob_close(h.db.tls, h.ptr)
	h.room.release(h.db.tls)
	runtime.KeepAlive(h)
	h.ptr = 0
	return rc
}
