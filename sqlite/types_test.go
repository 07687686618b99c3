// SPDX-License-Identifier: MIT

package sqlite

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

type (
	userID int64
	label  string
	raw    []byte
	level  uint8
)

func ptr[T any](v T) *T { return &v }

// TestBindKinds stores a value and looks at what it became.
func TestBindKinds(t *testing.T) {
	moment := time.Date(2026, 11, 29, 12, 30, 0, 123456789, time.FixedZone("", 3600))
	tests := []struct {
		name string
		in   any
		kind Kind
		want any
	}{
		{"nil", nil, Null, nil},
		{"int64 min", int64(math.MinInt64), Integer, int64(math.MinInt64)},
		{"int64 max", int64(math.MaxInt64), Integer, int64(math.MaxInt64)},
		{"int", -7, Integer, int64(-7)},
		{"uint64", uint64(math.MaxInt64), Integer, int64(math.MaxInt64)},
		{"uint8 kind", level(255), Integer, int64(255)},
		{"int kind", userID(5), Integer, int64(5)},
		{"true", true, Integer, int64(1)},
		{"false", false, Integer, int64(0)},
		{"float", 0.1, Float, 0.1},
		{"float32", float32(0.5), Float, 0.5},
		{"infinity", math.Inf(1), Float, math.Inf(1)},
		{"whole float", 3.0, Float, 3.0},
		{"text", "héllo", Text, "héllo"},
		{"empty text", "", Text, ""},
		{"text with NUL", "a\x00b\x00", Text, "a\x00b\x00"},
		{"invalid UTF-8", "\xff\xfe", Text, "\xff\xfe"},
		{"text kind", label("x"), Text, "x"},
		{"blob", []byte{0, 1, 255}, Blob, []byte{0, 1, 255}},
		{"empty blob", []byte{}, Blob, []byte{}},
		{"nil blob", []byte(nil), Null, nil},
		{"blob kind", raw{9}, Blob, []byte{9}},
		{"nil pointer", (*string)(nil), Null, nil},
		{"pointer", ptr("there"), Text, "there"},
		{"pointer to kind", ptr(userID(8)), Integer, int64(8)},
		{"pointer to time", ptr(UnixMilli{moment}), Integer, moment.UnixMilli()},
		{"milliseconds", UnixMilli{moment}, Integer, moment.UnixMilli()},
		{"RFC 3339", RFC3339{moment}, Text, "2026-11-29T11:30:00.123456789Z"},
		{"RFC 3339 of a second", RFC3339{moment.Truncate(time.Second)},
			Text, "2026-11-29T11:30:00.000000000Z"},
	}
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE t(v)") // no affinity
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mustExec(t, c, "DELETE FROM t")
			mustExec(t, c, "INSERT INTO t VALUES(?)", tt.in)
			s := prepare(t, c, "SELECT v FROM t")
			defer s.Close()
			mustStep(t, s, true)
			if k := s.Kind(0); k != tt.kind {
				t.Errorf("kind %v, want %v", k, tt.kind)
			}
			if got := s.value(0); !same(got, tt.want) {
				t.Errorf("value %#v, want %#v", got, tt.want)
			}
		})
	}
}

// same compares values, telling an empty blob from none.
func same(a, b any) bool {
	x, ok := a.([]byte)
	if y, ok2 := b.([]byte); ok && ok2 {
		return bytes.Equal(x, y) && (x == nil) == (y == nil)
	}
	return a == b
}

