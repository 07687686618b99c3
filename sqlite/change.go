// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"strings"

	"m0serve.dev/sqlite/internal/engine"
)

// ChangeKind is what happened to a row.
type ChangeKind uint8

// Kinds of changes. REPLACE is a Deleted and an Inserted row, an upsert that found a row an Updated
// one; so is a write through a BlobHandle.
const (
	Inserted ChangeKind = iota + 1
	Updated
	Deleted
)

// String is the kind as a word.
func (k ChangeKind) String() string {
	switch k {
	case Inserted:
		return "inserted"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	}
	return "no kind of change"
}

// Change is one row that a committed transaction changed. A row may occur several times.
type Change struct {
	Kind   ChangeKind
	Schema string // "main", "temp" or the name of an attached database
	Table  string
	RowID  int64 // after the change; of a deleted row, its last; 0 in a table WITHOUT ROWID
	Was    int64 // before the change; 0 for an inserted row and in a table WITHOUT ROWID
}

// Commit is what one transaction of this connection changed. Whoever gets it may keep it.
//
// Triggers and foreign key actions are in it, rolled back savepoints and statements are not. Not
// told are changes of the schema (DROP TABLE deletes no rows in this sense), of virtual tables (but
// of the tables behind them), and of other connections: see Conn.DataVersion. Of a statement that
// fails under OR FAIL the rows it kept are told, but not what a trigger did before the first.
type Commit struct {
	Changes []Change // in their order
	Lost    int      // changes above Options.ChangesMax: not listed, so that one has to look again
}

// DataVersion is a number that differs from the one of an earlier call on this connection when
// another connection, of any process, has committed in between. It costs about as much as the
// smallest query, and says nothing about what changed.
// https://www.sqlite.org/pragma.html#pragma_data_version
func (c *Conn) DataVersion(ctx context.Context) (int64, error) {
	return One[int64](ctx, c, "PRAGMA data_version")
}

// changesMaxDefault is a bound for Options.ChangesMax of some 800 KiB.
const changesMaxDefault = 10_000

// namesMax bounds the names of tables kept to save an allocation for each row.
const namesMax = 1024

// changeLog collects what the open transaction has changed. SQLite tells when all of it is undone;
// what a savepoint undoes is followed here. It belongs to its connection.
type changeLog struct {
	fn    func(Commit) // nil: nobody listens, nothing is collected
	max   int
	open  Commit
	marks []savepoint // that are open, the innermost last
	names map[string]string
	told  int64 // commits handed over, for Stats
	lost  int64 // changes not listed in them
}

// savepoint is how far the log was when one began.
type savepoint struct {
	name string
	at   logMark
}

type logMark struct{ rows, lost int }

// listen begins to collect.
func (c *Conn) listen(o Options) {
	if o.OnCommit == nil || c.reader {
		return
	}
	c.log.fn, c.log.max = o.OnCommit, o.changesMax()
	c.db.OnChange(c.log.add, c.log.clear)
}

// add is called by SQLite with each row that is about to change.
func (g *changeLog) add(row engine.Change) {
	if len(g.open.Changes) >= g.max {
		g.open.Lost++
		return
	}
	change := Change{
		Schema: g.name(row.Schema), Table: g.name(row.Table), RowID: row.New, Was: row.Old,
	}
	switch row.Op {
	case engine.Insert:
		change.Kind, change.Was = Inserted, 0
	case engine.Update:
		change.Kind = Updated
	case engine.Delete:
		change.Kind, change.RowID = Deleted, row.Old
	}
	g.open.Changes = append(g.open.Changes, change)
}

// name is a string of text, the same one for each row of a table.
func (g *changeLog) name(text []byte) string {
	if s, ok := g.names[string(text)]; ok {
		return s
	}
	if g.names == nil || len(g.names) >= namesMax {
		g.names = make(map[string]string)
	}
	s := string(text)
	g.names[s] = s
	return s
}

// clear forgets the transaction; SQLite calls it when one is rolled back.
func (g *changeLog) clear() { g.open, g.marks = Commit{}, g.marks[:0] }

func (g *changeLog) mark() logMark { return logMark{len(g.open.Changes), g.open.Lost} }

// undo forgets what came after the mark.
func (g *changeLog) undo(to logMark) {
	g.open.Changes, g.open.Lost = g.open.Changes[:min(to.rows, len(g.open.Changes))], to.lost
}

// follow keeps the open savepoints as SQLite does. The statement has succeeded.
func (g *changeLog) follow(control engine.Control, name string) {
	if control == engine.Savepoint {
		g.marks = append(g.marks, savepoint{name, g.mark()})
		return
	}
	i := len(g.marks) - 1
	for i >= 0 && !strings.EqualFold(g.marks[i].name, name) {
		i--
	}
	switch {
	case i < 0: // opened before anybody listened
	case control == engine.Release:
		g.marks = g.marks[:i]
	case control == engine.RollbackTo:
		g.undo(g.marks[i].at)
		g.marks = g.marks[:i+1]
	}
}

// ran is called behind each statement that has ended, with where the log was before it.
func (c *Conn) ran(s *Stmt, before logMark, failed bool) {
	if c.log.fn == nil {
		return
	}
	switch {
	case failed && c.db.Changes() == 0:
		c.log.undo(before) // OR FAIL keeps rows, and counts them; anything else undoes them
	case !failed && s.es.Control >= engine.Savepoint:
		c.log.follow(s.es.Control, s.es.Point)
	}
	c.settle()
}

// settle hands over what has been committed since.
func (c *Conn) settle() {
	g := &c.log
	if g.fn == nil {
		return
	}
	if c.db.Autocommit() {
		g.marks = g.marks[:0]
	}
	if g.mark() == (logMark{}) || c.db.Writing() {
		return
	}
	commit := g.open
	g.open = Commit{}
	g.told++
	g.lost += int64(commit.Lost)
	g.fn(commit)
}
