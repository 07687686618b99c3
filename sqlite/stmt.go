// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"fmt"
	"strings"

	"m0serve.dev/sqlite/internal/engine"
)

// Stmt is a prepared statement of one connection. Bind its parameters, Step through its rows, read
// the columns of each, Reset to run it again, Close to give it back to the connection's cache.
// https://www.sqlite.org/c3ref/stmt.html
type Stmt struct {
	c      *Conn
	es     *engine.Stmt
	sql    string
	err    error // the first error of a Bind or Step since the last Reset
	row    int   // columns that can be read now; 0: no row
	active bool  // stepped and not reset
	done   bool  // ran to its end; Step says so until Reset
	writes bool  // may change the database
	closed bool  // in the cache, or finalized
	cached bool  // Close gives it to the cache
	lent   bool  // given by Prepare and not closed
	prev   *Stmt // neighbours in the list of the connection
	next   *Stmt //
	newer  *Stmt // neighbours in the cache
	older  *Stmt //
	plan   any   // *plan[T] of the last Query, for these column names
	width  int   // columns of a row; 0: not known yet
	seen   int   // the count of recompilations that plan and width know of
}

// Prepare gives the statement sql, from the cache when it is there. The text holds exactly one
// statement. Several users may hold the same text at once: each gets a Stmt of its own.
func (c *Conn) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	return c.prepare(ctx, sql)
}

func (c *Conn) prepare(ctx context.Context, sql string) (*Stmt, error) {
	if c.db == nil {
		return nil, ErrClosed
	}
	if s := c.cache.take(sql); s != nil {
		s.closed, s.lent = false, true
		c.out++
		return s, nil
	}
	if err := checkSQL(sql); err != nil {
		return nil, err
	}
	s, used, err := c.compile(ctx, sql, c.cache.max > 0)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("sqlite: prepare: no statement in %q", sql)
	}
	if err := c.checkRest(ctx, sql[used:]); err != nil {
		s.finalize()
		return nil, err
	}
	s.sql = sql
	s.cached, s.lent = c.cache.max > 0, true
	c.out++
	return s, nil
}

// checkRest refuses anything but blanks and comments after the first statement.
func (c *Conn) checkRest(ctx context.Context, rest string) error {
	if strings.TrimSpace(rest) == "" {
		return nil
	}
	s, _, err := c.compile(ctx, rest, false)
	switch {
	case CodeOf(err) == Interrupt:
		return err
	case s != nil:
		s.finalize()
	case err == nil:
		return nil
	}
	return fmt.Errorf("sqlite: prepare: text after the first statement: %q; "+
		"use Script to run several", strings.TrimSpace(rest))
}

// SQL is the text of the statement.
func (s *Stmt) SQL() string { return s.sql }

// Exec binds args, when there are any, runs the statement to its end and resets it.
func (s *Stmt) Exec(ctx context.Context, args ...any) (Result, error) {
	if len(args) > 0 {
		s.Bind(args...)
	}
	for {
		more, err := s.Step(ctx)
		if err != nil {
			s.Reset()
			return Result{}, err
		}
		if !more {
			break
		}
	}
	r := Result{Changed: s.c.db.Changes(), LastID: s.c.db.LastInsertID()}
	s.Reset()
	return r, nil
}

// Step runs to the next row: true, its columns can be read; false, the statement has ended. The
// first error of a Bind comes out here. When ctx ends, the statement stops within a moment with an
// error that wraps the context's; the connection stays usable.
func (s *Stmt) Step(ctx context.Context) (bool, error) {
	if s.closed {
		return false, ErrClosed
	}
	s.row = 0
	if s.err != nil {
		return false, s.err
	}
	if s.done {
		return false, nil
	}
	if err := s.c.call.enter(ctx); err != nil {
		return false, wrapEnd("step", err)
	}
	if tx := s.c.tx; tx != nil {
		if err := tx.allows(s); err != nil {
			return false, err
		}
	}
	before := s.c.log.mark()
	switch rc := s.es.Step(); rc {
	case engine.Row:
		if !s.active {
			s.active = true
			s.noticeRecompiled()
		}
		s.row = s.width
		return true, nil
	case engine.Done:
		s.active, s.done = true, true
		s.c.ran(s, before, false)
		return false, nil
	default:
		s.active = true
		return false, s.failStep(rc, before)
	}
}

// failStep makes the error of a step and resets the statement, so that it holds no lock.
func (s *Stmt) failStep(rc int32, before logMark) error {
	s.err = s.c.fail("step", s.sql, rc)
	s.es.Reset()
	s.active, s.done = false, true
	s.c.ran(s, before, true)
	return s.err
}

// noticeRecompiled drops what is known of the columns when a schema change made SQLite compile the
// statement again.
func (s *Stmt) noticeRecompiled() {
	if n := s.es.Reprepared(); n != s.seen || s.width == 0 {
		s.seen, s.width, s.plan = n, s.es.Columns(), nil
	}
}

// Reset ends the run and makes the statement ready for the next; parameters keep their values. A
// writing statement that is reset before its end commits there and then: step it to the end to
// learn whether that worked.
func (s *Stmt) Reset() {
	if s.active && !s.closed {
		s.es.Reset() // its answer repeats the error Step gave
		if !s.done {
			s.c.settle()
		}
	}
	s.active, s.done, s.row, s.err = false, false, 0, nil
}

// Close resets the statement and gives it back. The Stmt must not be used afterwards.
func (s *Stmt) Close() {
	if s.closed {
		return
	}
	s.Reset()
	s.c.out--
	s.lent = false
	if !s.cached {
		s.finalize()
		return
	}
	s.es.Clear()
	s.closed = true
	s.c.cache.put(s)
}

// finalize ends the statement for good.
func (s *Stmt) finalize() {
	s.closed = true
	s.es.Finalize()
	s.unlink()
}

// link enters the statement into the list of its connection.
func (s *Stmt) link() {
	s.next = s.c.first
	if s.next != nil {
		s.next.prev = s
	}
	s.c.first = s
}

func (s *Stmt) unlink() {
	if s.prev != nil {
		s.prev.next = s.next
	} else if s.c.first == s {
		s.c.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}

// cache keeps the statements of one connection that nobody uses, by their text; the one that was
// used longest ago makes room. It belongs to its connection.
type cache struct {
	max    int
	idle   map[string]*Stmt
	newest *Stmt
	oldest *Stmt
	hits   int64
	misses int64
}

// take removes and returns the statement for sql, or nil.
func (k *cache) take(sql string) *Stmt {
	s := k.idle[sql]
	if s == nil {
		k.misses++
		return nil
	}
	k.hits++
	k.remove(s)
	return s
}

// put adds a statement that is reset and cleared, or finalizes it when an equal one is there.
func (k *cache) put(s *Stmt) {
	if k.idle == nil {
		k.idle = make(map[string]*Stmt, k.max)
	}
	if k.idle[s.sql] != nil {
		s.finalize()
		return
	}
	if len(k.idle) >= k.max {
		old := k.oldest
		k.remove(old)
		old.finalize()
	}
	k.idle[s.sql] = s
	s.older = k.newest
	if s.older != nil {
		s.older.newer = s
	} else {
		k.oldest = s
	}
	k.newest = s
}

func (k *cache) remove(s *Stmt) {
	delete(k.idle, s.sql)
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		k.newest = s.older
	}
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		k.oldest = s.newer
	}
	s.newer, s.older = nil, nil
}
