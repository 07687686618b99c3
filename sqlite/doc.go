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
// Shares of the processor's time by go tool pprof, 1.6 to 3 s of samples each, on two shared cores
// of an AMD EPYC, files in WAL mode, without the samples of asyncPreempt (5 to 28 %: a full machine
// takes the turn away). The verb "bench sqlite" of the tools measures beside database/sql and
// zombiezen's package, in time of the processor.
//
//	                         kernel   engine   Go runtime   this package
//	one row by its key         39 %     50 %          8 %                3 %
//	scan of 10,000 rows         1 %     70 %         22 %                7 %
//	10,000 inserts at once      6 %     81 %          3 %               10 %
//	one insert, autocommit     60 %     31 %          7 %                2 %
//
// The engine is SQLite translated to Go. This package's share has in it what it does in place of
// the engine: columns and parameters are read and put where SQLite holds them. The kernel's is the
// locks of the file, two calls for a row by its key, taken and given back for each statement;
// statements in one Read or Write share them. The runtime's is the copy of each text that is kept.
//
// So the floor is engine and kernel. In parts of the time of zombiezen's package, on the same
// engine, a loop that calls the engine and nothing else takes 0.98 to 1.0 for a row by its key and
// 0.76 to 0.82 for an insert; this package takes 0.95 to 0.96 and 0.85 to 0.88 (means of batches
// in turns in one process, 25 to 36 tasks for two cores, where a difference of 0.03 is none). Lower
// lies what asks less: 20 rows in one INSERT take 0.6 of the time of 20 statements, 500 rows by key
// in one Read a quarter. And a row by its key takes half while another connection of the process
// reads: the locks are held already, and no system call is left.
//
// Two processes that write wait for each other less than for the machine. On one with 25 tasks for
// two cores, writers that had a file each waited for its lock 34 to 356 ms at most in 3 s: their
// turn was over.
package sqlite
