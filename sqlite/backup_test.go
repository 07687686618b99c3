// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// childChurn changes the whole table again and again, the same value in each row of one
// transaction, until the process ends: "path".
func childChurn(args []string) string {
	c, err := Open(args[0], Options{})
	if err != nil {
		return err.Error()
	}
	if _, err := c.Exec(context.Background(), "UPDATE t SET n = 1"); err != nil {
		return err.Error()
	}
	go func() {
		for i := 2; ; i++ {
			if _, err := c.Exec(context.Background(), "UPDATE t SET n = ?", i); err != nil {
				fmt.Fprintln(os.Stderr, "churn:", err)
				os.Exit(1)
			}
		}
	}()
	return "churning"
}

// fill makes a table of some hundred pages.
func fill(t testing.TB, c *Conn, rows int) {
	t.Helper()
	mustExec(t, c, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, pad)")
	mustExec(t, c, `WITH RECURSIVE k(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM k WHERE i < ?)
		INSERT INTO t SELECT i, 0, randomblob(400) FROM k`, rows)
}

// wantCopy checks the file of a backup: whole, and of one moment.
func wantCopy(t *testing.T, path string, rows int) *Conn {
	t.Helper()
	c := open(t, path, Options{MustExist: true})
	if got := mustOne[string](t, c, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check of the copy: %s, want ok", got)
	}
	if n := mustOne[int](t, c, "SELECT count(*) FROM t"); n != rows {
		t.Errorf("%d rows in the copy, want %d", n, rows)
	}
	if n := mustOne[int](t, c, "SELECT count(DISTINCT n) FROM t"); n != 1 {
		t.Errorf("the copy holds %d moments, want 1", n)
	}
	return c
}

