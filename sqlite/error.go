// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"m0serve.dev/sqlite/internal/engine"
)

// Errors that do not come from SQLite.
var (
	// ErrNoRows is returned by One when the statement gives no row.
	ErrNoRows = errors.New("sqlite: no rows")
	// ErrClosed is returned on a connection, statement or pool after its Close.
	ErrClosed = errors.New("sqlite: closed")
	// ErrTxDone is returned on a transaction after its end.
	ErrTxDone = errors.New("sqlite: transaction has ended")
	// ErrRange is wrapped when a number does not fit: a uint64 above the range of INTEGER, a NaN
	// (SQLite would store NULL), or a column value too large for the Go type asked for.
	ErrRange = errors.New("value out of range")
)

// sqlMax is how much of a statement an error shows.
const sqlMax = 200

// Error is an answer of SQLite. Reach it with errors.As, or ask IsBusy, IsConstraint and CodeOf.
type Error struct {
	Op       string        // what was asked: open, prepare, bind, step, begin, commit …
	Path     string        // file, for Op open
	Code     Code          // primary code
	Extended Code          // extended code; equals Code where there is none
	Message  string        // SQLite's own words
	SQL      string        // statement, cut after 200 bytes
	Offset   int           // byte in the whole statement the message is about; -1: not known
	Errno    syscall.Errno // what the operating system said to an I/O error; 0: nothing
	Cure     string        // what to do about it, when that is known
	cause    error         // the context's error when it ended the call
}

// Error is one line: operation, message, code, place, cure.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sqlite: " + e.Op)
	if e.Path != "" {
		fmt.Fprintf(&b, " %q", e.Path)
	}
	fmt.Fprintf(&b, ": %s (%s)", e.Message, e.Extended)
	if e.Errno != 0 {
		b.WriteString(": " + e.Errno.Error())
	}
	if e.SQL != "" {
		fmt.Fprintf(&b, " in %q", e.SQL)
		if e.Offset >= 0 {
			fmt.Fprintf(&b, " at byte %d", e.Offset)
		}
	}
	if e.Cure != "" {
		b.WriteString("; " + e.Cure)
	}
	if e.cause != nil {
		b.WriteString(": " + e.cause.Error())
	}
	return b.String()
}

// Unwrap is the error of the context that ended the call, or nil.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf is the primary code of the SQLite error in err's chain, or OK when there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return OK
}

// IsBusy reports whether somebody else's lock was in the way for longer than the budget (BUSY,
// BUSY_SNAPSHOT, BUSY_RECOVERY). A wait ended by a context is not busy: it is the context's error.
func IsBusy(err error) bool { return CodeOf(err) == Busy }

// IsConstraint reports a violated UNIQUE, NOT NULL, CHECK, PRIMARY KEY, FOREIGN KEY or STRICT type;
// Error.Extended says which.
func IsConstraint(err error) bool { return CodeOf(err) == Constraint }

// IsFull reports that the disk, or the size limit of the database, is full. What the transaction
// had written is rolled back; the connection works again once there is space.
func IsFull(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == Full || e.Errno == syscall.ENOSPC)
}

// fail builds the error for an answer other than OK, ROW and DONE on connection c. sql may be "".
func (c *Conn) fail(op, sql string, rc int32) *Error {
	e := &Error{
		Op: op, Code: Code(rc & 0xff), Extended: Code(rc), Offset: -1,
		Message: c.db.Message(rc), SQL: sql,
	}
	if sql != "" {
		e.Offset = c.db.ErrorOffset()
	}
	if len(sql) > sqlMax {
		e.SQL = strings.ToValidUTF8(sql[:sqlMax], "") + "…"
	}
	switch e.Code {
	case IOErr, CantOpen, Full:
		e.Errno = syscall.Errno(c.db.SystemErrno())
	case Busy, Interrupt:
		if err := c.call.ended(); err != nil {
			e.Code, e.Message, e.cause = Interrupt, "the call was ended", err
		}
	}
	switch e.Code {
	case Busy:
		e.Cure = busyCure(rc)
	case ReadOnly:
		e.Cure = "the connection is for reading only: write with Write or Pool.Exec"
	case Full:
		e.Cure = "make space on the disk; the connection works again then"
	}
	c.broken = c.broken || isBroken(e)
	return e
}

// busyCure says what the owner of the program can do about a lock.
func busyCure(rc int32) string {
	if rc == engine.BusySnapshot {
		return "another connection wrote after this transaction read: use Write, which begins IMMEDIATE"
	}
	return "another connection holds the lock: shorten its transactions or raise Options.Busy"
}