func TestBindRefuses(t *testing.T) {
	c := open(t, memoryPath, Options{})
	tests := []struct {
		name  string
		sql   string
		args  []any
		want  string
		limit bool // wraps ErrRange
	}{
		{"uint64 above int64", "SELECT ?", []any{uint64(1 << 63)}, "9223372036854775808", true},
		{"NaN", "SELECT ?", []any{math.NaN()}, "NaN", true},
		{"time.Time", "SELECT ?", []any{time.Now()}, "say UnixMilli{Time: t} or RFC3339", false},
		{"pointer to time.Time", "SELECT ?", []any{ptr(time.Now())}, "say UnixMilli", false},
		{"far milliseconds", "SELECT ?", []any{UnixMilli{time.Unix(1<<60, 0)}}, "in milliseconds", true},
		{"far year", "SELECT ?", []any{RFC3339{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
			"year 10000", true},
		{"struct", "SELECT ?", []any{struct{}{}}, "cannot store a struct {}", false},
		{"map", "SELECT ?", []any{map[string]int{}}, "cannot store a map[string]int", false},
		{"ints", "SELECT ?", []any{[]int{1}}, "cannot store a []int", false},
		{"too few", "SELECT ?, ?", []any{1}, "1 arguments for 2 parameters", false},
		{"too many", "SELECT 1", []any{1}, "1 arguments for 0 parameters", false},
		{"no such name", "SELECT :a", []any{Named("b", 1)}, `no parameter "b"`, false},
		{"name twice", "SELECT :a, :b", []any{Named("a", 1), Named("a", 2)}, `"a" is given twice`, false},
		{"mixed", "SELECT :a, :b", []any{Named("a", 1), 2}, "named and unnamed", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Exec(t.Context(), tt.sql, tt.args...)
			wantText(t, "Exec", err, "sqlite: bind", tt.want)
			if errors.Is(err, ErrRange) != tt.limit {
				t.Errorf("errors.Is(%v, ErrRange) = %v, want %v", err, !tt.limit, tt.limit)
			}
		})
	}
}

func TestBindErrorIsKept(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT ?, ?")
	defer s.Close()
	s.BindInt64(3, 1) // there is none
	s.BindInt64(1, 1)
	_, err := s.Step(t.Context())
	wantText(t, "Step", err, "no parameter 3", "which has 2")
	s.Reset()
	mustStep(t, s, true)
}

func TestNamed(t *testing.T) {
	c := open(t, memoryPath, Options{})
	type row struct {
		A, B, C, D int
	}
	got := mustOne[row](t, c, "SELECT :one AS a, @two AS b, $three AS c, :one AS d",
		Named("three", 3), Named("one", 1), Named("two", 2))
	if got != (row{1, 2, 3, 1}) {
		t.Errorf("named arguments gave %+v", got)
	}
}

// TestBindReuse: parameters keep their values over Reset, and buffers are reused and outgrown
// without mixing values.
func TestBindReuse(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT ?1, ?2")
	defer s.Close()
	long := strings.Repeat("long ", 40_000) // above what a statement keeps
	for _, v := range []string{"a", strings.Repeat("b", 63), strings.Repeat("c", 64), long, "", "d"} {
		s.BindText(1, v)
		s.BindBlob(2, []byte(v+"!"))
		for range 2 {
			mustStep(t, s, true)
			if s.Text(0) != v || string(s.Blob(1)) != v+"!" {
				t.Fatalf("%d bytes came back as %d and %d", len(v), len(s.Text(0)), len(s.Blob(1)))
			}
			s.Reset()
		}
	}
	s.BindText(1, "while a row is current")
	mustStep(t, s, true)
	view := s.RawText(0)
	s.BindText(1, "resets first")
	mustStep(t, s, true)
	if s.Text(0) != "resets first" {
		t.Errorf("after a bind on a row: %q (the old view is %q)", s.Text(0), view)
	}
}

func TestConversions(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT '12x', 3.9, NULL, x'6162', 7")
	defer s.Close()
	mustStep(t, s, true)
	if s.Int64(0) != 12 || s.Int64(1) != 3 || s.Int64(2) != 0 || s.Bool(2) || !s.Bool(4) {
		t.Errorf("integers %d, %d, %d", s.Int64(0), s.Int64(1), s.Int64(2))
	}
	if s.Float64(0) != 12 || s.Float64(4) != 7 {
		t.Errorf("floats %v, %v, want 12 and 7", s.Float64(0), s.Float64(4))
	}
	if s.Text(4) != "7" || s.Text(3) != "ab" || s.Text(2) != "" ||
		s.RawText(2) != nil || s.Blob(2) != nil {
		t.Errorf("texts %q, %q, %q", s.Text(4), s.Text(3), s.Text(2))
	}
}

// TestBindReplans: a plan made for one value of a parameter is not used for another. The range
// of an index that LIKE looks in is part of the plan.
func TestBindReplans(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE t(v TEXT COLLATE NOCASE)")
	mustExec(t, c, "CREATE INDEX t_v ON t(v)")
	mustExec(t, c, "INSERT INTO t VALUES('anna'), ('Anton'), ('berta'), ('7')")
	s := prepare(t, c, "SELECT count(*) FROM t WHERE v LIKE ?")
	defer s.Close()
	want := map[string]int64{"an%": 2, "b%": 1, "c%": 0, "7%": 1}
	for range 3 {
		for pattern, n := range want {
			s.BindText(1, pattern)
			mustStep(t, s, true)
			if got := s.Int64(0); got != n {
				t.Errorf("%d rows like %q, want %d", got, pattern, n)
			}
		}
		s.BindInt64(1, 7)
		mustStep(t, s, true)
		if got := s.Int64(0); got != 1 {
			t.Errorf("%d rows like 7, want 1", got)
		}
		s.BindFloat(1, 0.5)
		mustStep(t, s, true)
		if got := s.Int64(0); got != 0 {
			t.Errorf("%d rows like 0.5, want 0", got)
		}
	}
}

// TestTextEncoding: text is UTF-8 in Go whatever the database holds, at each read of it.
func TestTextEncoding(t *testing.T) {
	for _, encoding := range []string{"UTF-8", "UTF-16le", "UTF-16be"} {
		c := open(t, memoryPath, Options{})
		if err := c.Script(t.Context(), "PRAGMA encoding='"+encoding+"'; CREATE TABLE t(v)"); err != nil {
			t.Fatal(err)
		}
		mustExec(t, c, "INSERT INTO t VALUES(?)", "grüße")
		s := prepare(t, c, "SELECT v FROM t")
		mustStep(t, s, true)
		for range 2 {
			if got := s.Text(0); got != "grüße" || s.Kind(0) != Text || string(s.Blob(0)) != "grüße" {
				t.Errorf("%s: %q, %v, %q, want \"grüße\"", encoding, got, s.Kind(0), s.Blob(0))
			}
		}
		s.Close()
	}
}

// TestIntegerOverflow: SQL arithmetic beyond int64 becomes REAL, and a strict read says so.
func TestIntegerOverflow(t *testing.T) {
	c := open(t, memoryPath, Options{})
	_, err := One[int64](t.Context(), c, "SELECT 9223372036854775807 + 1")
	wantText(t, "One[int64]", err, "REAL into int64")
}

func TestStrictTable(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE t(n INTEGER, s TEXT) STRICT")
	_, err := c.Exec(t.Context(), "INSERT INTO t VALUES(?, ?)", "twelve", "x")
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Extended != ConstraintDatatype {
		t.Errorf("text in a STRICT integer: %v, want CONSTRAINT_DATATYPE", err)
	}
	mustExec(t, c, "INSERT INTO t VALUES(?, ?)", 12, "x")
}

func TestReturning(t *testing.T) {
	path := tempFile(t)
	c, other := open(t, path, Options{}), open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
	if id := mustOne[int64](t, c, "INSERT INTO t(v) VALUES('a') RETURNING id"); id != 1 {
		t.Errorf("RETURNING id = %d, want 1", id)
	}
	const three = "INSERT INTO t(v) VALUES('b'), ('c'), ('d') RETURNING id"
	for id, err := range Query[int64](t.Context(), c, three) {
		if err != nil || id != 2 {
			t.Fatalf("first row %d, %v, want 2", id, err)
		}
		// Committed before the loop begins, so leaving it loses nothing.
		if n := mustOne[int](t, other, "SELECT count(*) FROM t"); n != 4 {
			t.Errorf("%d rows seen by others inside the loop, want 4", n)
		}
		break
	}
	r, err := c.Exec(t.Context(), "UPDATE t SET v = 'z' WHERE id > 2")
	if err != nil || r.Changed != 2 || r.LastID != 4 {
		t.Errorf("Exec = %+v, %v, want 2 changed and last id 4", r, err)
	}
}

// TestReturningConstraint: a commit that fails is the error of One, not lost with the row.
func TestReturningConstraint(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE a(id INTEGER PRIMARY KEY)")
	mustExec(t, c, "CREATE TABLE b(a REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED)")
	_, err := One[int64](t.Context(), c, "INSERT INTO b VALUES(7) RETURNING a")
	if !IsConstraint(err) {
		t.Errorf("One of a row that cannot be committed: %v, want a constraint error", err)
	}
}
