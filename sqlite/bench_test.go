// SPDX-License-Identifier: MIT

package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"m0serve.dev/sqlite"
)

// Read the ratio of two lines of one run; the figures alone depend on the machine.
//
//	go test -run '^$' -bench . -benchmem
//
// Beside database/sql and zombiezen's package the verb "bench sqlite" of the tools measures.

const (
	benchRows   = 10_000
	benchSchema = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL, n INTEGER)"
	benchInsert = "INSERT INTO t(id, name, score, n) VALUES(?, ?, ?, ?)"
)

type benchRow struct {
	ID    int64
	Name  string
	Score float64
	N     int64
}

func benchOurs(b *testing.B, rows int) *sqlite.Conn {
	b.Helper()
	c, err := sqlite.Open(filepath.Join(b.TempDir(), "ours.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	ctx := b.Context()
	if err := c.Script(ctx, benchSchema); err != nil {
		b.Fatal(err)
	}
	if err := c.Write(ctx, func(tx *sqlite.Tx) error { return fillOurs(ctx, tx, rows) }); err != nil {
		b.Fatal(err)
	}
	return c
}

func fillOurs(ctx context.Context, tx *sqlite.Tx, rows int) error {
	s, err := tx.Prepare(ctx, benchInsert)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range rows {
		s.BindInt64(1, int64(i))
		s.BindText(2, "a name of usual length")
		s.BindFloat(3, 0.5)
		s.BindInt64(4, int64(i*7))
		if _, err := s.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkPoint selects one row by its key; the context can be cancelled, as in a handler.
func BenchmarkPoint(b *testing.B) {
	const query = "SELECT id, name, score, n FROM t WHERE id = ?"
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.Run("stmt", func(b *testing.B) {
		c := benchOurs(b, benchRows)
		s, err := c.Prepare(ctx, query)
		if err != nil {
			b.Fatal(err)
		}
		var r benchRow
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.BindInt64(1, int64(i*7919%benchRows))
			if more, err := s.Step(ctx); err != nil || !more {
				b.Fatal(more, err)
			}
			r = benchRow{s.Int64(0), s.Text(1), s.Float64(2), s.Int64(3)}
			s.Reset()
		}
		s.Close()
		_ = r
	})
	b.Run("one", func(b *testing.B) {
		c := benchOurs(b, benchRows)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := sqlite.One[benchRow](ctx, c, query, i*7919%benchRows); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan reads every row; the figure is per table of benchRows rows.
func BenchmarkScan(b *testing.B) {
	const query = "SELECT id, name, score, n FROM t"
	b.Run("stmt", func(b *testing.B) {
		c := benchOurs(b, benchRows)
		kept := make([]string, benchRows)
		b.ReportAllocs()
		for b.Loop() {
			s, err := c.Prepare(b.Context(), query)
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; ; n++ {
				more, err := s.Step(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if !more {
					break
				}
				_, _, _ = s.Int64(0), s.Float64(2), s.Int64(3)
				kept[n] = s.Text(1)
			}
			s.Close()
		}
	})
	b.Run("query", func(b *testing.B) {
		c := benchOurs(b, benchRows)
		kept := make([]string, benchRows)
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for r, err := range sqlite.Query[benchRow](b.Context(), c, query) {
				if err != nil {
					b.Fatal(err)
				}
				kept[n] = r.Name
				n++
			}
		}
	})
}

// benchBulk inserts benchRows rows in one transaction, again and again.
func benchBulk(b *testing.B, c *sqlite.Conn) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		err := c.Write(b.Context(), func(tx *sqlite.Tx) error {
			if _, err := tx.Exec(b.Context(), "DELETE FROM t"); err != nil {
				return err
			}
			return fillOurs(b.Context(), tx, benchRows)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBulk inserts benchRows rows in one transaction.
func BenchmarkBulk(b *testing.B) { benchBulk(b, benchOurs(b, 0)) }

// BenchmarkAutocommit inserts single rows, each its own transaction.
func BenchmarkAutocommit(b *testing.B) {
	const insert = "INSERT INTO t(name, score, n) VALUES(?, ?, ?)"
	b.Run("exec", func(b *testing.B) {
		c := benchOurs(b, 0)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := c.Exec(b.Context(), insert, fmt.Sprint("name ", i), 0.5, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		c := benchOurs(b, 0)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			err := c.Write(b.Context(), func(tx *sqlite.Tx) error {
				_, err := tx.Exec(b.Context(), insert, fmt.Sprint("name ", i), 0.5, i)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
