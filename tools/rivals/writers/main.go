// SPDX-License-Identifier: MIT

// Command writers commits single rows to a database that another process of it writes
// to as well, and says how long it waited for the lock at most and how long its slowest
// transaction took.
//
//	writers -side ours|modernc -db FILE            makes the table
//	writers -side ours|modernc -db FILE -run 2s    writes, and prints JSON
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	_ "modernc.org/sqlite"

	"m0serve.dev/sqlite"
)

const (
	schema = "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v INTEGER NOT NULL)"
	insert = "INSERT INTO t(v) VALUES(?)"
)

// said is what a writer gives.
type said struct {
	Commits int     `json:"commits"`
	WaitMs  float64 `json:"wait_ms"`  // the longest until a transaction had the lock
	WorstMs float64 `json:"worst_ms"` // the longest transaction, with its commit
}

func main() {
	side := flag.String("side", "ours", "ours or modernc")
	file := flag.String("db", "", "the database")
	length := flag.Duration("run", 0, "how long to write; 0: only make the table")
	flag.Parse()
	commit, err := open(*side, *file)
	if err == nil && *length > 0 {
		err = write(commit, *length)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "writers:", err)
		os.Exit(1)
	}
}

// A committer commits the row n and calls locked when it has the lock.
type committer func(n int, locked func()) error

func write(commit committer, length time.Duration) error {
	var s said
	now := time.Now()
	locked := func() { s.WaitMs = max(s.WaitMs, msSince(now)) }
	for start := now; now.Sub(start) < length; s.Commits++ {
		if err := commit(s.Commits, locked); err != nil {
			return err
		}
		s.WorstMs = max(s.WorstMs, msSince(now))
		now = time.Now()
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

func msSince(t time.Time) float64 { return float64(time.Since(t)) / float64(time.Millisecond) }

// open returns what commits one row.
func open(side, file string) (committer, error) {
	ctx := context.Background()
	if side == "ours" {
		c, err := sqlite.Open(file, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		return func(n int, locked func()) error {
			return c.Write(ctx, func(tx *sqlite.Tx) error {
				locked()
				_, err := tx.Exec(ctx, insert, n)
				return err
			})
		}, c.Script(ctx, schema)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)"+
		"&_pragma=journal_mode(wal)&_pragma=synchronous(normal)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return func(n int, locked func()) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		locked()
		if _, err := tx.ExecContext(ctx, insert, n); err != nil {
			_ = tx.Rollback()
			return err
		}
		return tx.Commit()
	}, nil
}
