// SPDX-License-Identifier: MIT

package migrate_test

import (
	"context"
	"embed"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"m0serve.dev/sqlite"
	"m0serve.dev/sqlite/migrate"
)

//go:embed testdata/schema/*.sql
var schema embed.FS

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func one[T any](t testing.TB, c *sqlite.Conn, sql string) T {
	t.Helper()
	v, err := sqlite.One[T](context.Background(), c, sql)
	if err != nil {
		t.Fatalf("One(%q): %v", sql, err)
	}
	return v
}

// wantRun fails unless Run runs n steps without an error.
func wantRun(t testing.TB, c *sqlite.Conn, n int, steps ...migrate.Step) {
	t.Helper()
	ran, err := migrate.Run(context.Background(), c, migrate.Config{Steps: steps})
	if err != nil || ran != n {
		t.Fatalf("Run: %d steps, %v; want %d", ran, err, n)
	}
}

// wantError fails unless Run fails with such a text; it gives the error.
func wantError(t testing.TB, c *sqlite.Conn, text string, steps ...migrate.Step) error {
	t.Helper()
	_, err := migrate.Run(context.Background(), c, migrate.Config{Steps: steps})
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("Run: %v, want an error with %q", err, text)
	}
	return err
}

func step(name, sql string) migrate.Step { return migrate.Step{Name: name, SQL: sql} }

// TestFS runs the files in their order, the rebuild without losing what refers to the table.
func TestFS(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	steps, err := migrate.FS(schema, "testdata/schema/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	wantRun(t, c, 3, steps...)
	wantRun(t, c, 0, steps...)
	if n := one[int](t, c, "SELECT count(*) FROM todo"); n != 2 {
		t.Errorf("%d todos after list was made anew, want 2: dropping it deleted them", n)
	}
	if !one[bool](t, c, "PRAGMA foreign_keys") {
		t.Error("foreign keys are off after Run")
	}
	_, err = c.Exec(context.Background(), "INSERT INTO todo(list, title) VALUES(9, '')")
	if !sqlite.IsConstraint(err) {
		t.Error("the foreign key of todo is gone after list was made anew")
	}
	if names := one[string](t, c, "SELECT group_concat(name) FROM m0_migrations"); names !=
		"001_todo.sql,002_first.sql,010_unique.sql" {
		t.Errorf("recorded: %s", names)
	}
}

// TestFSRefuses are files that cannot be steps.
func TestFSRefuses(t *testing.T) {
	if _, err := migrate.FS(fstest.MapFS{}, "*.sql"); err == nil {
		t.Error("no file at all: no error")
	}
	files := fstest.MapFS{"1.sql": {Data: []byte("-- migrate: rebild\nSELECT 1")}}
	if _, err := migrate.FS(files, "*.sql"); err == nil || !strings.Contains(err.Error(), "rebild") {
		t.Errorf("a first line that is misspelt: %v, want an error that names it", err)
	}
}

// TestHistory is a list that does not fit the database.
func TestHistory(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	a, b := step("a", "CREATE TABLE a(v)"), step("b", "CREATE TABLE b(v);\n")
	nothing := func(context.Context, *sqlite.Tx) error { return nil }
	f := migrate.Step{Name: "f", Func: nothing}
	wantRun(t, c, 3, a, b, f)
	wantRun(t, c, 0, a, step("b", "CREATE TABLE b(v);\r\n"), f) // as another editor saves it
	for _, x := range []struct {
		what  string
		steps []migrate.Step
		err   error
		text  string
	}{
		{"changed", []migrate.Step{a, step("b", "CREATE TABLE b(v, w)"), f}, migrate.ErrChanged, `"b"`},
		{"missing", []migrate.Step{a, f}, migrate.ErrChanged, `step 2 was "b" and is "f"`},
		{"inserted", []migrate.Step{a, step("a2", "SELECT 1"), b, f}, migrate.ErrChanged, `"a2"`},
		{"a function no more", []migrate.Step{a, b, step("f", "SELECT 1")}, migrate.ErrChanged, `"f"`},
		{"newer", []migrate.Step{a}, migrate.ErrNewer, `3 steps, up to "f"; this program has 1`},
	} {
		if err := wantError(t, c, x.text, x.steps...); !errors.Is(err, x.err) {
			t.Errorf("%s: %v, want %v", x.what, err, x.err)
		}
	}
	_, _ = c.Exec(context.Background(), "DELETE FROM m0_migrations WHERE id = 1")
	if err := wantError(t, c, "no row 1", a, b, f); !errors.Is(err, migrate.ErrChanged) {
		t.Errorf("a row of the table is gone: %v, want ErrChanged", err)
	}
}

// TestSteps are lists that are refused before anything runs.
func TestSteps(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	good := step("good", "CREATE TABLE good(v)")
	wantError(t, c, "no name", good, step("", "SELECT 1"))
	wantError(t, c, `two steps are called "good"`, good, good)
	wantError(t, c, "either SQL or Func", good, step("x", ""))
	off := step("x", "pragma main.foreign_keys=OFF")
	wantError(t, c, "does nothing inside a transaction", good, off)
	if n := one[int](t, c, "SELECT count(*) FROM sqlite_schema"); n != 0 {
		t.Errorf("%d tables after lists that were refused, want 0", n)
	}
}

// TestFailingStep: it is undone, those before it stay, the next Run goes on there.
func TestFailingStep(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	a := step("a", "CREATE TABLE a(v)")
	wantError(t, c, `step "b"`, a, step("b", "CREATE TABLE b(v); INSERT INTO nope VALUES(1)"))
	wantError(t, c, "inside a Tx", a, step("b", "CREATE TABLE b(v); COMMIT; CREATE TABLE c(v)"))
	wantError(t, c, "within a transaction", a, step("b", "CREATE TABLE b(v); VACUUM"))
	sorry := errors.New("sorry")
	fails := func(ctx context.Context, tx *sqlite.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE TABLE b(v)"); err != nil {
			return err
		}
		return sorry
	}
	err := wantError(t, c, `step "b"`, a, migrate.Step{Name: "b", Func: fails})
	if !errors.Is(err, sorry) {
		t.Errorf("a function that fails: %v, want its error wrapped", err)
	}
	if n := one[int](t, c, "SELECT count(*) FROM sqlite_schema WHERE name IN ('b', 'c')"); n != 0 {
		t.Errorf("%d tables of a failing step are left, want 0", n)
	}
	wantRun(t, c, 1, a, step("b", "CREATE TABLE b(v)"))
}

