// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"m0serve.dev/sqlite/internal/engine"
)

// TxMode is when a transaction takes its locks: https://www.sqlite.org/lang_transaction.html
type TxMode int

// Transaction modes. A Deferred transaction that reads first and writes later fails with
// BUSY_SNAPSHOT when another connection wrote in between, and no waiting helps; Immediate waits
// for its turn before it reads.
const (
	Deferred TxMode = iota
	Immediate
	Exclusive
)

// Tx is an open transaction of one connection, used by the same goroutine.
type Tx struct {
	c     *Conn
	reads bool // begun by Read: nothing may write
	done  bool
}

// Begin opens a transaction. Most programs want Write or Read.
func (c *Conn) Begin(ctx context.Context, mode TxMode) (*Tx, error) {
	if c.db == nil {
		return nil, ErrClosed
	}
	if mode < Deferred || mode > Exclusive {
		return nil, fmt.Errorf("sqlite: begin: mode %d is not one of the TxMode constants", mode)
	}
	if c.tx != nil || c.InTx() {
		return nil, errors.New("sqlite: begin: a transaction is open already; use Tx.Savepoint")
	}
	sql := [...]string{"BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}[mode]
	if err := c.call.enter(ctx); err != nil {
		return nil, wrapEnd("begin", err)
	}
	if err := c.control("begin", &c.begin[mode], sql); err != nil {
		return nil, err
	}
	c.tx = &Tx{c: c}
	return c.tx, nil
}

// control runs a transaction statement that is kept for the life of the connection.
func (c *Conn) control(op string, kept **Stmt, sql string) error {
	if *kept == nil {
		es, _, rc := c.db.Prepare(sql, true)
		if rc != engine.OK {
			return c.fail(op, sql, rc)
		}
		*kept = &Stmt{c: c, es: es, sql: sql}
		(*kept).link()
	}
	rc := (*kept).es.Step()
	var err error
	if rc != engine.Done {
		err = c.fail(op, "", rc)
	}
	(*kept).es.Reset()
	c.settle()
	return err
}

// Commit makes the transaction durable. When it fails the transaction is still open unless the
// error ended it: Rollback is right in both cases.
func (t *Tx) Commit(ctx context.Context) error {
	if err := t.open(); err != nil {
		return err
	}
	if err := t.c.call.enter(ctx); err != nil {
		return wrapEnd("commit", err)
	}
	if err := t.c.closeBlobs(t); err != nil {
		return err
	}
	if err := t.c.control("commit", &t.c.commit, "COMMIT"); err != nil {
		if t.c.db.Autocommit() {
			t.end()
		}
		return err
	}
	t.end()
	return nil
}

// Rollback undoes the transaction. After Commit, or a second time, it does nothing.
func (t *Tx) Rollback() error {
	if t.done {
		return nil
	}
	defer t.end()
	_ = t.c.closeBlobs(t) // undone with the rest
	return t.c.rollBack()
}

// rollBack undoes whatever transaction is open. No context can end it.
func (c *Conn) rollBack() error {
	if c.db == nil || c.db.Autocommit() {
		return nil
	}
	c.call.shield()
	if err := c.control("rollback", &c.undo, "ROLLBACK"); err != nil {
		c.broken = true
		return err
	}
	return nil
}

// end lets go of the connection.
func (t *Tx) end() {
	t.done = true
	if t.c.tx == t {
		t.c.tx = nil
	}
}

// open fails when the transaction has ended, by its own methods or by an error: some errors (disk
// full, an interrupted write) make SQLite roll back by itself, and what came next would be
// committed statement by statement.
func (t *Tx) open() error {
	if t.done {
		return ErrTxDone
	}
	if t.c.db.Autocommit() {
		return fmt.Errorf("%w: an earlier error rolled it back", ErrTxDone)
	}
	return nil
}

// allows checks a statement that is about to run inside the transaction.
func (t *Tx) allows(s *Stmt) error {
	if err := t.open(); err != nil {
		return err
	}
	if s.es.Control == engine.Ends {
		return fmt.Errorf("sqlite: step: %q inside a Tx: only the Tx itself begins and ends", s.sql)
	}
	if t.reads && s.writes {
		return fmt.Errorf("sqlite: step: %q writes inside Read; use Write", s.sql)
	}
	return nil
}

// Exec is Conn.Exec inside the transaction.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (Result, error) {
	if err := t.open(); err != nil {
		return Result{}, err
	}
	return t.c.Exec(ctx, sql, args...)
}

