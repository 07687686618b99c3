// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"iter"
)

// Source is where a statement can run: a *Conn, a *Tx or a *Pool.
type Source interface {
	// source lends a connection, one that may write when write is true, until release.
	source(ctx context.Context, write bool) (*Conn, error)
	release(*Conn)
}

// Exec runs one statement that gives no rows. On a Pool it runs on the writer.
func Exec(ctx context.Context, src Source, sql string, args ...any) (Result, error) {
	c, err := src.source(ctx, true)
	if err != nil {
		return Result{}, err
	}
	defer src.release(c)
	return c.Exec(ctx, sql, args...)
}

// One gives the first row, or ErrNoRows. T is described at Query.
func One[T any](ctx context.Context, src Source, sql string, args ...any) (T, error) {
	var row T
	c, err := src.source(ctx, false)
	if err != nil {
		return row, err
	}
	defer src.release(c)
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return row, err
	}
	defer s.Close()
	s.Bind(args...)
	more, err := s.Step(ctx)
	if err != nil {
		return row, err
	}
	if !more {
		return row, ErrNoRows
	}
	if err := scanRow(s, &row); err != nil {
		return row, err
	}
	if s.writes {
		err = s.finish(ctx)
	}
	return row, err
}

// Query gives the rows of a statement, one by one. The statement runs as the loop goes and ends
// with it, also by break or panic; an error is the last thing given. A statement that writes (with
// RETURNING) runs to its end before its first row is given, so that leaving the loop early loses
// nothing.
//
// T is a struct, whose fields take the columns of their name (ignoring case and underscores, or
// named by a tag `sqlite:"name"`), or the type of the only column: an integer, float, bool, string,
// []byte, UnixMilli, RFC3339, any, a type of such a kind, a Scanner, or a pointer to one of these,
// which is nil for NULL. Nothing is converted in silence: TEXT does not become a number, NULL does
// not become zero, and a number that does not fit is an error that wraps ErrRange.
func Query[T any](ctx context.Context, src Source, sql string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		each := func(row T) bool { return yield(row, nil) }
		if err := queryEach(ctx, src, sql, args, each); err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// queryEach calls yield with each row until it says false.
func queryEach[T any](
	ctx context.Context, src Source, sql string, args []any, yield func(T) bool,
) error {
	c, err := src.source(ctx, false)
	if err != nil {
		return err
	}
	defer src.release(c)
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Bind(args...)
	if s.writes {
		return writeEach(ctx, s, yield)
	}
	var scan scanner[T]
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return err
		}
		row, err := scan.row(s)
		if err != nil {
			return err
		}
		if !yield(row) {
			return nil
		}
	}
}

// writeEach is queryEach for a statement that writes.
func writeEach[T any](ctx context.Context, s *Stmt, yield func(T) bool) error {
	var (
		scan scanner[T]
		rows []T
	)
	for {
		more, err := s.Step(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		row, err := scan.row(s)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	s.Reset()
	for _, row := range rows {
		if !yield(row) {
			break
		}
	}
	return nil
}

// All collects the rows of Query.
func All[T any](ctx context.Context, src Source, sql string, args ...any) ([]T, error) {
	var rows []T
	err := queryEach(ctx, src, sql, args, func(row T) bool {
		rows = append(rows, row)
		return true
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// finish steps to the end.
func (s *Stmt) finish(ctx context.Context) error {
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return err
		}
	}
}