// TestBackupUnderWrites copies page by page while another process never stops changing every row.
// Each page is copied once: the writer does not make it begin again.
func TestBackupUnderWrites(t *testing.T) {
	const rows = 600
	path := tempFile(t)
	c := open(t, path, Options{})
	fill(t, c, rows)
	writer := startChild(t, "churn")
	writer.send("%s", path)
	if got := writer.receive(); got != "churning" {
		t.Fatalf("writer: %s", got)
	}
	look := open(t, path, Options{})
	version := func() int64 {
		v, err := look.DataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	steps, last := 0, 0
	to := filepath.Join(t.TempDir(), "copy.db")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.Backup(ctx, to, CopyOptions{Pages: 1, Progress: func(done, total int) {
		if steps++; done < last || done > total {
			t.Errorf("progress went from %d to %d of %d: it began again", last, done, total)
			cancel() // it would not end
		}
		if last = done; steps%20 == 0 {
			before := version()
			eventually(t, "the writer commits between two steps", func() bool {
				return version() != before
			})
		}
	}})
	if err != nil {
		t.Fatalf("Backup: %v", err)
	}
	if steps < 50 {
		t.Errorf("%d steps, want some hundred", steps)
	}
	wantCopy(t, to, rows)
	to = filepath.Join(t.TempDir(), "copy.db")
	if err := c.VacuumInto(t.Context(), to); err != nil {
		t.Fatalf("VacuumInto: %v", err)
	}
	wantCopy(t, to, rows)
}

// TestBackupRefuses are the destinations that cannot be, each with the reason; nothing is left
// behind.
func TestBackupRefuses(t *testing.T) {
	ctx := context.Background()
	c := open(t, tempFile(t), Options{})
	fill(t, c, 10)
	dir := t.TempDir()
	for _, name := range []string{"there.db", "orphan.db-wal", "orphan2.db-journal"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"there.db", "orphan.db", "orphan2.db"} {
		err := c.Backup(ctx, filepath.Join(dir, name), CopyOptions{})
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("Backup to %s: %v, want fs.ErrExist", name, err)
		}
		if err := c.VacuumInto(ctx, filepath.Join(dir, name)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("VacuumInto %s: %v, want fs.ErrExist", name, err)
		}
	}
	err := c.Backup(ctx, filepath.Join(dir, "no", "folder.db"), CopyOptions{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Backup into no folder: %v, want fs.ErrNotExist", err)
	}
	wantText(t, "Backup to memory", c.Backup(ctx, memoryPath, CopyOptions{}), "no name of a file")
	if err := c.Backup(shortly(t, 0), filepath.Join(dir, "late.db"), CopyOptions{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("Backup with an ended context: %v, want the deadline", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 3 {
		t.Errorf("the folder holds %q, want the three files of before", names)
	}
	if c.InTx() {
		t.Error("a backup that failed left a transaction open")
	}
}

// TestBackupEndsWithContext: a copy that is cancelled in the middle leaves nothing.
func TestBackupEndsWithContext(t *testing.T) {
	c := open(t, tempFile(t), Options{})
	fill(t, c, 100)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Backup(ctx, filepath.Join(dir, "copy.db"), CopyOptions{
		Pages: 1, Pause: time.Hour, Progress: func(done, _ int) {
			if done == 1 {
				time.AfterFunc(time.Millisecond, cancel) // while it pauses
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Backup cancelled in the middle: %v, want context.Canceled", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestBackupPermissions: a copy is as private as its database.
func TestBackupPermissions(t *testing.T) {
	path := tempFile(t)
	c := open(t, path, Options{})
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	to := path + ".copy"
	if err := c.Backup(t.Context(), to, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the copy: %v, %v; want mode 0640", info.Mode(), err)
	}
}

// TestCopyTo goes into memory, back to a file, and onto a file that others use.
func TestCopyTo(t *testing.T) {
	ctx := context.Background()
	c, mem := open(t, tempFile(t), Options{}), open(t, memoryPath, Options{})
	fill(t, c, 100)
	mustExec(t, mem, "CREATE TABLE old(v)") // replaced
	if err := c.CopyTo(ctx, mem, CopyOptions{}); err != nil {
		t.Fatalf("CopyTo memory: %v", err)
	}
	mustExec(t, mem, "DELETE FROM t WHERE id > 50")
	path := tempFile(t)
	file, other := open(t, path, Options{Busy: 50 * time.Millisecond}), open(t, path, Options{})
	mustExec(t, file, "CREATE TABLE mine(v)")
	tx, err := other.Begin(ctx, Immediate)
	if err != nil {
		t.Fatal(err)
	}
	err = mem.CopyTo(ctx, file, CopyOptions{})
	if !IsBusy(err) {
		t.Errorf("CopyTo a file that is being written: %v, want BUSY", err)
	}
	wantText(t, "CopyTo a file that is being written", err, path, "destination")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := mustOne[int](t, file, "SELECT count(*) FROM mine"); n != 0 {
		t.Errorf("the destination of a copy that failed is changed: %d", n)
	}
	if err := mem.CopyTo(ctx, file, CopyOptions{}); err != nil {
		t.Fatalf("CopyTo a file: %v", err)
	}
	if n := mustOne[int](t, other, "SELECT count(*) FROM t"); n != 50 {
		t.Errorf("another connection sees %d rows of the copy, want 50", n)
	}
}

// TestCopyToRefuses names what cannot be a destination.
func TestCopyToRefuses(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	c, same := open(t, path, Options{}), open(t, path, Options{})
	fill(t, c, 10)
	wantText(t, "itself", c.CopyTo(ctx, c, CopyOptions{}), "one connection")
	wantText(t, "its own file", c.CopyTo(ctx, same, CopyOptions{}), "one file")
	dst := open(t, tempFile(t), Options{})
	reader := open(t, dst.path, Options{QueryOnly: true})
	wantText(t, "a reader", c.CopyTo(ctx, reader, CopyOptions{}), "reading only")
	err := dst.Write(ctx, func(*Tx) error { return c.CopyTo(ctx, dst, CopyOptions{}) })
	wantText(t, "inside a transaction", err, "transaction")
	err = c.Write(ctx, func(*Tx) error { return c.CopyTo(ctx, dst, CopyOptions{}) })
	wantText(t, "from inside a transaction", err, "open already")
	small := open(t, memoryPath, Options{})
	mustScript(t, small, "PRAGMA page_size = 512; CREATE TABLE x(v)")
	wantText(t, "another page size", c.CopyTo(ctx, small, CopyOptions{}), "page size")
}

// TestBackupOfPool: a reader copies while the writer writes.
func TestBackupOfPool(t *testing.T) {
	ctx := context.Background()
	p := openPool(t, tempFile(t), PoolOptions{})
	mustExec(t, p, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)")
	mustExec(t, p, "INSERT INTO t VALUES(1, 0)")
	for name, copy := range map[string]func(*Conn, string) error{
		"Backup":     func(c *Conn, to string) error { return c.Backup(ctx, to, CopyOptions{}) },
		"VacuumInto": func(c *Conn, to string) error { return c.VacuumInto(ctx, to) },
	} {
		to := filepath.Join(t.TempDir(), "copy.db")
		err := p.Write(ctx, func(*Tx) error {
			return p.WithReader(ctx, func(c *Conn) error { return copy(c, to) })
		})
		if err != nil {
			t.Errorf("%s on a reader inside Write: %v", name, err)
			continue
		}
		wantCopy(t, to, 1)
		err = p.WithReader(ctx, func(c *Conn) error {
			_, err := c.Exec(ctx, "DELETE FROM t")
			return err
		})
		if CodeOf(err) != ReadOnly {
			t.Errorf("a write on the reader after %s: %v, want READONLY", name, err)
		}
	}
}
