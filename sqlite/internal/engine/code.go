// SPDX-License-Identifier: MIT

package engine

import lib "modernc.org/sqlite/lib"

// Answers of Step and of every other call: https://www.sqlite.org/rescode.html
const (
	OK   int32 = lib.SQLITE_OK
	Row  int32 = lib.SQLITE_ROW
	Done int32 = lib.SQLITE_DONE

	Error      int32 = lib.SQLITE_ERROR
	Busy       int32 = lib.SQLITE_BUSY
	Locked     int32 = lib.SQLITE_LOCKED
	NoMem      int32 = lib.SQLITE_NOMEM
	ReadonlyDB int32 = lib.SQLITE_READONLY
	Interrupt  int32 = lib.SQLITE_INTERRUPT
	IOErr      int32 = lib.SQLITE_IOERR
	Corrupt    int32 = lib.SQLITE_CORRUPT
	Full       int32 = lib.SQLITE_FULL
	CantOpen   int32 = lib.SQLITE_CANTOPEN
	Protocol   int32 = lib.SQLITE_PROTOCOL
	Schema     int32 = lib.SQLITE_SCHEMA
	TooBig     int32 = lib.SQLITE_TOOBIG
	Constraint int32 = lib.SQLITE_CONSTRAINT
	Mismatch   int32 = lib.SQLITE_MISMATCH
	Misuse     int32 = lib.SQLITE_MISUSE
	Auth       int32 = lib.SQLITE_AUTH
	Range      int32 = lib.SQLITE_RANGE
	NotADB     int32 = lib.SQLITE_NOTADB
	Perm       int32 = lib.SQLITE_PERM
	Abort      int32 = lib.SQLITE_ABORT

	BusySnapshot int32 = lib.SQLITE_BUSY_SNAPSHOT
	BusyRecovery int32 = lib.SQLITE_BUSY_RECOVERY
)
