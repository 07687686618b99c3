// SPDX-License-Identifier: MIT

// Package sqlite is a thin layer on SQLite for programs that several processes use at once:
// connections, statements, typed columns, transactions, a pool. It stands directly on
// modernc.org/sqlite/lib: no cgo, and no database/sql in between.
//
// # Model
//
// A Conn is one connection, used by one goroutine at a time. Prepare gives a Stmt from a bounded
// cache. Exec, One and Query run a statement on a Conn, a Tx or a Pool; Query is an iterator of
// structs or basic values. Write runs a function in a transaction that takes the write lock first
// and is run again when others were in the way; Read runs one that sees a single state. A Pool is
// one writer and several readers.
//
// # Waiting
//
// Every call that may wait takes a context, and every wait has a budget (Options.Busy, five seconds
// by default). A context ends a running query, a wait for a lock and a wait for a connection
// within a moment; the connection stays usable. No goroutine is started for that: SQLite asks now
// and then.
//
// # Limits
//
// Statements kept per connection, connections, goroutines waiting for one: all bounded, all
// counted. A parameter or column is at most 1,000,000,000 bytes, SQLite's own limit.
//
// # What it does not do
//
// It opens file names, not URIs. It does not convert types in silence and has no form for a
// time.Time: say UnixMilli or RFC3339. It does not load extensions. "x" is never a string where no
// column x exists. `PRAGMA busy_timeout` would replace the wait described above: do not use it.
package sqlite
