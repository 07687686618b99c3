// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// heard collects what a connection tells of its commits, one text for each.
type heard struct{ commits []string }

func (h *heard) take(k Commit) {
	words := make([]string, 0, len(k.Changes))
	for _, x := range k.Changes {
		word := fmt.Sprintf("%s %s.%s %d", x.Kind, x.Schema, x.Table, x.RowID)
		if x.Was != x.RowID && x.Kind == Updated {
			word += fmt.Sprintf(" was %d", x.Was)
		}
		words = append(words, strings.TrimPrefix(word, "main."))
	}
	if k.Lost > 0 {
		words = append(words, fmt.Sprintf("lost %d", k.Lost))
	}
	h.commits = append(h.commits, strings.ReplaceAll(strings.Join(words, ", "), "main.", ""))
}

// want fails unless exactly these commits were told since the last call.
func (h *heard) want(t *testing.T, call string, commits ...string) {
	t.Helper()
	if got, want := strings.Join(h.commits, "; "), strings.Join(commits, "; "); got != want {
		t.Errorf("%s: told %q, want %q", call, got, want)
	}
	h.commits = nil
}

// listen opens a file with a table t(id, v UNIQUE) and listens from then on.
func listen(t *testing.T, o Options) (*Conn, *heard) {
	t.Helper()
	h := &heard{}
	o.OnCommit = h.take
	c := open(t, tempFile(t), o)
	mustScript(t, c, `CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE);
		CREATE TABLE sub(id INTEGER PRIMARY KEY, t REFERENCES t(id) ON DELETE CASCADE);
		CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;`)
	h.want(t, "CREATE TABLE")
	return c, h
}

func mustScript(t testing.TB, c *Conn, sql string) {
	t.Helper()
	if err := c.Script(context.Background(), sql); err != nil {
		t.Fatalf("Script(%q): %v", sql, err)
	}
}

// TestChangesOfStatements has each kind of statement in a transaction of its own.
func TestChangesOfStatements(t *testing.T) {
	c, h := listen(t, Options{})
	for _, step := range []struct{ sql, want string }{
		{
			"INSERT INTO t VALUES(1, 'a'), (2, 'b'), (3, 'c')",
			"inserted t 1, inserted t 2, inserted t 3",
		},
		{"UPDATE t SET v = 'B' WHERE id = 2", "updated t 2"},
		{"UPDATE t SET id = 9 WHERE id = 3", "updated t 9 was 3"},
		{"REPLACE INTO t VALUES(1, 'A')", "deleted t 1, inserted t 1"},
		{"REPLACE INTO t VALUES(4, 'B')", "deleted t 2, inserted t 4"},
		{"INSERT INTO t VALUES(4, 'x') ON CONFLICT(id) DO UPDATE SET v = 'y'", "updated t 4"},
		{"INSERT OR IGNORE INTO t VALUES(4, 'z')", ""},
		{"INSERT INTO w VALUES('k', 1)", "inserted w 0"},
		{"UPDATE w SET v = 2", "updated w 0"},
		{"DELETE FROM w", "deleted w 0"},
		{"INSERT INTO sub VALUES(1, 9), (2, 9)", "inserted sub 1, inserted sub 2"},
		{"DELETE FROM t WHERE id = 9", "deleted t 9, deleted sub 1, deleted sub 2"},
		{"DELETE FROM t", "deleted t 1, deleted t 4"}, // not cut short by SQLite's truncation
		{"CREATE TEMP TABLE p(v)", ""},
		{"INSERT INTO p VALUES(1)", "inserted temp.p 1"},
		{"CREATE TABLE copy AS SELECT 1 AS v", ""},
		{"DROP TABLE copy", ""},
		{"SELECT count(*) FROM t", ""},
	} {
		mustExec(t, c, step.sql)
		if step.want == "" {
			h.want(t, step.sql)
		} else {
			h.want(t, step.sql, step.want)
		}
	}
}

