// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOpenSettings(t *testing.T) {
	tests := []struct {
		name   string
		o      Options
		pragma string
		want   any
	}{
		{"journal", Options{}, "journal_mode", "wal"},
		{"journal delete", Options{Journal: Delete}, "journal_mode", "delete"},
		{"sync in WAL", Options{}, "synchronous", int64(1)},
		{"sync otherwise", Options{Journal: Delete}, "synchronous", int64(2)},
		{"sync off", Options{Sync: SyncOff}, "synchronous", int64(0)},
		{"sync extra", Options{Sync: SyncExtra}, "synchronous", int64(3)},
		{"foreign keys", Options{}, "foreign_keys", int64(1)},
		{"no foreign keys", Options{NoForeignKeys: true}, "foreign_keys", int64(0)},
		{"cache", Options{CacheKB: 4096}, "cache_size", int64(-4096)},
		{"mmap", Options{MmapKB: 1024}, "mmap_size", int64(1 << 20)},
		{"query only", Options{QueryOnly: true}, "query_only", int64(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, tempFile(t), tt.o)
			if got := mustOne[any](t, c, "PRAGMA "+tt.pragma); got != tt.want {
				t.Errorf("PRAGMA %s = %v, want %v", tt.pragma, got, tt.want)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		path string
		o    Options
		want []string // parts of the error
	}{
		{"empty path", "", Options{}, []string{"path is empty"}},
		{"NUL in path", "a\x00b", Options{}, []string{"NUL"}},
		{"no directory", filepath.Join(dir, "no", "x.db"), Options{},
			[]string{"x.db", "SQLITE_CANTOPEN", "create the directory"}},
		{"a directory", dir, Options{}, []string{"SQLITE_CANTOPEN", "the path is a directory"}},
		{"must exist", filepath.Join(dir, "new.db"), Options{MustExist: true},
			[]string{"does not exist", "forbid creating"}},
		{"read-only needs a file", filepath.Join(dir, "new.db"), Options{ReadOnly: true},
			[]string{"does not exist", "forbid creating"}},
		{"not a database", junk, Options{},
			[]string{"junk.db", "SQLITE_NOTADB", "not an SQLite database"}},
		{"journal", filepath.Join(dir, "new.db"), Options{Journal: "wall"},
			[]string{"Options.Journal", "wall"}},
		{"sync", filepath.Join(dir, "new.db"), Options{Sync: 9}, []string{"Options.Sync is 9"}},
		{"cache", filepath.Join(dir, "new.db"), Options{CacheKB: -1}, []string{"negative"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Open(tt.path, tt.o)
			wantText(t, "Open", err, append(tt.want, "sqlite: open")...)
			if c != nil {
				t.Error("Open gave a connection beside the error")
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "new.db")); err == nil {
		t.Error("a refused Open created the file")
	}
}

// TestOpenPathIsNoURI: a name that looks like a URI is a name.
func TestOpenPathIsNoURI(t *testing.T) {
	t.Chdir(t.TempDir())
	open(t, "file:x.db?mode=memory", Options{})
	if _, err := os.Stat("file:x.db?mode=memory"); err != nil {
		t.Errorf("the file has another name: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	path := tempFile(t)
	w := open(t, path, Options{})
	mustExec(t, w, "CREATE TABLE t(v)")
	for name, o := range map[string]Options{
		"ReadOnly": {ReadOnly: true}, "QueryOnly": {QueryOnly: true},
	} {
		r := open(t, path, o)
		mustOne[int](t, r, "SELECT count(*) FROM t")
		_, err := r.Exec(t.Context(), "INSERT INTO t VALUES(1)")
		if CodeOf(err) != ReadOnly {
			t.Errorf("%s: INSERT: %v, want READONLY", name, err)
		}
		wantText(t, name, err, "for reading only")
	}
}

// TestOpenLocked: another process that keeps the lock costs the budget and no more.
func TestOpenLocked(t *testing.T) {
	path := tempFile(t)
	c := open(t, path, Options{Journal: Delete})
	tx, err := c.Begin(t.Context(), Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = Open(path, Options{Busy: 100 * time.Millisecond})
	if !IsBusy(err) {
		t.Errorf("Open of a locked file: %v, want BUSY", err)
	}
	wantText(t, "Open", err, "open", path, "Options.Busy")
	if d := time.Since(start); d < 90*time.Millisecond || d > 3*time.Second {
		t.Errorf("Open gave up after %v, want about 100 ms", d)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

func TestStrictQuotes(t *testing.T) {
	c := open(t, memoryPath, Options{})
	_, err := One[string](t.Context(), c, `SELECT "text"`)
	wantText(t, `SELECT "text"`, err, "no such column")
}

func TestForeignKeys(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE a(id INTEGER PRIMARY KEY)")
	mustExec(t, c, "CREATE TABLE b(a REFERENCES a(id))")
	_, err := c.Exec(t.Context(), "INSERT INTO b VALUES(7)")
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Extended != ConstraintForeignKey || !IsConstraint(err) {
		t.Errorf("INSERT of a dangling key: %v, want CONSTRAINT_FOREIGNKEY", err)
	}
}

func TestScript(t *testing.T) {
	c := open(t, memoryPath, Options{})
	err := c.Script(t.Context(), `
		-- two tables
		CREATE TABLE a(v); CREATE TABLE b(v);;
		INSERT INTO a VALUES('x;y'); /* and no more */ `)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustOne[string](t, c, "SELECT v FROM a"); got != "x;y" {
		t.Errorf("v = %q, want x;y", got)
	}
	err = c.Script(t.Context(), "INSERT INTO a VALUES(1); INSERT INTO nowhere VALUES(2); DROP TABLE a")
	wantText(t, "Script", err, "no such table: nowhere")
	if n := mustOne[int](t, c, "SELECT count(*) FROM a"); n != 2 {
		t.Errorf("%d rows, want 2: what ran before the error stays", n)
	}
}

func TestErrorText(t *testing.T) {
	c := open(t, memoryPath, Options{})
	_, err := c.Exec(t.Context(), "SELECT nope")
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("Exec: %v, want *Error", err)
	}
	if e.Op != "prepare" || e.Code != Generic || e.Offset != 7 || e.SQL != "SELECT nope" {
		t.Errorf("error %+v, want prepare, ERROR, byte 7 of the statement", e)
	}
	want := `sqlite: prepare: no such column: nope (SQLITE_ERROR) in "SELECT nope" at byte 7`
	if err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
	_, err = c.Exec(t.Context(), "SELECT nope, '"+strings.Repeat("é", 200)+"'")
	if n := len(err.Error()); n > 2*sqlMax {
		t.Errorf("the error shows %d bytes of a long statement", n)
	}
}

func TestCodeNames(t *testing.T) {
	for code, want := range map[Code]string{
		Busy: "SQLITE_BUSY", BusySnapshot: "SQLITE_BUSY_SNAPSHOT", IOErr | 3<<8: "SQLITE_IOERR 778",
		ConstraintUnique: "SQLITE_CONSTRAINT_UNIQUE", 200: "SQLITE 200",
	} {
		if got := code.String(); got != want {
			t.Errorf("Code(%d).String() = %q, want %q", int(code), got, want)
		}
	}
}

func TestClosed(t *testing.T) {
	c, err := Open(tempFile(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	s, err := c.Prepare(ctx, "SELECT ?")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := c.Begin(ctx, Immediate)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatalf("Close with a statement and a transaction open: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v, want nil", err)
	}
	s.BindText(1, "x")
	_, stepErr := s.Step(ctx)
	_, execErr := c.Exec(ctx, "SELECT 1")
	_, prepareErr := c.Prepare(ctx, "SELECT 1")
	_, beginErr := c.Begin(ctx, Immediate)
	for call, err := range map[string]error{
		"Step": stepErr, "Exec": execErr, "Prepare": prepareErr, "Begin": beginErr,
		"Script": c.Script(ctx, "SELECT 1"),
		"Write":  c.Write(ctx, func(*Tx) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", call, err)
		}
	}
	if err := tx.Commit(ctx); !errors.Is(err, ErrTxDone) {
		t.Errorf("Commit after Close: %v, want ErrTxDone", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Errorf("Rollback after Close: %v, want nil", err)
	}
	s.Close()
}
