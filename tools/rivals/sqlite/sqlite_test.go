// SPDX-License-Identifier: MIT

// Package sqlite_test compares our queries with zombiezen's package and with database/sql
// on modernc's driver, all on the same engine, with files set up alike.
package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"m0serve.dev/sqlite"
	"m0serve.dev/tools/rivals/cputime"
)

const (
	rows   = 10_000
	schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL, n INTEGER)"
	insert = "INSERT INTO t(id, name, score, n) VALUES(?, ?, ?, ?)"
	single = "INSERT INTO t(name, score, n) VALUES(?, ?, ?)"
	point  = "SELECT id, name, score, n FROM t WHERE id = ?"
	scan   = "SELECT id, name, score, n FROM t"
	name   = "a name of usual length"
)

type row struct {
	ID    int64
	Name  string
	Score float64
	N     int64
}

func openOurs(b *testing.B, full bool) *sqlite.Conn {
	b.Helper()
	c, err := sqlite.Open(filepath.Join(b.TempDir(), "ours.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := c.Script(b.Context(), schema); err != nil {
		b.Fatal(err)
	}
	if full {
		fillOurs(b, c)
	}
	return c
}

func fillOurs(b *testing.B, c *sqlite.Conn) {
	b.Helper()
	ctx := b.Context()
	err := c.Write(ctx, func(tx *sqlite.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM t"); err != nil {
			return err
		}
		s, err := tx.Prepare(ctx, insert)
		if err != nil {
			return err
		}
		defer s.Close()
		for i := range rows {
			s.BindInt64(1, int64(i))
			s.BindText(2, name)
			s.BindFloat(3, 0.5)
			s.BindInt64(4, int64(i*7))
			if _, err := s.Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// openTheirs has WAL by the default flags; the other settings are ours.
func openTheirs(b *testing.B, full bool) *zombiezen.Conn {
	b.Helper()
	c, err := zombiezen.OpenConn(filepath.Join(b.TempDir(), "theirs.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	for _, text := range []string{"PRAGMA synchronous = normal", "PRAGMA foreign_keys = on", schema} {
		if err := sqlitex.ExecuteTransient(c, text, nil); err != nil {
			b.Fatal(err)
		}
	}
	if full {
		fillTheirs(b, c)
	}
	return c
}

func fillTheirs(b *testing.B, c *zombiezen.Conn) {
	b.Helper()
	var err error
	end, err := sqlitex.ImmediateTransaction(c)
	if err != nil {
		b.Fatal(err)
	}
	if err = sqlitex.Execute(c, "DELETE FROM t", nil); err != nil {
		b.Fatal(err)
	}
	s := prepare(b, c, insert)
	for i := range rows {
		s.BindInt64(1, int64(i))
		s.BindText(2, name)
		s.BindFloat(3, 0.5)
		s.BindInt64(4, int64(i*7))
		if _, err = s.Step(); err != nil {
			b.Fatal(err)
		}
		if err = s.Reset(); err != nil {
			b.Fatal(err)
		}
	}
	end(&err)
}

func prepare(b *testing.B, c *zombiezen.Conn, text string) *zombiezen.Stmt {
	b.Helper()
	s, err := c.Prepare(text)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkPoint selects one row by its key, with a context that can be cancelled.
func BenchmarkPoint(b *testing.B) {
	var r row
	b.Run("ours", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		s, err := openOurs(b, true).Prepare(ctx, point)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			s.BindInt64(1, int64(i*7919%rows))
			if more, err := s.Step(ctx); err != nil || !more {
				b.Fatal(more, err)
			}
			r = row{s.Int64(0), s.Text(1), s.Float64(2), s.Int64(3)}
			s.Reset()
		}
	})
	b.Run("one", func(b *testing.B) {
		c := openOurs(b, true)
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			if _, err := sqlite.One[row](ctx, c, point, i*7919%rows); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("modernc", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		s := prepareSQL(b, ctx, openSQL(b, true), point)
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			found := s.QueryRowContext(ctx, i*7919%rows)
			if err := found.Scan(&r.ID, &r.Name, &r.Score, &r.N); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zombiezen", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		c := openTheirs(b, true)
		c.SetInterrupt(ctx.Done())
		s := prepare(b, c, point)
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			s.BindInt64(1, int64(i*7919%rows))
			if more, err := s.Step(); err != nil || !more {
				b.Fatal(more, err)
			}
			r = row{s.ColumnInt64(0), s.ColumnText(1), s.ColumnFloat(2), s.ColumnInt64(3)}
			if err := s.Reset(); err != nil {
				b.Fatal(err)
			}
		}
	})
	_ = r
}

// BenchmarkScan reads the whole table and keeps the texts.
func BenchmarkScan(b *testing.B) {
	kept := make([]string, rows)
	b.Run("ours", func(b *testing.B) {
		c, ctx := openOurs(b, true), b.Context()
		defer cputime.Count(b)()
		for b.Loop() {
			s, err := c.Prepare(ctx, scan)
			if err != nil {
				b.Fatal(err)
			}
			for n := range rows {
				if more, err := s.Step(ctx); err != nil || !more {
					b.Fatal(more, err)
				}
				_, _, _ = s.Int64(0), s.Float64(2), s.Int64(3)
				kept[n] = s.Text(1)
			}
			s.Close()
		}
	})
	b.Run("query", func(b *testing.B) {
		c, ctx := openOurs(b, true), b.Context()
		defer cputime.Count(b)()
		for b.Loop() {
			n := 0
			for r, err := range sqlite.Query[row](ctx, c, scan) {
				if err != nil {
					b.Fatal(err)
				}
				kept[n] = r.Name
				n++
			}
		}
	})
	b.Run("modernc", func(b *testing.B) {
		db := openSQL(b, true)
		defer cputime.Count(b)()
		for b.Loop() {
			scanSQL(b, db, kept)
		}
	})
	b.Run("zombiezen", func(b *testing.B) {
		c := openTheirs(b, true)
		defer cputime.Count(b)()
		for b.Loop() {
			s := prepare(b, c, scan)
			for n := range rows {
				if more, err := s.Step(); err != nil || !more {
					b.Fatal(more, err)
				}
				_, _, _ = s.ColumnInt64(0), s.ColumnFloat(2), s.ColumnInt64(3)
				kept[n] = s.ColumnText(1)
			}
			if err := s.Reset(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBulk inserts the table in one transaction, in the place of what was there.
func BenchmarkBulk(b *testing.B) {
	for _, side := range []struct {
		name string
		open func() (fill func())
	}{
		{"ours", func() func() {
			c := openOurs(b, true)
			return func() { fillOurs(b, c) }
		}},
		{"modernc", func() func() {
			db := openSQL(b, true)
			return func() { fillSQL(b, db) }
		}},
		{"zombiezen", func() func() {
			c := openTheirs(b, true)
			return func() { fillTheirs(b, c) }
		}},
	} {
		fill := side.open()
		b.Run(side.name, func(b *testing.B) {
			var least cputime.Least
			for b.Loop() {
				least.Run(b, fill)
			}
			least.Report(b)
		})
	}
}

// BenchmarkAutocommit inserts single rows, each its own transaction.
func BenchmarkAutocommit(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		c := openOurs(b, false)
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			if _, err := c.Exec(b.Context(), single, fmt.Sprint("name ", i), 0.5, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("modernc", func(b *testing.B) {
		s := prepareSQL(b, b.Context(), openSQL(b, false), single)
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			if _, err := s.ExecContext(b.Context(), fmt.Sprint("name ", i), 0.5, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zombiezen", func(b *testing.B) {
		c := openTheirs(b, false)
		defer cputime.Count(b)()
		for i := 0; b.Loop(); i++ {
			err := sqlitex.Execute(c, single, &sqlitex.ExecOptions{
				Args: []any{fmt.Sprint("name ", i), 0.5, i}})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