// TestChangesFollowTheTransaction: what is rolled back, by whatever means, is not told; what is
// committed is told once, behind the commit.
func TestChangesFollowTheTransaction(t *testing.T) {
	ctx := context.Background()
	c, h := listen(t, Options{})
	write := func(what string, fn func(*Tx) error, want ...string) {
		t.Helper()
		_ = c.Write(ctx, fn)
		h.want(t, what, want...)
		mustExec(t, c, "DELETE FROM t")
		h.commits = nil
	}
	add := func(tx *Tx, id int) {
		mustExec(t, tx, "INSERT INTO t VALUES(?, ?)", id, fmt.Sprint("v", id))
	}

	write("a commit", func(tx *Tx) error {
		add(tx, 1)
		add(tx, 2)
		h.want(t, "before the commit")
		return nil
	}, "inserted t 1, inserted t 2")
	write("an error", func(tx *Tx) error { add(tx, 1); return errors.New("no") })
	write("a savepoint that fails", func(tx *Tx) error {
		add(tx, 1)
		_ = tx.Savepoint(ctx, func() error { add(tx, 2); return errors.New("no") })
		_ = tx.Savepoint(ctx, func() error { add(tx, 3); return nil })
		return nil
	}, "inserted t 1, inserted t 3")
	write("savepoints by SQL", func(tx *Tx) error {
		return tx.Script(ctx, `SAVEPOINT one; INSERT INTO t VALUES(1, 'a');
			SAVEPOINT "Two"; INSERT INTO t VALUES(2, 'b');
			SAVEPOINT three; INSERT INTO t VALUES(3, 'c'); RELEASE three;
			ROLLBACK TRANSACTION TO SAVEPOINT [tWO]; INSERT INTO t VALUES(4, 'd');
			RELEASE two; INSERT INTO t VALUES(5, 'e'); RELEASE SAVEPOINT 'one'`)
	}, "inserted t 1, inserted t 4, inserted t 5")
	write("a statement that fails", func(tx *Tx) error {
		add(tx, 1)
		wantConstraint(t, tx, "INSERT INTO t VALUES(2, 'b'), (3, 'c'), (4, 'c')")
		add(tx, 5)
		return nil
	}, "inserted t 1, inserted t 5")
	write("a statement that fails and keeps its rows", func(tx *Tx) error {
		add(tx, 1)
		wantConstraint(t, tx, "INSERT OR FAIL INTO t VALUES(2, 'b'), (3, 'c'), (4, 'c')")
		return nil
	}, "inserted t 1, inserted t 2, inserted t 3")
	write("a statement that ends the transaction", func(tx *Tx) error {
		add(tx, 1)
		wantConstraint(t, tx, "INSERT OR ROLLBACK INTO t VALUES(1, 'c')")
		return nil
	})
	wantConstraint(t, c, "INSERT OR FAIL INTO t VALUES(2, 'b'), (3, 'b')")
	h.want(t, "OR FAIL without a transaction", "inserted t 2")
	wantConstraint(t, c, "INSERT INTO t VALUES(4, 'x'), (5, 'b')")
	h.want(t, "a failing statement without a transaction")
	mustScript(t, c, "SAVEPOINT s; DELETE FROM t; ROLLBACK TO s")
	mustScript(t, c, "INSERT INTO t VALUES(7, 'q'); RELEASE s")
	h.want(t, "a savepoint for a transaction", "inserted t 7")
}

func wantConstraint(t *testing.T, src Source, sql string) {
	t.Helper()
	if _, err := Exec(context.Background(), src, sql); !IsConstraint(err) {
		t.Fatalf("Exec(%q): %v, want a constraint error", sql, err)
	}
}

// TestChangesOfReturning: a statement that is left early commits when it is reset.
func TestChangesOfReturning(t *testing.T) {
	c, h := listen(t, Options{})
	s := prepare(t, c, "INSERT INTO t VALUES(1, 'a'), (2, 'b') RETURNING id")
	mustStep(t, s, true)
	h.want(t, "the first row")
	s.Reset()
	h.want(t, "Reset", "inserted t 1, inserted t 2")
	s.Close()
	h.want(t, "Close")
	for range Query[int](t.Context(), c, "DELETE FROM t RETURNING id") {
		break
	}
	h.want(t, "a loop left early", "deleted t 1, deleted t 2")
}

// TestChangesRefusedByCommit: a commit that fails tells nothing until it succeeds.
func TestChangesRefusedByCommit(t *testing.T) {
	ctx := context.Background()
	c, h := listen(t, Options{})
	tx, err := c.Begin(ctx, Immediate)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "PRAGMA defer_foreign_keys = on")
	mustExec(t, tx, "INSERT INTO sub VALUES(1, 77)")
	if err := tx.Commit(ctx); !IsConstraint(err) {
		t.Fatalf("Commit with a broken foreign key: %v, want a constraint error", err)
	}
	h.want(t, "a commit that failed")
	mustExec(t, tx, "INSERT INTO t VALUES(77, 'late')")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	h.want(t, "the commit", "inserted sub 1, inserted t 77")
}

