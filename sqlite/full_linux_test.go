// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a full disk needs root to mount a small one")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("NOT TESTED: mount of a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestDiskFull fills the disk by writing, and makes space again. What was committed stays, the
// error says what to do, and the same connection goes on.
func TestDiskFull(t *testing.T) {
	for _, journal := range []Journal{WAL, Delete} {
		t.Run(string(journal), func(t *testing.T) {
			dir := smallDisk(t)
			ballast := filepath.Join(dir, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 300<<10), 0o600); err != nil {
				t.Fatal(err)
			}
			c := open(t, filepath.Join(dir, "test.db"), Options{Journal: journal})
			mustExec(t, c, "CREATE TABLE t(v BLOB)")
			committed := fillDisk(t, c)
			checkWhole(t, c, committed)
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			err := c.Write(t.Context(), func(tx *Tx) error {
				_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES(randomblob(8000))")
				return err
			})
			if err != nil {
				t.Fatalf("Write after space came back: %v", err)
			}
			checkWhole(t, c, committed+1)
			again := open(t, c.Path(), Options{Journal: journal})
			checkWhole(t, again, committed+1)
		})
	}
}

// fillDisk commits rows until the disk is full, in pairs, so that a half done pair would show.
func fillDisk(t *testing.T, c *Conn) (rows int) {
	t.Helper()
	for rows < 200 {
		err := c.Write(t.Context(), func(tx *Tx) error {
			for range 2 {
				if _, err := tx.Exec(t.Context(), "INSERT INTO t VALUES(randomblob(8000))"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			if !IsFull(err) {
				t.Fatalf("Write on a full disk: %v, want FULL", err)
			}
			wantText(t, "Write", err, "make space")
			if _, ok := errors.AsType[*Error](err); !ok || rows == 0 || c.InTx() {
				t.Fatalf("after %d rows: %v, in transaction %v", rows, err, c.InTx())
			}
			return rows
		}
		rows += 2
	}
	t.Fatal("1 MiB never filled up")
	return 0
}

// checkWhole wants an intact database with so many rows.
func checkWhole(t *testing.T, c *Conn, rows int) {
	t.Helper()
	if got := mustOne[string](t, c, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check: %s, want ok", got)
	}
	if n := count(t, c); n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
}
