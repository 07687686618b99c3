// SPDX-License-Identifier: MIT

// Package engine is the one place that touches modernc.org/sqlite/lib, the SQLite C library
// translated to Go. It turns addresses, out parameters and zero-terminated text into Go values and
// adds no policy: no retries, no caching, no error texts.
//
// What it assumes, and who checks it:
//   - a DB and its Stmts are used by one goroutine at a time (opened with NOMUTEX); the caller
//     keeps that, the race detector checks it in the tests of package sqlite;
//   - C memory is outside the Go heap, so views of it are never moved or freed by the collector;
//   - a Go func value reached from C stays alive because the DB holds it, and the DB stays alive
//     because every call that can reach it ends with runtime.KeepAlive.
//
// It does not know contexts, transactions or types beyond int64, float64, text and blob.
package engine