// TestChangesBound: what does not fit is counted, and a rollback takes its count along.
func TestChangesBound(t *testing.T) {
	ctx := context.Background()
	h := &heard{}
	p := openPool(t, tempFile(t), PoolOptions{Options: Options{OnCommit: h.take, ChangesMax: 2}})
	mustExec(t, p, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
	err := p.Write(ctx, func(tx *Tx) error {
		mustExec(t, tx, "INSERT INTO t VALUES(1), (2), (3)")
		_ = tx.Savepoint(ctx, func() error {
			mustExec(t, tx, "INSERT INTO t VALUES(4), (5)")
			return errors.New("no")
		})
		mustExec(t, tx, "DELETE FROM t WHERE id = 1")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.want(t, "five changes, two of them undone", "inserted t 1, inserted t 2, lost 2")
	if s := p.Stats(); s.Commits != 1 || s.ChangesLost != 2 {
		t.Errorf("Stats: %d commits, %d changes lost, want 1 and 2", s.Commits, s.ChangesLost)
	}
	mustExec(t, p, "DELETE FROM t")
	h.want(t, "the next commit", "deleted t 2, deleted t 3")
}

// TestChangesOfBlob: a write to an open blob is an update, told when it is committed.
func TestChangesOfBlob(t *testing.T) {
	c, h := listen(t, Options{})
	mustScript(t, c, "CREATE TABLE b(v); INSERT INTO b VALUES(zeroblob(10))")
	h.commits = nil
	b, err := c.OpenBlob(t.Context(), BlobRef{Table: "b", Column: "v", RowID: 1, Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	h.want(t, "before Close")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	h.want(t, "Close", "updated b 1")
}

// TestDataVersion: it tells the commits of others, in this process or not.
func TestDataVersion(t *testing.T) {
	path := tempFile(t)
	c, other := open(t, path, Options{}), open(t, path, Options{})
	version := func() int64 {
		t.Helper()
		v, err := c.DataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version()
	mustExec(t, c, "CREATE TABLE t(v)")
	if v := version(); v != first {
		t.Errorf("DataVersion after a commit of its own: %d, want %d", v, first)
	}
	mustExec(t, other, "INSERT INTO t VALUES(1)")
	second := version()
	if second == first {
		t.Errorf("DataVersion after a commit of another connection: still %d", first)
	}
	if v := version(); v != second {
		t.Errorf("DataVersion though nobody committed: %d, want %d", v, second)
	}
	process := startChild(t, "open")
	process.send("%s 0", path) // inserts a row
	if got := process.receive(); !strings.HasPrefix(got, "ok ") {
		t.Fatalf("the other process: %s, want ok", got)
	}
	if v := version(); v == second {
		t.Errorf("DataVersion after a commit of another process: still %d", v)
	}
}

// TestNoChangesKeptUnasked: without a listener nothing is collected.
func TestNoChangesKeptUnasked(t *testing.T) {
	c := open(t, tempFile(t), Options{})
	mustScript(t, c, "CREATE TABLE t(v); SAVEPOINT s; INSERT INTO t VALUES(1); RELEASE s")
	if c.log.mark() != (logMark{}) || len(c.log.marks) > 0 {
		t.Errorf("the log holds %+v, %+v, want nothing", c.log.open, c.log.marks)
	}
}

// TestControlInTx: a COMMIT among the statements of a transaction would leave what follows it
// without one.
func TestControlInTx(t *testing.T) {
	ctx := context.Background()
	c := open(t, tempFile(t), Options{})
	mustExec(t, c, "CREATE TABLE t(v)")
	for _, sql := range []string{"COMMIT", "/* */ end transaction", "ROLLBACK", "BEGIN"} {
		err := c.Write(ctx, func(tx *Tx) error {
			return tx.Script(ctx, "INSERT INTO t VALUES(1); "+sql+"; INSERT INTO t VALUES(2)")
		})
		wantText(t, sql+" in a Tx", err, "inside a Tx")
	}
	if n := mustOne[int](t, c, "SELECT count(*) FROM t"); n != 0 {
		t.Errorf("%d rows are left of transactions that failed, want 0", n)
	}
}
