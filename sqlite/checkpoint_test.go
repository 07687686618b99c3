// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func mustCheckpoint(t *testing.T, c *Conn, mode CheckpointMode) Checkpointed {
	t.Helper()
	r, err := c.Checkpoint(context.Background(), mode)
	if err != nil {
		t.Fatalf("Checkpoint(%d): %v", mode, err)
	}
	return r
}

// TestCheckpoint has each mode with nobody in the way.
func TestCheckpoint(t *testing.T) {
	path := tempFile(t)
	c := open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(v)")
	for mode := CheckpointPassive; mode <= CheckpointTruncate; mode++ {
		mustExec(t, c, "INSERT INTO t VALUES(randomblob(50000))")
		r := mustCheckpoint(t, c, mode)
		if mode == CheckpointTruncate {
			if (r != Checkpointed{}) {
				t.Errorf("truncate: %+v, want an empty WAL", r)
			}
			continue
		}
		if !r.Whole() || r.Log < 12 {
			t.Errorf("mode %d: %+v, want a dozen frames, all moved", mode, r)
		}
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the WAL after truncate: %v, %v; want 0 bytes", info, err)
	}
	plain := open(t, tempFile(t), Options{Journal: Delete})
	if r := mustCheckpoint(t, plain, CheckpointFull); r.Log != -1 || r.Whole() {
		t.Errorf("without a WAL: %+v, want Log -1", r)
	}
	if _, err := c.Checkpoint(context.Background(), 7); err == nil {
		t.Error("mode 7: no error")
	}
}

// TestCheckpointMeetsReader: a reader of an old state stops what comes after it, for as long as the
// budget, and is told as Busy and not as an error.
func TestCheckpointMeetsReader(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	const budget = 100 * time.Millisecond
	c, reader := open(t, path, Options{Busy: budget}), open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(v)")
	mustCheckpoint(t, c, CheckpointTruncate)
	mustExec(t, c, "INSERT INTO t VALUES(1)")
	err := reader.Read(ctx, func(tx *Tx) error {
		mustOne[int](t, tx, "SELECT count(*) FROM t")
		mustExec(t, c, "INSERT INTO t VALUES(2)")
		r := mustCheckpoint(t, c, CheckpointPassive)
		if r.Whole() || r.Moved == 0 || r.Moved >= r.Log {
			t.Errorf("passive beside a reader: %+v, want a part moved", r)
		}
		for _, mode := range []CheckpointMode{CheckpointFull, CheckpointRestart, CheckpointTruncate} {
			start := time.Now()
			r := mustCheckpoint(t, c, mode)
			if took := time.Since(start); !r.Busy || took < budget {
				t.Errorf("mode %d beside a reader: %+v after %v, want Busy after %v", mode, r, took, budget)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := mustCheckpoint(t, c, CheckpointTruncate); r.Busy {
		t.Errorf("after the reader: %+v, want success", r)
	}
}

// TestCheckpointContext: the context ends a wait, and that is an error.
func TestCheckpointContext(t *testing.T) {
	path := tempFile(t)
	c, writer := open(t, path, Options{Busy: time.Hour}), open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(v)")
	tx, err := writer.Begin(t.Context(), Immediate)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Checkpoint(shortly(t, 20*time.Millisecond), CheckpointFull)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Checkpoint beside a writer: %v, want the deadline", err)
	}
	_, err = writer.Checkpoint(t.Context(), CheckpointFull)
	wantText(t, "Checkpoint inside a transaction", err, "LOCKED", "end it first")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}
