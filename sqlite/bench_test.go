// SPDX-License-Identifier: MIT

package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"m0serve.dev/sqlite"
	_ "modernc.org/sqlite"
)

// The benchmarks compare this package with database/sql and the driver of the same engine, on files
// set up alike. Read the ratio of two lines of one run; the figures alone depend on the machine.
//
//	go test -run '^$' -bench . -benchmem

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

func benchTheirs(b *testing.B, rows int) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "theirs.db")+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)"+
		"&_pragma=synchronous(normal)&_pragma=foreign_keys(1)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(benchSchema); err != nil {
		b.Fatal(err)
	}
	if err := fillTheirs(b.Context(), db, rows); err != nil {
		b.Fatal(err)
	}
	return db
}

func fillTheirs(ctx context.Context, db *sql.DB, rows int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	s, err := tx.PrepareContext(ctx, benchInsert)
	if err != nil {
		return err
	}
	for i := range rows {
		if _, err := s.ExecContext(ctx, i, "a name of usual length", 0.5, i*7); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// BenchmarkPoint selects one row by its key; the context can be cancelled, as in a handler.
func BenchmarkPoint(b *testing.B) {
	const query = "SELECT id, name, score, n FROM t WHERE id = ?"
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.Run("ours/stmt", func(b *testing.B) {
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
	b.Run("ours/one", func(b *testing.B) {
		c := benchOurs(b, benchRows)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := sqlite.One[benchRow](ctx, c, query, i*7919%benchRows); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("theirs/stmt", func(b *testing.B) {
		db := benchTheirs(b, benchRows)
		s, err := db.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		var r benchRow
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			row := s.QueryRowContext(ctx, i*7919%benchRows)
			if err := row.Scan(&r.ID, &r.Name, &r.Score, &r.N); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan reads every row; the figure is per table of benchRows rows.
func BenchmarkScan(b *testing.B) {
	const query = "SELECT id, name, score, n FROM t"
	b.Run("ours/stmt", func(b *testing.B) {
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
	b.Run("ours/query", func(b *testing.B) {
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
	b.Run("theirs", func(b *testing.B) {
		db := benchTheirs(b, benchRows)
		kept := make([]string, benchRows)
		b.ReportAllocs()
		for b.Loop() {
			if err := scanTheirs(b.Context(), db, query, kept); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func scanTheirs(ctx context.Context, db *sql.DB, query string, kept []string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	var r benchRow
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(&r.ID, &r.Name, &r.Score, &r.N); err != nil {
			return err
		}
		kept[n] = r.Name
	}
	return rows.Err()
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
func BenchmarkBulk(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		benchBulk(b, benchOurs(b, 0))
	})
	b.Run("theirs", func(b *testing.B) {
		db := benchTheirs(b, 0)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := db.ExecContext(b.Context(), "DELETE FROM t"); err != nil {
				b.Fatal(err)
			}
			if err := fillTheirs(b.Context(), db, benchRows); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAutocommit inserts single rows, each its own transaction.
func BenchmarkAutocommit(b *testing.B) {
	const insert = "INSERT INTO t(name, score, n) VALUES(?, ?, ?)"
	b.Run("ours", func(b *testing.B) {
		c := benchOurs(b, 0)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := c.Exec(b.Context(), insert, fmt.Sprint("name ", i), 0.5, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours/write", func(b *testing.B) {
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
	b.Run("theirs", func(b *testing.B) {
		db := benchTheirs(b, 0)
		s, err := db.Prepare(insert)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := s.ExecContext(b.Context(), fmt.Sprint("name ", i), 0.5, i); err != nil {
				b.Fatal(err)
			}
		}
	})
}
