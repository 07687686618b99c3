// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"
)

// endless never gives a row and never ends.
const endless = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) " +
	"SELECT i FROM n WHERE i < 0"

// soon fails when something that should have ended at once took long.
func soon(t *testing.T, call string, start time.Time) {
	t.Helper()
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("%s returned after %v", call, d)
	}
}

func TestCancelRunningQuery(t *testing.T) {
	c := open(t, memoryPath, Options{})
	for range 3 {
		start := time.Now()
		_, err := One[int](shortly(t, 30*time.Millisecond), c, endless)
		soon(t, "One", start)
		if !errors.Is(err, context.DeadlineExceeded) || CodeOf(err) != Interrupt || IsBusy(err) {
			t.Errorf("endless query: %v, want the deadline and INTERRUPT", err)
		}
		if v := mustOne[int](t, c, "SELECT 1"); v != 1 {
			t.Errorf("the connection gives %d afterwards, want 1", v)
		}
	}
	reason := errors.New("the client left")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	time.AfterFunc(10*time.Millisecond, func() { cancel(reason) })
	if _, err := One[int](ctx, c, endless); !errors.Is(err, reason) {
		t.Errorf("endless query: %v, want the cause of the context", err)
	}
	if _, err := One[int](ctx, c, "SELECT 1"); !errors.Is(err, reason) {
		t.Errorf("query after the end of its context: %v, want the cause", err)
	}
}

// TestCancelBetweenRows: each Step answers to its own context.
func TestCancelBetweenRows(t *testing.T) {
	c := open(t, memoryPath, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := 0
	var err error
	for _, err = range Query[int](ctx, c, "SELECT value FROM json_each('[1,2,3,4]')") {
		if rows++; rows == 2 {
			cancel()
		}
	}
	if rows != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d turns, last error %v, want two rows and Canceled", rows, err)
	}
}

// TestCancelWrite: a write that is interrupted inside a transaction takes all of it back.
func TestCancelWrite(t *testing.T) {
	c, _ := counter(t, Options{})
	ctx := shortly(t, 30*time.Millisecond)
	start := time.Now()
	err := c.Write(ctx, func(tx *Tx) error {
		mustExec(t, tx, "INSERT INTO t VALUES(1)")
		_, err := tx.Exec(ctx, "INSERT INTO t "+endless)
		return err
	})
	soon(t, "Write", start)
	if !errors.Is(err, context.DeadlineExceeded) || c.InTx() || count(t, c) != 0 {
		t.Errorf("Write: %v, in transaction %v, %d rows, want deadline, no, 0",
			err, c.InTx(), count(t, c))
	}
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = c.Write(ended, func(tx *Tx) error {
		mustExec(t, tx, "INSERT INTO t VALUES(1)")
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || count(t, c) != 0 {
		t.Errorf("Write with a context that ended: %v, %d rows, want Canceled and 0", err, count(t, c))
	}
}

// TestRollbackIsNotCancelled: the context that ended the work does not end the undoing of it.
func TestRollbackIsNotCancelled(t *testing.T) {
	c, _ := counter(t, Options{Sync: SyncOff})
	for i := range 3000 { // the handler is asked after some number of steps over all runs
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := c.Begin(ctx, Deferred)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := tx.Rollback(); err != nil || c.InTx() {
			t.Fatalf("Rollback %d: %v, in transaction %v", i, err, c.InTx())
		}
	}
}

// lock takes the write lock on another connection until release is called.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	other := open(t, path, Options{})
	tx, err := other.Begin(t.Context(), Immediate)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

func TestBusyBudget(t *testing.T) {
	c, path := counter(t, Options{Busy: 100 * time.Millisecond})
	release := lock(t, path)
	start := time.Now()
	_, err := c.Exec(t.Context(), "INSERT INTO t VALUES(1)")
	if d := time.Since(start); !IsBusy(err) || d < 95*time.Millisecond || d > 2*time.Second {
		t.Errorf("Exec against a lock: %v after %v, want BUSY after 100 ms", err, d)
	}
	wantText(t, "Exec", err, "raise Options.Busy")
	none := open(t, path, Options{Busy: -1})
	start = time.Now()
	err = none.Write(t.Context(), func(*Tx) error { return nil })
	if d := time.Since(start); !IsBusy(err) || d > 2*time.Second {
		t.Errorf("Write without a budget: %v after %v, want BUSY at once", err, d)
	}
	release()
	mustExec(t, c, "INSERT INTO t VALUES(1)")
}

// TestBusyWaitEnds: a waiter goes on as soon as the lock is free.
func TestBusyWaitEnds(t *testing.T) {
	c, path := counter(t, Options{})
	other := open(t, path, Options{})
	tx, err := other.Begin(t.Context(), Immediate)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), "INSERT INTO t VALUES(1)")
		done <- err
	}()
	eventually(t, "the writer waits", func() bool { return c.call.waits.Load() > yieldTries })
	start := time.Now()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Exec after a wait: %v", err)
	}
	soon(t, "Exec", start)
}

