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
//
// # Where the time goes
//
// Shares of the processor's time by go tool pprof, about 900 ms of samples each, on two shared
// cores of an AMD EPYC, files in WAL mode; the rest is small. The verb "bench sqlite" of the tools
// measures beside database/sql and zombiezen's package, in time of the processor.
//
//	                         kernel   engine   Go runtime   this package
//	one row by its key         42 %     39 %         15 %                1 %
//	scan of 10,000 rows         1 %     60 %         35 %                1 %
//	10,000 inserts at once      5 %     64 %         28 %         below 1 %
//	one insert, autocommit     56 %     24 %         13 %         below 1 %
//
// The engine is SQLite translated to Go. The kernel's share of a small statement is the locks
// of the file, taken and given back for each; statements in one Read or Write share them. The
// runtime's is the copy of each text that is kept, and what a profile of a busy machine catches
// of the collector. So the floor is the engine: what binds to it directly, as zombiezen's package
// does, costs about the same, and the gain over database/sql is what is not in between.
package sqlite
