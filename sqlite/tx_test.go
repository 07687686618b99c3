// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// counter opens a file with a table t(v INTEGER UNIQUE).
func counter(t testing.TB, o Options) (*Conn, string) {
	t.Helper()
	path := tempFile(t)
	c := open(t, path, o)
	mustExec(t, c, "CREATE TABLE t(v INTEGER UNIQUE)")
	return c, path
}

func count(t testing.TB, src Source) int {
	t.Helper()
	return mustOne[int](t, src, "SELECT count(*) FROM t")
}

func TestWrite(t *testing.T) {
	c, _ := counter(t, Options{})
	ctx := t.Context()
	insert := func(tx *Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO t VALUES(1)")
		return err
	}
	boom := errors.New("boom")
	err := c.Write(ctx, func(tx *Tx) error { return errors.Join(insert(tx), boom) })
	if !errors.Is(err, boom) || count(t, c) != 0 {
		t.Errorf("Write with an error: %v, %d rows, want boom and 0", err, count(t, c))
	}
	wantPanic(t, "Write", "at the disco", func() {
		_ = c.Write(ctx, func(tx *Tx) error {
			_ = insert(tx)
			panic("at the disco")
		})
	})
	if c.InTx() || count(t, c) != 0 {
		t.Errorf("after a panic: in transaction %v, %d rows, want none", c.InTx(), count(t, c))
	}
	var kept *Tx
	err = c.Write(ctx, func(tx *Tx) error {
		kept = tx
		return insert(tx)
	})
	if err != nil || count(t, c) != 1 {
		t.Errorf("Write: %v, %d rows, want nil and 1", err, count(t, c))
	}
	if err := insert(kept); !errors.Is(err, ErrTxDone) {
		t.Errorf("Exec after the end: %v, want ErrTxDone", err)
	}
	err = c.Write(ctx, func(*Tx) error { return c.Write(ctx, insert) })
	wantText(t, "Write in Write", err, "use Tx.Savepoint")
}

