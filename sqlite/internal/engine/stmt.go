// SPDX-License-Identifier: MIT

package engine

import (
	"math"
	"runtime"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Kinds of a column value: https://www.sqlite.org/c3ref/c_blob.html
const (
	Integer = lib.SQLITE_INTEGER
	Float   = lib.SQLITE_FLOAT
	Text    = lib.SQLITE_TEXT
	Blob    = lib.SQLITE_BLOB
	Null    = lib.SQLITE_NULL
)

// keepBytes is the largest parameter buffer a statement keeps after Clear.
const keepBytes = 64 << 10

// static tells SQLite that bound memory stays as it is until it is bound again.
const static = 0

// Stmt is one prepared statement with a C buffer per parameter.
type Stmt struct {
	db     *DB
	tls    *libc.TLS // of db
	ptr    uintptr   // 0: the text held only blanks and comments
	params []buffer

	Control Control // what it does to transactions
	Point   string  // the savepoint it names
}

// Prepare compiles the first statement of sql; used is how many bytes of it that took. A statement
// kept for many runs says so with keep.
// https://www.sqlite.org/c3ref/prepare.html
func (d *DB) Prepare(sql string, keep bool) (s *Stmt, used int, rc int32) {
	if !d.text.setString(d.tls, sql) {
		return nil, 0, lib.SQLITE_NOMEM
	}
	var flags uint32
	if keep {
		flags = lib.SQLITE_PREPARE_PERSISTENT
	}
	d.control, d.point = NoControl, ""
	ptr, tail := d.scratch.addr, d.scratch.addr+uintptr(wordBytes)
	rc = lib.Xsqlite3_prepare_v3(d.tls, d.ptr, d.text.addr, int32(len(sql)+1), flags, ptr, tail)
	runtime.KeepAlive(d)
	if rc != OK {
		return nil, 0, rc
	}
	s = &Stmt{
		db: d, tls: d.tls, ptr: d.scratch.word(0), Control: d.control, Point: d.point,
	}
	if s.ptr != 0 {
		s.params = make([]buffer, lib.Xsqlite3_bind_parameter_count(d.tls, s.ptr))
	}
	used = int(d.scratch.word(1) - d.text.addr)
	if d.text.size > keepBytes {
		d.text.release(d.tls)
	}
	return s, used, OK
}

// Empty reports whether there is nothing to run.
func (s *Stmt) Empty() bool { return s.ptr == 0 }

// Finalize ends the statement and frees its memory.
func (s *Stmt) Finalize() {
	if s.ptr != 0 {
		lib.Xsqlite3_finalize(s.tls, s.ptr) // repeats the error of the last step
		runtime.KeepAlive(s.db)
	}
	s.ptr = 0
	for i := range s.params {
		s.params[i].release(s.tls)
	}
	s.params = nil
}

// Step runs to the next row (ROW) or to the end (DONE).
func (s *Stmt) Step() int32 {
	rc := lib.Xsqlite3_step(s.tls, s.ptr)
	runtime.KeepAlive(s.db)
	return rc
}

// Reset makes the statement ready to run again; parameters keep their values.
func (s *Stmt) Reset() int32 {
	rc := lib.Xsqlite3_reset(s.tls, s.ptr)
	runtime.KeepAlive(s.db)
	return rc
}

// Clear sets every parameter to NULL and lets go of large buffers.
func (s *Stmt) Clear() {
	if len(s.params) == 0 {
		return
	}
	lib.Xsqlite3_clear_bindings(s.tls, s.ptr)
	for i := range s.params {
		if s.params[i].size > keepBytes {
			s.params[i].release(s.tls)
		}
	}
}

// WritesNothing reports that the statement cannot change the database.
func (s *Stmt) WritesNothing() bool { return lib.Xsqlite3_stmt_readonly(s.tls, s.ptr) != 0 }

// Reprepared counts how often a schema change made SQLite compile the statement again.
func (s *Stmt) Reprepared() int {
	return int(lib.Xsqlite3_stmt_status(s.tls, s.ptr, lib.SQLITE_STMTSTATUS_REPREPARE, 0))
}

// Params is the number of parameters.
func (s *Stmt) Params() int { return len(s.params) }

// ParamIndex finds a named parameter (with its prefix); 0: there is none.
func (s *Stmt) ParamIndex(name string) int {
	if !s.db.text.setString(s.tls, name) {
		return 0
	}
	return int(lib.Xsqlite3_bind_parameter_index(s.tls, s.ptr, s.db.text.addr))
}

// ParamName is the name of parameter i with its prefix, or "".
func (s *Stmt) ParamName(i int) string {
	return libc.GoString(lib.Xsqlite3_bind_parameter_name(s.tls, s.ptr, int32(i)))
}

// BindNull, BindInt64, BindFloat, BindText and BindBlob set parameter i, counted from 1, of a
// statement that has been reset. https://www.sqlite.org/c3ref/bind_blob.html
func (s *Stmt) BindNull(i int) int32 { return lib.Xsqlite3_bind_null(s.tls, s.ptr, int32(i)) }

// BindText binds text, which may hold NUL.
func (s *Stmt) BindText(i int, v string) int32 {
	addr, rc := s.room(i, len(v))
	if rc != OK {
		return rc
	}
	copy(view(addr, len(v)), v)
	return s.bindBuffer(i, addr, len(v))
}

// BindBlob binds bytes; an empty slice is an empty blob.
func (s *Stmt) BindBlob(i int, v []byte) int32 {
	addr, rc := s.room(i, len(v))
	if rc != OK {
		return rc
	}
	copy(view(addr, len(v)), v)
	return lib.Xsqlite3_bind_blob(s.tls, s.ptr, int32(i), addr, int32(len(v)), static)
}

// room is the buffer of parameter i with space for n bytes.
func (s *Stmt) room(i, n int) (uintptr, int32) {
	if i < 1 || i > len(s.params) {
		return 0, lib.SQLITE_RANGE
	}
	if n > math.MaxInt32 {
		return 0, lib.SQLITE_TOOBIG
	}
	b := &s.params[i-1]
	if n > b.size || b.size == 0 {
		// The old memory is still bound: let go of it before it is freed.
		if rc := s.BindNull(i); rc != OK {
			return 0, rc
		}
	}
	if !b.grow(s.tls, max(n, 1)) {
		return 0, lib.SQLITE_NOMEM
	}
	return b.addr, OK
}

// Columns is the number of columns of a row.
func (s *Stmt) Columns() int { return int(lib.Xsqlite3_column_count(s.tls, s.ptr)) }

// ColumnName is the name of column i.
func (s *Stmt) ColumnName(i int) string {
	return libc.GoString(lib.Xsqlite3_column_name(s.tls, s.ptr, int32(i)))
}

// ColumnBlob shows bytes where SQLite keeps them, until the next Step, Reset or conversion.
func (s *Stmt) ColumnBlob(i int) []byte {
	p := lib.Xsqlite3_column_blob(s.tls, s.ptr, int32(i))
	return s.columnView(p, i)
}

func (s *Stmt) columnView(p uintptr, i int) []byte {
	if p == 0 {
		return nil // NULL, an empty blob, or no memory
	}
	return view(p, int(lib.Xsqlite3_column_bytes(s.tls, s.ptr, int32(i))))
}
