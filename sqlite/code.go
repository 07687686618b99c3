// SPDX-License-Identifier: MIT

package sqlite

import (
	"strconv"

	"m0serve.dev/sqlite/internal/engine"
)

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