// TestWriteTakesLockFirst: whoever is inside Write can write, whatever it read before.
func TestWriteTakesLockFirst(t *testing.T) {
	c, path := counter(t, Options{})
	other := open(t, path, Options{Busy: -1})
	err := c.Write(t.Context(), func(tx *Tx) error {
		if _, err := other.Exec(t.Context(), "INSERT INTO t VALUES(1)"); !IsBusy(err) {
			t.Errorf("INSERT of another connection inside Write: %v, want BUSY", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDeferredUpgrade: a transaction that read before another wrote cannot write, and waiting does
// not help; Write does.
func TestDeferredUpgrade(t *testing.T) {
	c, path := counter(t, Options{})
	other := open(t, path, Options{})
	tx, err := c.Begin(t.Context(), Deferred)
	if err != nil {
		t.Fatal(err)
	}
	count(t, tx)
	mustExec(t, other, "INSERT INTO t VALUES(1)")
	start := time.Now()
	_, err = tx.Exec(t.Context(), "INSERT INTO t VALUES(2)")
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Extended != BusySnapshot || !IsBusy(err) {
		t.Errorf("INSERT into an old snapshot: %v, want BUSY_SNAPSHOT", err)
	}
	wantText(t, "INSERT", err, "use Write")
	if d := time.Since(start); d > time.Second {
		t.Errorf("it took %v, want no wait", d)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// TestWriteRunsAgain: BUSY and BUSY_SNAPSHOT out of the function run the whole of it again.
func TestWriteRunsAgain(t *testing.T) {
	c, _ := counter(t, Options{Busy: 300 * time.Millisecond})
	ctx := t.Context()
	busy := &Error{Op: "step", Code: Busy, Extended: BusySnapshot, Offset: -1}
	runs := 0
	err := c.Write(ctx, func(tx *Tx) error {
		runs++
		if _, err := tx.Exec(ctx, "INSERT INTO t VALUES(?)", runs); err != nil || runs == 3 {
			return err
		}
		return busy
	})
	if err != nil || runs != 3 || c.again != 2 {
		t.Errorf("Write = %v after %d runs (%d again), want success in the third", err, runs, c.again)
	}
	if got := mustOne[int](t, c, "SELECT v FROM t"); got != 3 {
		t.Errorf("v = %d, want 3: earlier runs are rolled back", got)
	}
	start := time.Now()
	if err := c.Write(ctx, func(*Tx) error { return busy }); !IsBusy(err) {
		t.Errorf("Write that never succeeds: %v, want BUSY", err)
	}
	if d := time.Since(start); d < 290*time.Millisecond || d > 5*time.Second {
		t.Errorf("it gave up after %v, want the budget of 300 ms", d)
	}
	err = c.Write(shortly(t, 30*time.Millisecond), func(*Tx) error { return busy })
	if !errors.Is(err, context.DeadlineExceeded) || IsBusy(err) {
		t.Errorf("Write with a short context: %v, want its deadline", err)
	}
}

// TestWritersMeet: read, add one, write, from many connections: none is lost.
func TestWritersMeet(t *testing.T) {
	c, path := counter(t, Options{})
	mustExec(t, c, "INSERT INTO t VALUES(0)")
	const writers, rounds = 4, 50
	ctx := t.Context()
	var wg sync.WaitGroup
	for range writers {
		w := open(t, path, Options{})
		wg.Go(func() {
			for range rounds {
				err := w.Write(ctx, func(tx *Tx) error {
					v, err := One[int](ctx, tx, "SELECT v FROM t")
					if err != nil {
						return err
					}
					_, err = tx.Exec(ctx, "UPDATE t SET v = ?", v+1)
					return err
				})
				if err != nil {
					t.Errorf("Write: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if v := mustOne[int](t, c, "SELECT v FROM t"); v != writers*rounds {
		t.Errorf("v = %d, want %d", v, writers*rounds)
	}
}

func TestRead(t *testing.T) {
	c, path := counter(t, Options{})
	other := open(t, path, Options{})
	ctx := t.Context()
	err := c.Read(ctx, func(tx *Tx) error {
		before := count(t, tx)
		mustExec(t, other, "INSERT INTO t VALUES(1)")
		if after := count(t, tx); after != before {
			t.Errorf("%d rows, then %d in one Read", before, after)
		}
		_, err := tx.Exec(ctx, "INSERT INTO t VALUES(2)")
		wantText(t, "INSERT in Read", err, "writes inside Read")
		_, err = c.Exec(ctx, "INSERT INTO t VALUES(2)")
		wantText(t, "INSERT beside the Tx", err, "writes inside Read")
		return nil
	})
	if err != nil || c.InTx() {
		t.Errorf("Read: %v, in transaction %v", err, c.InTx())
	}
	if n := count(t, c); n != 1 {
		t.Errorf("%d rows after Read, want 1", n)
	}
}

func TestSavepoint(t *testing.T) {
	c, _ := counter(t, Options{})
	ctx := t.Context()
	boom := errors.New("boom")
	insert := func(tx *Tx, v int) { mustExec(t, tx, "INSERT INTO t VALUES(?)", v) }
	err := c.Write(ctx, func(tx *Tx) error {
		insert(tx, 1)
		err := tx.Savepoint(ctx, func() error {
			insert(tx, 2)
			err := tx.Savepoint(ctx, func() error {
				insert(tx, 3)
				return boom
			})
			if !errors.Is(err, boom) {
				t.Errorf("inner Savepoint: %v, want boom", err)
			}
			return tx.Savepoint(ctx, func() error {
				insert(tx, 4)
				return nil
			})
		})
		if err != nil {
			t.Errorf("outer Savepoint: %v", err)
		}
		wantPanic(t, "Savepoint", "oh", func() {
			_ = tx.Savepoint(ctx, func() error {
				insert(tx, 5)
				panic("oh")
			})
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := All[int](ctx, c, "SELECT v FROM t ORDER BY v")
	if err != nil || len(got) != 3 || got[0] != 1 || got[1] != 2 || got[2] != 4 {
		t.Errorf("kept %v, %v, want 1 2 4", got, err)
	}
}

// TestRolledBackByItself: after an error that ends the transaction inside SQLite, later statements
// must not be committed one by one.
func TestRolledBackByItself(t *testing.T) {
	c, _ := counter(t, Options{})
	ctx := t.Context()
	mustExec(t, c, "INSERT INTO t VALUES(1)")
	err := c.Write(ctx, func(tx *Tx) error {
		mustExec(t, tx, "INSERT INTO t VALUES(2)")
		if _, err := tx.Exec(ctx, "INSERT OR ROLLBACK INTO t VALUES(1)"); !IsConstraint(err) {
			t.Errorf("INSERT OR ROLLBACK: %v, want a constraint error", err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO t VALUES(3)"); !errors.Is(err, ErrTxDone) {
			t.Errorf("Tx.Exec after it: %v, want ErrTxDone", err)
		}
		if _, err := c.Exec(ctx, "INSERT INTO t VALUES(3)"); !errors.Is(err, ErrTxDone) {
			t.Errorf("Conn.Exec after it: %v, want ErrTxDone", err)
		}
		return nil
	})
	if !errors.Is(err, ErrTxDone) || count(t, c) != 1 {
		t.Errorf("Write: %v, %d rows, want ErrTxDone and 1", err, count(t, c))
	}
}

// TestCommitRefused: a transaction whose commit fails is open until it is rolled back.
func TestCommitRefused(t *testing.T) {
	c := open(t, memoryPath, Options{})
	ctx := t.Context()
	mustExec(t, c, "CREATE TABLE a(id INTEGER PRIMARY KEY)")
	mustExec(t, c, "CREATE TABLE b(a REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED)")
	tx, err := c.Begin(ctx, Immediate)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "INSERT INTO b VALUES(1)")
	if err := tx.Commit(ctx); !IsConstraint(err) || !c.InTx() {
		t.Errorf("Commit: %v, in transaction %v, want a constraint error and yes", err, c.InTx())
	}
	mustExec(t, tx, "INSERT INTO a VALUES(1)")
	if err := tx.Commit(ctx); err != nil || c.InTx() {
		t.Errorf("second Commit: %v, in transaction %v, want nil and no", err, c.InTx())
	}
	if err := tx.Commit(ctx); !errors.Is(err, ErrTxDone) {
		t.Errorf("third Commit: %v, want ErrTxDone", err)
	}
	_, err = c.Begin(ctx, 7)
	wantText(t, "Begin(7)", err, "mode 7")
}
