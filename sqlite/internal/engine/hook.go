// SPDX-License-Identifier: MIT

package engine

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Control is what a statement does to transactions when it runs.
type Control uint8

// The kinds of Control.
const (
	NoControl  Control = iota
	Ends               // BEGIN, COMMIT, END, ROLLBACK
	Savepoint          // SAVEPOINT name
	Release            // RELEASE name
	RollbackTo         // ROLLBACK TO name
)

// Change is one row about to change: https://www.sqlite.org/c3ref/preupdate_blobwrite.html
type Change struct {
	Op            int32 // Insert, Update, Delete
	Schema, Table []byte
	Old, New      int64 // rowids; 0 in a table WITHOUT ROWID
}

// Operations of a Change.
const (
	Insert int32 = lib.SQLITE_INSERT
	Update int32 = lib.SQLITE_UPDATE
	Delete int32 = lib.SQLITE_DELETE
)

// watchControl has the parser tell what a statement does to transactions: the authorizer is asked
// while a statement is compiled, and knows names as SQLite reads them.
// https://www.sqlite.org/c3ref/set_authorizer.html
func (d *DB) watchControl() {
	d.authorize = d.callAuthorize
	lib.Xsqlite3_set_authorizer(d.tls, d.ptr, funcAddr(&d.authorize), 0)
}

func (d *DB) callAuthorize(
	_ *libc.TLS, _ uintptr, action int32, first, second, _, _ uintptr,
) int32 {
	switch action {
	case lib.SQLITE_TRANSACTION:
		d.control = Ends
	case lib.SQLITE_SAVEPOINT:
		d.point = libc.GoString(second)
		switch text(first)[0] {
		case 'B': // BEGIN
			d.control = Savepoint
		case 'R': // RELEASE and ROLLBACK
			d.control = Release
			if text(first)[1] == 'O' {
				d.control = RollbackTo
			}
		}
	}
	return OK
}

// OnChange installs f, which is told each row before it changes, also in tables WITHOUT ROWID, also
// rows that REPLACE deletes. While it is installed DELETE without WHERE goes row by row. undone is
// called when a transaction is rolled back, by whatever means. nil takes both away.
// https://www.sqlite.org/c3ref/preupdate_blobwrite.html
// https://www.sqlite.org/c3ref/commit_hook.html
func (d *DB) OnChange(f func(Change), undone func()) {
	d.onChange, d.onUndone = f, undone
	if f == nil {
		lib.Xsqlite3_preupdate_hook(d.tls, d.ptr, 0, 0)
		lib.Xsqlite3_rollback_hook(d.tls, d.ptr, 0, 0)
		return
	}
	d.change, d.undone = d.callChange, d.callUndone
	lib.Xsqlite3_preupdate_hook(d.tls, d.ptr, funcAddr(&d.change), 0)
	lib.Xsqlite3_rollback_hook(d.tls, d.ptr, funcAddr(&d.undone), 0)
}

func (d *DB) callChange(
	tls *libc.TLS, _, db uintptr, op int32, schema, table uintptr, before, after int64,
) {
	if lib.Xsqlite3_preupdate_blobwrite(tls, db) >= 0 {
		op = Update // the hook calls a write to an open blob a deletion
	}
	d.onChange(Change{Op: op, Schema: text(schema), Table: text(table), Old: before, New: after})
}

func (d *DB) callUndone(*libc.TLS, uintptr) { d.onUndone() }

// Writing reports whether a transaction has changed something, or may, and is not over.
// https://www.sqlite.org/c3ref/txn_state.html
func (d *DB) Writing() bool {
	return lib.Xsqlite3_txn_state(d.tls, d.ptr, 0) == lib.SQLITE_TXN_WRITE
}
