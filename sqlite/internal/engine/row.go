// SPDX-License-Identifier: MIT

package engine

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// This file reads a row where SQLite holds it. The functions of the interface look the
// value up behind a mutex that is not there and check for a failure of memory behind each
// read; on a scan that is a fifth of the time. A value that has the kind asked for needs
// none of it, every other goes the long way, so what converts is SQLite. The shapes are
// the types of the pinned version itself.

// utf8 is the encoding of text that SQLite has as it is read here.
const utf8 = lib.SQLITE_UTF8

// cell is the value in column i of the current row; nil without a row. The caller has
// checked i.
func (s *Stmt) cell(i int) *lib.TMem {
	row := (*lib.TVdbe)(pointer(s.ptr)).FpResultRow
	if row == 0 {
		return nil
	}
	return (*lib.TMem)(unsafe.Add(pointer(row), i*int(unsafe.Sizeof(lib.TMem{}))))
}

// ColumnInt64 reads an integer, converting as SQLite does.
func (s *Stmt) ColumnInt64(i int) int64 {
	if m := s.cell(i); m != nil && m.Fflags&lib.MEM_Int != 0 {
		return *(*int64)(unsafe.Pointer(&m.Fu))
	}
	return lib.Xsqlite3_column_int64(s.tls, s.ptr, int32(i))
}

// ColumnFloat reads a float, converting as SQLite does.
func (s *Stmt) ColumnFloat(i int) float64 {
	if m := s.cell(i); m != nil && m.Fflags&lib.MEM_Real != 0 {
		return *(*float64)(unsafe.Pointer(&m.Fu))
	}
	return lib.Xsqlite3_column_double(s.tls, s.ptr, int32(i))
}

// ColumnText shows text where SQLite keeps it, until the next Step, Reset or conversion.
func (s *Stmt) ColumnText(i int) []byte {
	const kinds = lib.MEM_Str | lib.MEM_Zero
	if m := s.cell(i); m != nil && m.Fflags&kinds == lib.MEM_Str && m.Fenc == utf8 && m.Fz != 0 {
		return view(m.Fz, int(m.Fn))
	}
	p := lib.Xsqlite3_column_text(s.tls, s.ptr, int32(i))
	return s.columnView(p, i)
}

// ColumnKind is the kind of the value in column i, counted from 0, of the current row.
// https://www.sqlite.org/c3ref/column_blob.html
func (s *Stmt) ColumnKind(i int) int32 {
	if m := s.cell(i); m != nil {
		return lib.Xsqlite3_value_type(s.tls, uintptr(unsafe.Pointer(m)))
	}
	return lib.Xsqlite3_column_type(s.tls, s.ptr, int32(i))
}
