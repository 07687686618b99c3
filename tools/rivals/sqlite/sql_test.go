// SPDX-License-Identifier: MIT

package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

// openSQL is database/sql with our settings.
func openSQL(b *testing.B, full bool) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "sql.db")+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)"+
		"&_pragma=synchronous(normal)&_pragma=foreign_keys(1)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(b.Context(), schema); err != nil {
		b.Fatal(err)
	}
	if full {
		fillSQL(b, db)
	}
	return db
}

func fillSQL(b *testing.B, db *sql.DB) {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := tx.ExecContext(b.Context(), "DELETE FROM t"); err != nil {
		b.Fatal(err)
	}
	s := prepareSQL(b, b.Context(), tx, insert)
	for i := range rows {
		if _, err := s.ExecContext(b.Context(), i, name, 0.5, i*7); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// A preparer is a database or a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func prepareSQL(b *testing.B, ctx context.Context, p preparer, query string) *sql.Stmt {
	b.Helper()
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func scanSQL(b *testing.B, db *sql.DB, kept []string) {
	b.Helper()
	all, err := db.QueryContext(b.Context(), scan)
	if err != nil {
		b.Fatal(err)
	}
	defer all.Close()
	var r row
	for n := 0; all.Next(); n++ {
		if err := all.Scan(&r.ID, &r.Name, &r.Score, &r.N); err != nil {
			b.Fatal(err)
		}
		kept[n] = r.Name
	}
	if err := all.Err(); err != nil {
		b.Fatal(err)
	}
}