// Prepare is Conn.Prepare inside the transaction. The statement lives on after it.
func (t *Tx) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	return t.c.prepare(ctx, sql)
}

// Script is Conn.Script inside the transaction.
func (t *Tx) Script(ctx context.Context, sql string) error {
	if err := t.open(); err != nil {
		return err
	}
	return t.c.Script(ctx, sql)
}

// source lets Query, One and Exec run inside the transaction.
func (t *Tx) source(_ context.Context, _ bool) (*Conn, error) { return t.c, t.open() }

func (t *Tx) release(*Conn) {}

// Savepoint runs fn and keeps what it did only when it returns nil. Savepoints nest.
// https://www.sqlite.org/lang_savepoint.html
func (t *Tx) Savepoint(ctx context.Context, fn func() error) (err error) {
	// Nested savepoints may share a name: the latest one is meant.
	if _, err := t.Exec(ctx, "SAVEPOINT m0"); err != nil {
		return err
	}
	kept := false
	defer func() {
		if kept || t.open() != nil {
			return
		}
		if undo := t.c.shielded("ROLLBACK TO m0", "RELEASE m0"); undo != nil {
			err = errors.Join(err, undo)
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := t.c.shielded("RELEASE m0"); err != nil {
		return err
	}
	kept = true
	return nil
}

// shielded runs statements that must be run to their end.
func (c *Conn) shielded(sqls ...string) error {
	for _, sql := range sqls {
		if _, err := c.Exec(context.Background(), sql); err != nil {
			return err
		}
	}
	return nil
}

// Read runs fn in a transaction that sees one state of the database, whatever others write
// meanwhile. fn must not write.
func (c *Conn) Read(ctx context.Context, fn func(*Tx) error) error {
	tx, err := c.Begin(ctx, Deferred)
	if err != nil {
		return err
	}
	tx.reads = true
	defer func() { _ = tx.Rollback() }() // after a panic; nothing to lose
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Rollback()
}

// Write runs fn in a transaction that holds the write lock from its start (BEGIN IMMEDIATE), and
// commits it when fn returns nil. An error or a panic of fn rolls it back. When the transaction
// fails because others hold locks, or fn returns such an error, the whole of it is run again
// within the budget Options.Busy: fn may run several times and should change nothing but the
// database.
func (c *Conn) Write(ctx context.Context, fn func(*Tx) error) error {
	deadline := time.Now().Add(c.budget)
	for try := 0; ; try++ {
		err := c.writeOnce(ctx, deadline, fn)
		if !IsBusy(err) || !time.Now().Before(deadline) {
			return err
		}
		c.again++
		if err := c.call.enter(ctx); err != nil {
			return wrapEnd("write", err)
		}
		c.call.sleep(min(jitter(retryPause(try)), time.Until(deadline)))
	}
}

// writeOnce is one attempt of Write. Until it has the lock it waits no longer than to the deadline.
func (c *Conn) writeOnce(ctx context.Context, deadline time.Time, fn func(*Tx) error) error {
	c.call.deadline = deadline
	tx, err := c.Begin(ctx, Immediate)
	c.call.deadline = time.Time{}
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // the error that led here says more
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// retryPause grows from 1 to 32 ms.
func retryPause(try int) time.Duration {
	return time.Millisecond << min(try, 5)
}