// TestRebuildChecks: a rebuild that breaks references is undone, one beside references that were
// broken before is not blamed for them.
func TestRebuildChecks(t *testing.T) {
	ctx := context.Background()
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	tables := step("tables", `CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1), (2);
		CREATE TABLE k(p REFERENCES p(id)); INSERT INTO k VALUES(1), (2)`)
	wantRun(t, c, 1, tables)
	loses := migrate.Step{Name: "loses", Rebuild: true, SQL: `
		CREATE TABLE new_p(id INTEGER PRIMARY KEY);
		INSERT INTO new_p SELECT id FROM p WHERE id > 1; DROP TABLE p; ALTER TABLE new_p RENAME TO p`}
	wantError(t, c, `1 rows of "k" refer to rows of "p" that are not there`, tables, loses)
	n := one[int](t, c, "SELECT count(*) FROM p")
	if on := one[bool](t, c, "PRAGMA foreign_keys"); n != 2 || !on {
		t.Errorf("after a rebuild that failed: %d parents, foreign keys %v; want 2, on", n, on)
	}
	off := open(t, c.Path(), sqlite.Options{NoForeignKeys: true})
	if _, err := off.Exec(ctx, "INSERT INTO k VALUES(77)"); err != nil {
		t.Fatal(err)
	}
	keeps := loses
	keeps.Name, keeps.SQL = "keeps", strings.Replace(loses.SQL, "WHERE id > 1", "", 1)
	wantRun(t, c, 1, tables, keeps)
}

// TestNothingToDo: a process whose steps have all run does not wait for a writer.
func TestNothingToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	c, writer := open(t, path, sqlite.Options{Busy: -1}), open(t, path, sqlite.Options{})
	a := step("a", "CREATE TABLE a(v)")
	wantRun(t, c, 1, a)
	tx, err := writer.Begin(t.Context(), sqlite.Immediate)
	if err != nil {
		t.Fatal(err)
	}
	ran, err := migrate.Run(t.Context(), c, migrate.Config{Steps: []migrate.Step{a}, Wait: 1})
	if ran != 0 || err != nil {
		t.Errorf("Run beside a writer with nothing to do: %d, %v; want 0", ran, err)
	}
	b := step("b", "CREATE TABLE b(v)")
	_, err = migrate.Run(t.Context(), c, migrate.Config{Steps: []migrate.Step{a, b}, Wait: 1})
	if !sqlite.IsBusy(err) {
		t.Errorf("Run beside a writer, without patience: %v, want BUSY", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = migrate.Run(ctx, c, migrate.Config{Steps: []migrate.Step{a, b}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run beside a writer until its context ends: %v, want the deadline", err)
	}
	ended := make(chan error)
	time.AfterFunc(20*time.Millisecond, func() { ended <- tx.Rollback() })
	waited := make(chan error)
	go func() {
		_, err := migrate.Run(t.Context(), c, migrate.Config{Steps: []migrate.Step{a, b}})
		waited <- err
	}()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("Run beside a writer that ends: %v, want it to wait longer than Options.Busy", err)
	}
}

// TestDone is told of each step in order, and Run refuses an open transaction.
func TestDone(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	var names []string
	o := migrate.Config{
		Steps: []migrate.Step{step("a", "CREATE TABLE a(v)"), step("b", "CREATE TABLE b(v)")},
		Done:  func(name string, _ time.Duration) { names = append(names, name) },
	}
	err := c.Write(t.Context(), func(*sqlite.Tx) error {
		_, err := migrate.Run(t.Context(), c, o)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "transaction open") {
		t.Errorf("Run inside Write: %v, want an error", err)
	}
	if ran, err := migrate.Run(t.Context(), c, o); ran != 2 || err != nil {
		t.Fatalf("Run: %d, %v", ran, err)
	}
	if got := strings.Join(names, " "); got != "a b" {
		t.Errorf("Done was told %q, want a b", got)
	}
}
