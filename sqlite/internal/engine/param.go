// SPDX-License-Identifier: MIT

package engine

import (
	"math"
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// This file sets parameters where SQLite holds them, as row.go reads columns.

// slot is parameter i, counted from 1, when a value may simply be put there: the statement
// is reset, its plan does not depend on values, and nothing is to be freed. Otherwise nil,
// and SQLite does it.
func (s *Stmt) slot(i int) *lib.TMem {
	v := (*lib.TVdbe)(pointer(s.ptr))
	if i < 1 || i > len(s.params) || v.FeVdbeState != lib.VDBE_READY_STATE || v.Fexpmask != 0 {
		return nil
	}
	m := (*lib.TMem)(unsafe.Add(pointer(v.FaVar), (i-1)*int(unsafe.Sizeof(lib.TMem{}))))
	if m.Fflags&(lib.MEM_Agg|lib.MEM_Dyn) != 0 {
		return nil
	}
	return m
}

// BindInt64 binds an integer.
func (s *Stmt) BindInt64(i int, v int64) int32 {
	if m := s.slot(i); m != nil {
		*(*int64)(unsafe.Pointer(&m.Fu)) = v
		m.Fflags = lib.MEM_Int
		return OK
	}
	return lib.Xsqlite3_bind_int64(s.tls, s.ptr, int32(i), v)
}

// BindFloat binds a float; SQLite stores NaN as NULL.
func (s *Stmt) BindFloat(i int, v float64) int32 {
	if m := s.slot(i); m != nil && !math.IsNaN(v) {
		*(*float64)(unsafe.Pointer(&m.Fu)) = v
		m.Fflags = lib.MEM_Real
		return OK
	}
	return lib.Xsqlite3_bind_double(s.tls, s.ptr, int32(i), v)
}

// bindBuffer binds text of n bytes in the buffer of parameter i. Into a database that holds
// UTF-16, and long text, whose bound is SQLite's to know, goes the long way.
func (s *Stmt) bindBuffer(i int, addr uintptr, n int) int32 {
	if m := s.slot(i); m != nil && s.db.state().Fenc == utf8 && n <= keepBytes {
		m.Fz, m.Fn, m.Fenc, m.Fflags = addr, int32(n), utf8, lib.MEM_Str|lib.MEM_Static
		return OK
	}
	return lib.Xsqlite3_bind_text(s.tls, s.ptr, int32(i), addr, int32(n), static)
}
