// SPDX-License-Identifier: MIT

package sqlite

import (
	"fmt"
	"strings"

	"m0serve.dev/sqlite/internal/engine"
)

// Kind is what a value in the database is, whatever its column was declared as.
type Kind int32

// The five kinds: https://www.sqlite.org/datatype3.html
const (
	Integer Kind = Kind(engine.Integer)
	Float   Kind = Kind(engine.Float)
	Text    Kind = Kind(engine.Text)
	Blob    Kind = Kind(engine.Blob)
	Null    Kind = Kind(engine.Null)
)

// String is the name in SQL.
func (k Kind) String() string {
	switch k {
	case Integer:
		return "INTEGER"
	case Float:
		return "REAL"
	case Text:
		return "TEXT"
	case Blob:
		return "BLOB"
	case Null:
		return "NULL"
	}
	return fmt.Sprintf("kind %d", int32(k))
}

// Columns is the number of columns of a row; 0 for a statement that gives none.
func (s *Stmt) Columns() int {
	if s.closed {
		return 0
	}
	return s.es.Columns()
}

// ColumnName is the name of column i, counted from 0.
func (s *Stmt) ColumnName(i int) string {
	if n := s.Columns(); uint(i) >= uint(n) {
		panic(fmt.Sprintf("sqlite: name of column %d of %d in %q", i, n, s.sql))
	}
	return s.es.ColumnName(i)
}

// mustRow panics when column i of a current row does not exist: a mistake in the program.
func (s *Stmt) mustRow(i int) {
	if uint(i) >= uint(s.row) {
		s.panicRow(i)
	}
}

func (s *Stmt) panicRow(i int) {
	if s.row == 0 {
		panic(fmt.Sprintf("sqlite: column %d read without a row of %q: Step must have said true",
			i, s.sql))
	}
	panic(fmt.Sprintf("sqlite: column %d read of %d in %q", i, s.row, s.sql))
}

// Kind is the kind of the value in column i of the current row, before any conversion. It and the
// getters below panic when there is no such column.
func (s *Stmt) Kind(i int) Kind {
	s.mustRow(i)
	return Kind(s.es.ColumnKind(i))
}

// IsNull reports whether column i is NULL.
func (s *Stmt) IsNull(i int) bool { return s.Kind(i) == Null }

// Int64 reads column i as SQLite's CAST to INTEGER does: NULL is 0. Query is strict instead.
func (s *Stmt) Int64(i int) int64 {
	s.mustRow(i)
	return s.es.ColumnInt64(i)
}

// Float64 reads column i as SQLite's CAST to REAL does: NULL is 0.
func (s *Stmt) Float64(i int) float64 {
	s.mustRow(i)
	return s.es.ColumnFloat(i)
}

// Bool reports whether column i is a number other than 0.
func (s *Stmt) Bool(i int) bool { return s.Int64(i) != 0 }

// Text copies column i as text: NULL is "".
func (s *Stmt) Text(i int) string {
	s.mustRow(i)
	return string(s.es.ColumnText(i))
}

// RawText shows column i as text without copying it: valid until the next call on the statement,
// and not to be written to. NULL is nil.
func (s *Stmt) RawText(i int) []byte {
	s.mustRow(i)
	return s.es.ColumnText(i)
}

// Blob copies column i as bytes: NULL is nil, an empty blob is empty and not nil.
func (s *Stmt) Blob(i int) []byte {
	raw := s.RawBlob(i)
	if raw == nil {
		return nil
	}
	return append(make([]byte, 0, len(raw)), raw...)
}

// RawBlob shows column i as bytes without copying them: valid until the next call on the
// statement, and not to be written to. NULL is nil.
func (s *Stmt) RawBlob(i int) []byte {
	s.mustRow(i)
	raw := s.es.ColumnBlob(i)
	if raw == nil && s.Kind(i) != Null {
		return []byte{} // SQLite shows an empty blob as no memory
	}
	return raw
}

// value copies column i in the Go type of its kind.
func (s *Stmt) value(i int) any {
	switch s.Kind(i) {
	case Integer:
		return s.Int64(i)
	case Float:
		return s.Float64(i)
	case Text:
		return s.Text(i)
	case Blob:
		return s.Blob(i)
	}
	return nil
}

// columnNames lists the columns for an error.
func (s *Stmt) columnNames() string {
	names := make([]string, s.Columns())
	for i := range names {
		names[i] = s.ColumnName(i)
	}
	return strings.Join(names, ", ")
}