func TestCancelBusyWait(t *testing.T) {
	c, path := counter(t, Options{Busy: time.Minute})
	release := lock(t, path)
	calls := map[string]func(ctx context.Context) error{
		"Exec": func(ctx context.Context) error {
			_, err := c.Exec(ctx, "INSERT INTO t VALUES(1)")
			return err
		},
		"Write": func(ctx context.Context) error { return c.Write(ctx, func(*Tx) error { return nil }) },
		"Begin": func(ctx context.Context) error {
			_, err := c.Begin(ctx, Immediate)
			return err
		},
	}
	for name, call := range calls {
		for _, ms := range []time.Duration{1, 30, 700} { // one of each part of the schedule
			d := ms * time.Millisecond
			start := time.Now()
			err := call(shortly(t, d))
			soon(t, name, start)
			if !errors.Is(err, context.DeadlineExceeded) || IsBusy(err) {
				t.Errorf("%s against a lock for %v: %v, want the deadline", name, d, err)
			}
		}
	}
	release()
	mustExec(t, c, "INSERT INTO t VALUES(1)")
}

// TestCancelCommitWait: with a rollback journal a commit waits for readers, and the context counts
// there too. The transaction is still open and can be committed later.
func TestCancelCommitWait(t *testing.T) {
	c, path := counter(t, Options{Journal: Delete, Busy: time.Minute})
	mustExec(t, c, "INSERT INTO t VALUES(1), (2)")
	reader := open(t, path, Options{Journal: Delete})
	s := prepare(t, reader, "SELECT v FROM t")
	mustStep(t, s, true)
	tx, err := c.Begin(t.Context(), Immediate)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "INSERT INTO t VALUES(3)")
	start := time.Now()
	err = tx.Commit(shortly(t, 50*time.Millisecond))
	soon(t, "Commit", start)
	if !errors.Is(err, context.DeadlineExceeded) || !c.InTx() {
		t.Errorf("Commit against a reader: %v, in transaction %v, want the deadline, yes", err, c.InTx())
	}
	s.Close()
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("Commit after the reader left: %v", err)
	}
	if n := count(t, reader); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestNoAllocation: a context that can end costs no goroutine and no memory.
func TestNoAllocation(t *testing.T) {
	c, _ := counter(t, Options{})
	mustExec(t, c, "INSERT INTO t VALUES(12345)")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := prepare(t, c, "SELECT v FROM t WHERE v = ? AND ? = 'text'")
	defer s.Close()
	run := func() {
		s.BindInt64(1, 12345)
		s.BindText(2, "text")
		if more, err := s.Step(ctx); !more || err != nil || len(s.RawText(0)) != 5 {
			t.Errorf("Step = %v, %v", more, err)
		}
		s.Reset()
	}
	if n := testing.AllocsPerRun(200, run); n > 0 {
		t.Errorf("%v allocations for a kept statement, want 0", n)
	}
	exec := func() {
		if _, err := c.Exec(ctx, "UPDATE t SET v = ? WHERE v = ?", 54321, 99999); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(200, exec); n > 0 {
		t.Errorf("%v allocations for Exec of a cached statement, want 0", n)
	}
}