// isBroken reports whether the connection should not be used again.
func isBroken(e *Error) bool {
	switch e.Code {
	case Corrupt, NotADB, Misuse, NoMem:
		return true
	case IOErr:
		return e.Errno != syscall.ENOSPC
	}
	return false
}

// Code is a result code of SQLite, primary or extended: https://www.sqlite.org/rescode.html
type Code int32

// The primary codes a caller may want to tell apart.
const (
	OK         = Code(engine.OK)         // no error of SQLite
	Generic    = Code(engine.Error)      // wrong SQL, mostly
	Perm       = Code(engine.Perm)       // access mode refused
	Abort      = Code(engine.Abort)      // a rollback ended the statement
	Busy       = Code(engine.Busy)       // locked by another connection
	Locked     = Code(engine.Locked)     // locked by another statement of this connection
	NoMem      = Code(engine.NoMem)      // out of memory
	ReadOnly   = Code(engine.ReadonlyDB) // write to a read-only database or connection
	Interrupt  = Code(engine.Interrupt)  // the context ended the call
	IOErr      = Code(engine.IOErr)      // the operating system said no; see Error.Errno
	Corrupt    = Code(engine.Corrupt)    // the file is damaged
	Full       = Code(engine.Full)       // no space
	CantOpen   = Code(engine.CantOpen)   // a file could not be opened
	Protocol   = Code(engine.Protocol)   // locking protocol: too many collisions in a row
	Schema     = Code(engine.Schema)     // the schema kept changing
	TooBig     = Code(engine.TooBig)     // text or blob above the limit
	Constraint = Code(engine.Constraint) // see IsConstraint
	Mismatch   = Code(engine.Mismatch)   // wrong type for a rowid
	Misuse     = Code(engine.Misuse)     // a bug of this package or its caller
	Auth       = Code(engine.Auth)       // not authorized
	Range      = Code(engine.Range)      // no such parameter
	NotADB     = Code(engine.NotADB)     // the file is something else
)

// The extended codes with a meaning of their own.
const (
	BusyRecovery         = Code(engine.BusyRecovery) // another process replays the WAL
	BusySnapshot         = Code(engine.BusySnapshot) // the snapshot is too old to write from
	ConstraintCheck      = Constraint | 1<<8
	ConstraintForeignKey = Constraint | 3<<8
	ConstraintNotNull    = Constraint | 5<<8
	ConstraintPrimaryKey = Constraint | 6<<8
	ConstraintUnique     = Constraint | 8<<8
	ConstraintDatatype   = Constraint | 12<<8 // a STRICT table refused the type
)

// String is the name in SQLite's documentation, with the number of an extended code.
func (c Code) String() string {
	name, ok := codeName(c)
	if ok {
		return "SQLITE_" + name
	}
	if name, ok = codeName(c & 0xff); ok {
		return "SQLITE_" + name + " " + strconv.Itoa(int(c))
	}
	return "SQLITE " + strconv.Itoa(int(c))
}

func codeName(c Code) (string, bool) {
	names := map[Code]string{
		OK: "OK", Generic: "ERROR", Perm: "PERM", Abort: "ABORT", Busy: "BUSY", Locked: "LOCKED",
		NoMem: "NOMEM", ReadOnly: "READONLY", Interrupt: "INTERRUPT", IOErr: "IOERR",
		Corrupt: "CORRUPT", Full: "FULL", CantOpen: "CANTOPEN", Protocol: "PROTOCOL",
		Schema: "SCHEMA", TooBig: "TOOBIG", Constraint: "CONSTRAINT", Mismatch: "MISMATCH",
		Misuse: "MISUSE", Auth: "AUTH", Range: "RANGE", NotADB: "NOTADB",
		BusyRecovery: "BUSY_RECOVERY", BusySnapshot: "BUSY_SNAPSHOT",
		ConstraintCheck: "CONSTRAINT_CHECK", ConstraintForeignKey: "CONSTRAINT_FOREIGNKEY",
		ConstraintNotNull: "CONSTRAINT_NOTNULL", ConstraintPrimaryKey: "CONSTRAINT_PRIMARYKEY",
		ConstraintUnique: "CONSTRAINT_UNIQUE", ConstraintDatatype: "CONSTRAINT_DATATYPE",
	}
	name, ok := names[c]
	return name, ok
}
