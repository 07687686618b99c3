// SPDX-License-Identifier: MIT

package engine

import (
	"runtime"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Flags of Open: https://www.sqlite.org/c3ref/c_open_autoproxy.html. No URI flag: a path is a path.
const (
	ReadOnly  int32 = lib.SQLITE_OPEN_READONLY
	ReadWrite int32 = lib.SQLITE_OPEN_READWRITE
	Create    int32 = lib.SQLITE_OPEN_CREATE
)

// DB is one database connection of the C library.
type DB struct {
	tls     *libc.TLS
	ptr     uintptr
	scratch buffer // out parameters
	text    buffer // SQL on its way into the parser

	onBusy     func(n int) bool
	onProgress func() bool
	busy       func(tls *libc.TLS, arg uintptr, n int32) int32 // called from C
	progress   func(tls *libc.TLS, arg uintptr) int32          // called from C

	control   Control // what the statement compiled last does to transactions
	point     string  // the savepoint it names
	onChange  func(Change)
	onUndone  func()
	authorize func(tls *libc.TLS, arg uintptr, action int32, a, b, c, d uintptr) int32
	change    func(tls *libc.TLS, arg, db uintptr, op int32, schema, table uintptr, old, new int64)
	undone    func(tls *libc.TLS, arg uintptr)
}

// Open opens the file. On failure the DB is closed, and the message and the errno of the operating
// system are returned beside the code.
// https://www.sqlite.org/c3ref/open.html
func Open(path string, flags int32) (d *DB, rc int32, message string, errno int) {
	d = &DB{tls: libc.NewTLS()}
	if !d.scratch.grow(d.tls, bufferMin) || !d.text.setString(d.tls, path) {
		d.Close()
		return nil, lib.SQLITE_NOMEM, "out of memory", 0
	}
	clear(view(d.scratch.addr, d.scratch.size))
	flags |= lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_EXRESCODE
	rc = lib.Xsqlite3_open_v2(d.tls, d.text.addr, d.scratch.addr, flags, 0)
	d.ptr = d.scratch.word(0)
	if rc != OK {
		message, errno = d.Message(rc), d.SystemErrno()
		d.Close()
		return nil, rc, message, errno
	}
	d.watchControl()
	return d, OK, "", 0
}

// Close closes the connection. It answers BUSY, and keeps it open, while statements live.
// https://www.sqlite.org/c3ref/close.html
func (d *DB) Close() int32 {
	if d.ptr != 0 {
		if rc := lib.Xsqlite3_close(d.tls, d.ptr); rc != OK {
			return rc
		}
		d.ptr = 0
	}
	d.text.release(d.tls)
	d.scratch.release(d.tls)
	d.tls.Close()
	runtime.KeepAlive(d)
	return OK
}

// OnBusy installs f, which is asked whether to try a lock again; n counts from 0 for each call.
// `PRAGMA busy_timeout` would replace it.
// https://www.sqlite.org/c3ref/busy_handler.html
func (d *DB) OnBusy(f func(n int) bool) {
	d.onBusy = f
	d.busy = d.callBusy
	lib.Xsqlite3_busy_handler(d.tls, d.ptr, funcAddr(&d.busy), 0)
}

func (d *DB) callBusy(_ *libc.TLS, _ uintptr, n int32) int32 {
	if d.onBusy(int(n)) {
		return 1
	}
	return 0
}

// OnProgress installs f, which is asked after about every ops steps of the virtual machine whether
// to stop; the call in progress then ends with INTERRUPT.
// https://www.sqlite.org/c3ref/progress_handler.html
func (d *DB) OnProgress(ops int, f func() (stop bool)) {
	d.onProgress = f
	d.progress = d.callProgress
	lib.Xsqlite3_progress_handler(d.tls, d.ptr, int32(ops), funcAddr(&d.progress), 0)
}

func (d *DB) callProgress(_ *libc.TLS, _ uintptr) int32 {
	if d.onProgress() {
		return 1
	}
	return 0
}

// StrictQuotes turns off reading "x" as a string where no column x exists.
// https://www.sqlite.org/quirks.html#dblquote
func (d *DB) StrictQuotes() int32 {
	for _, op := range [...]int32{lib.SQLITE_DBCONFIG_DQS_DML, lib.SQLITE_DBCONFIG_DQS_DDL} {
		arg := libc.VaList(d.scratch.addr, int32(0), uintptr(0))
		if rc := lib.Xsqlite3_db_config(d.tls, d.ptr, op, arg); rc != OK {
			return rc
		}
	}
	return OK
}

// Message is the text for the last error, or that of rc when the connection has none.
// https://www.sqlite.org/c3ref/errcode.html
func (d *DB) Message(rc int32) string {
	if d.ptr != 0 && lib.Xsqlite3_extended_errcode(d.tls, d.ptr)&0xff == rc&0xff {
		return libc.GoString(lib.Xsqlite3_errmsg(d.tls, d.ptr))
	}
	return libc.GoString(lib.Xsqlite3_errstr(d.tls, rc))
}

// ErrorOffset is the byte of the SQL text the last error points at, or -1.
func (d *DB) ErrorOffset() int { return int(lib.Xsqlite3_error_offset(d.tls, d.ptr)) }

// SystemErrno is the errno behind the last I/O error, or 0.
func (d *DB) SystemErrno() int { return int(lib.Xsqlite3_system_errno(d.tls, d.ptr)) }

// state is what SQLite holds of the connection; see row.go on why it is read there.
func (d *DB) state() *lib.Tsqlite3 { return (*lib.Tsqlite3)(pointer(d.ptr)) }

// Autocommit reports whether no explicit transaction is open.
func (d *DB) Autocommit() bool { return d.state().FautoCommit != 0 }

// Changes is the number of rows the last INSERT, UPDATE or DELETE changed.
func (d *DB) Changes() int64 { return d.state().FnChange }

// LastInsertID is the rowid of the last INSERT into a rowid table.
func (d *DB) LastInsertID() int64 { return d.state().FlastRowid }

// Checkpoint moves frames of the WAL of the main database into its file. log counts the frames in
// the WAL, moved those of them that are in the file now; both are -1 without a WAL. The modes are
// 0 passive, 1 full, 2 restart, 3 truncate.
// https://www.sqlite.org/c3ref/wal_checkpoint_v2.html
func (d *DB) Checkpoint(mode int32) (log, moved int, rc int32) {
	if !d.text.setString(d.tls, "main") {
		return -1, -1, lib.SQLITE_NOMEM
	}
	out := d.scratch.addr
	rc = lib.Xsqlite3_wal_checkpoint_v2(d.tls, d.ptr, d.text.addr, mode, out, out+4)
	runtime.KeepAlive(d)
	return d.scratch.int32(0), d.scratch.int32(1), rc
}

// Statements counts the statements that live on the connection.
func (d *DB) Statements() (n int) {
	for p := lib.Xsqlite3_next_stmt(d.tls, d.ptr, 0); p != 0; n++ {
		p = lib.Xsqlite3_next_stmt(d.tls, d.ptr, p)
	}
	return n
}

// Version is that of the SQLite library.
func Version() string {
	tls := libc.NewTLS()
	defer tls.Close()
	return libc.GoString(lib.Xsqlite3_libversion(tls))
}
