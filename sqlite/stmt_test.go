// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func prepare(t testing.TB, c *Conn, sql string) *Stmt {
	t.Helper()
	s, err := c.Prepare(t.Context(), sql)
	if err != nil {
		t.Fatalf("Prepare(%q): %v", sql, err)
	}
	return s
}

// mustStep steps and wants the given answer.
func mustStep(t testing.TB, s *Stmt, want bool) {
	t.Helper()
	if more, err := s.Step(t.Context()); err != nil || more != want {
		t.Fatalf("Step of %q = %v, %v, want %v", s.SQL(), more, err, want)
	}
}

func TestPrepareRefuses(t *testing.T) {
	c := open(t, memoryPath, Options{})
	for sql, want := range map[string]string{
		"":                     "no statement",
		" -- nothing\n":        "no statement",
		"SELECT 1; SELECT 2":   "text after the first statement",
		"SELECT 1; nonsense":   "text after the first statement",
		"SELECT 'a\x00b'":      "NUL at byte 9",
		"SELECT * FROM nobody": "no such table",
	} {
		_, err := c.Prepare(t.Context(), sql)
		wantText(t, fmt.Sprintf("Prepare(%q)", sql), err, want)
	}
	prepare(t, c, "SELECT 1; -- a comment may follow\n").Close()
	if n := c.db.Statements(); n != len(c.cache.idle)+countControl(c) {
		t.Errorf("%d statements live, want those of the cache: a refused one was left", n)
	}
}

func countControl(c *Conn) (n int) {
	for _, s := range []*Stmt{c.begin[0], c.begin[1], c.begin[2], c.commit, c.undo} {
		if s != nil {
			n++
		}
	}
	return n
}

func TestStatementCache(t *testing.T) {
	c := open(t, memoryPath, Options{Statements: 3})
	text := func(i int) string { return fmt.Sprintf("SELECT %d", i) }
	for i := range 10 {
		prepare(t, c, text(i)).Close()
		if n := len(c.cache.idle); n > 3 {
			t.Fatalf("%d statements kept, want at most 3", n)
		}
	}
	first := prepare(t, c, text(7)) // the oldest of 7, 8, 9 becomes the newest
	first.Close()
	prepare(t, c, text(10)).Close() // makes room by dropping 8
	hits := c.cache.hits
	for i, kept := range map[int]bool{7: true, 8: false, 9: true, 10: true} {
		if got := c.cache.idle[text(i)] != nil; got != kept {
			t.Errorf("statement %d kept = %v, want %v", i, got, kept)
		}
	}
	again := prepare(t, c, text(7))
	if again != first || c.cache.hits != hits+1 {
		t.Error("the statement was prepared again although the cache has it")
	}
	again.Close()
	if n := c.db.Statements(); n != 3 {
		t.Errorf("%d statements live, want 3", n)
	}
}

// TestSameTextTwice: two users of one text do not share a statement.
func TestSameTextTwice(t *testing.T) {
	c := open(t, memoryPath, Options{})
	const sql = "SELECT value FROM json_each(?)"
	prepare(t, c, sql).Close() // the cache has one to give
	outer, inner := prepare(t, c, sql), prepare(t, c, sql)
	outer.Bind("[1,2]")
	inner.Bind("[3]")
	mustStep(t, outer, true)
	mustStep(t, inner, true)
	if outer.Int64(0) != 1 || inner.Int64(0) != 3 {
		t.Errorf("outer %d, inner %d, want 1 and 3", outer.Int64(0), inner.Int64(0))
	}
	inner.Close()
	mustStep(t, outer, true)
	if outer.Int64(0) != 2 {
		t.Errorf("outer %d after inner closed, want 2", outer.Int64(0))
	}
	outer.Close()
	if n := len(c.cache.idle); n != 1+countPragmas(c) {
		t.Errorf("%d statements kept, want one of the two", n)
	}
}

func countPragmas(c *Conn) (n int) {
	for sql := range c.cache.idle {
		if strings.HasPrefix(sql, "PRAGMA") {
			n++
		}
	}
	return n
}

// TestCacheForgetsValues: a statement from the cache does not carry values of its last user.
func TestCacheForgetsValues(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT ?")
	s.BindText(1, "secret")
	s.Close()
	s = prepare(t, c, "SELECT ?")
	defer s.Close()
	mustStep(t, s, true)
	if !s.IsNull(0) {
		t.Errorf("an unbound parameter is %q, want NULL", s.Text(0))
	}
}

func TestClosedStatement(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT ?")
	s.Close()
	s.Close()
	s.BindText(1, "x")
	if _, err := s.Step(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Step after Close: %v, want ErrClosed", err)
	}
}

func TestColumnPanics(t *testing.T) {
	c := open(t, memoryPath, Options{})
	s := prepare(t, c, "SELECT 1")
	defer s.Close()
	wantPanic(t, "column without a row", "without a row", func() { s.Int64(0) })
	mustStep(t, s, true)
	wantPanic(t, "column 1 of 1", "column 1 read of 1", func() { s.Text(1) })
	wantPanic(t, "column -1", "column -1 read of 1", func() { s.Kind(-1) })
	wantPanic(t, "name of column 1", "name of column 1 of 1", func() { s.ColumnName(1) })
	mustStep(t, s, false)
	wantPanic(t, "column after the end", "without a row", func() { s.Int64(0) })
	mustStep(t, s, false) // and the statement does not start again by itself
}

func wantPanic(t *testing.T, call, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, part) {
			t.Errorf("%s: panic %q, want one with %q", call, got, part)
		}
	}()
	f()
}

// TestSchemaChange: a kept statement follows a schema that another connection changes.
func TestSchemaChange(t *testing.T) {
	path := tempFile(t)
	c, other := open(t, path, Options{}), open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(id INTEGER, name TEXT)")
	mustExec(t, c, "INSERT INTO t VALUES(1, 'one')")
	type row struct {
		ID   int64
		Name string
		Size int64
	}
	const sql = "SELECT * FROM t"
	if got := mustOne[row](t, c, sql); got != (row{1, "one", 0}) {
		t.Fatalf("before: %+v", got)
	}
	mustExec(t, other, "ALTER TABLE t DROP COLUMN id")
	mustExec(t, other, "ALTER TABLE t ADD COLUMN size INTEGER DEFAULT 9")
	if got := mustOne[row](t, c, sql); got != (row{0, "one", 9}) {
		t.Errorf("after: %+v, want the new columns", got)
	}
}

// TestStepErrorStays: an error is not hidden by asking again, and Reset clears it.
func TestStepErrorStays(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE t(v INTEGER NOT NULL)")
	s := prepare(t, c, "INSERT INTO t VALUES(?)")
	defer s.Close()
	s.BindNull(1)
	for range 2 {
		if _, err := s.Step(t.Context()); !IsConstraint(err) {
			t.Fatalf("Step: %v, want a constraint error", err)
		}
	}
	s.BindInt64(1, 5) // resets
	mustStep(t, s, false)
	if n := mustOne[int](t, c, "SELECT count(*) FROM t"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}
