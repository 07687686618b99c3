// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"m0serve.dev/sqlite/internal/engine"
)

// Journal is how a database keeps transactions atomic: https://www.sqlite.org/pragma.html#pragma_journal_mode
type Journal string

// Journal modes. WAL lets readers and one writer work at the same time.
const (
	WAL      Journal = "wal"
	Delete   Journal = "delete"
	Truncate Journal = "truncate"
	Persist  Journal = "persist"
	Memory   Journal = "memory" // a crash inside a transaction damages the file
)

// Sync is when SQLite waits for the disk: https://www.sqlite.org/pragma.html#pragma_synchronous
type Sync int

// Sync levels. In WAL, SyncNormal survives a crash of the process without loss, and a power cut
// with the loss of the last commits but never with damage; SyncFull loses nothing.
const (
	SyncDefault Sync = iota // SyncNormal in WAL, SyncFull otherwise
	SyncOff
	SyncNormal
	SyncFull
	SyncExtra
)

// Options of Open. The zero value is right for an application: read and write, create the file,
// WAL, foreign keys checked, five seconds of patience.
type Options struct {
	ReadOnly      bool          // the file must exist; nothing may write, not even the journal mode
	MustExist     bool          // do not create the file
	Journal       Journal       // "": WAL
	Sync          Sync          // zero: SyncDefault
	Busy          time.Duration // budget of one call, or one Write, for locks; 0: 5 s, <0: none
	NoForeignKeys bool          // do not check foreign keys (SQLite's own default)
	CacheKB       int           // page cache; 0: SQLite's own 2000 KiB
	MmapKB        int           // memory-mapped reading; 0: none
	Statements    int           // statements kept prepared; 0: 64, <0: none
	QueryOnly     bool          // refuse writes on a connection that may still do recovery

	// OnCommit is called with what a transaction has changed, behind its commit and before the call
	// that committed returns, by the same goroutine. It must not use the connection. Of a Pool it
	// is called by the writer, so everybody who writes waits for it.
	OnCommit   func(Commit)
	ChangesMax int // changes listed of one commit; 0: 10,000
}

const (
	busyDefault       = 5 * time.Second
	statementsDefault = 64
)

func (o Options) busy() time.Duration {
	if o.Busy == 0 {
		return busyDefault
	}
	return max(o.Busy, 0)
}

func (o Options) journal() Journal {
	if o.Journal == "" {
		return WAL
	}
	return o.Journal
}

func (o Options) changesMax() int {
	if o.ChangesMax <= 0 {
		return changesMaxDefault
	}
	return o.ChangesMax
}

func (o Options) statements() int {
	if o.Statements == 0 {
		return statementsDefault
	}
	return max(o.Statements, 0)
}

// sync is the number of the level in `PRAGMA synchronous`.
func (o Options) sync() int64 {
	switch {
	case o.Sync != SyncDefault:
		return int64(o.Sync - SyncOff)
	case o.journal() == WAL:
		return int64(SyncNormal - SyncOff)
	default:
		return int64(SyncFull - SyncOff)
	}
}

// memoryPath opens a private database in memory, gone when the connection closes.
const memoryPath = ":memory:"

// Open opens the database at path, a file name and never a URI, and sets it up as o says. Every
// setting is read back: a connection that Open returns has them. Waiting for other processes that
// open or recover the same file is part of the budget o.Busy.
func Open(path string, o Options) (*Conn, error) {
	if err := checkOpen(path, o); err != nil {
		return nil, err
	}
	db, rc, message, errno := engine.Open(path, openFlags(o))
	if rc != engine.OK {
		e := &Error{
			Op: "open", Path: path, Code: Code(rc & 0xff), Extended: Code(rc), Offset: -1,
			Message: message, Errno: syscall.Errno(errno),
		}
		e.Cure = openCure(path, o, e.Code)
		return nil, e
	}
	c := newConn(db, path, o)
	if err := c.setUp(o); err != nil {
		_ = c.Close() // err says more
		return nil, openError(path, o, err)
	}
	c.listen(o)
	return c, nil
}

func checkOpen(path string, o Options) error {
	switch {
	case path == "":
		return errors.New("sqlite: open: the path is empty; use \":memory:\" for a database in memory")
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("sqlite: open %q: the path holds a NUL byte", path)
	case o.Sync < SyncDefault || o.Sync > SyncExtra:
		return fmt.Errorf("sqlite: open %q: Options.Sync is %d, not one of the Sync constants",
			path, o.Sync)
	case o.CacheKB < 0 || o.MmapKB < 0:
		return fmt.Errorf("sqlite: open %q: Options.CacheKB and MmapKB cannot be negative", path)
	}
	switch o.journal() {
	case WAL, Delete, Truncate, Persist, Memory:
		return nil
	}
	return fmt.Errorf("sqlite: open %q: Options.Journal is %q, not one of the Journal constants",
		path, o.Journal)
}

func openFlags(o Options) int32 {
	switch {
	case o.ReadOnly:
		return engine.ReadOnly
	case o.MustExist:
		return engine.ReadWrite
	}
	return engine.ReadWrite | engine.Create
}

// openError names the file and the cure in what went wrong while setting up.
func openError(path string, o Options, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	e.Op, e.Path, e.Offset = "open", path, -1
	if cure := openCure(path, o, e.Code); cure != "" {
		e.Cure = cure
	}
	return e
}

// openCure is what the operator can do.
func openCure(path string, o Options, code Code) string {
	dir := filepath.Dir(path)
	switch code {
	case CantOpen:
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return "create the directory " + strconv.Quote(dir)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return "the path is a directory: name a file in it"
		} else if errors.Is(err, fs.ErrNotExist) && (o.ReadOnly || o.MustExist) {
			return "the file does not exist and Options forbid creating it"
		}
		return "the process needs to read and write " + strconv.Quote(path) + " and its directory"
	case ReadOnly, Perm:
		return "the process needs to write " + strconv.Quote(path) +
			" and its directory, or set Options.ReadOnly"
	case NotADB:
		return "the file is not an SQLite database, or it is encrypted"
	case Busy:
		return "another process keeps the file locked: end it or raise Options.Busy"
	}
	return ""
}

// setUp applies the options. The journal mode comes first of all that touch the file.
func (c *Conn) setUp(o Options) error {
	if rc := c.db.StrictQuotes(); rc != engine.OK {
		return c.fail("open", "", rc)
	}
	c.db.OnBusy(c.onBusy)
	c.db.OnProgress(progressSteps, c.onProgress)
	if err := c.setUpJournal(o); err != nil {
		return err
	}
	settings := []struct {
		name  string
		value int64
	}{
		{"synchronous", o.sync()},
		{"foreign_keys", boolInt(!o.NoForeignKeys)},
		{"cache_size", -int64(o.CacheKB)},
		{"mmap_size", int64(o.MmapKB) << 10},
		{"query_only", boolInt(o.QueryOnly || o.ReadOnly)},
	}
	for _, s := range settings {
		if s.name == "cache_size" && s.value == 0 || s.name == "mmap_size" && s.value == 0 {
			continue
		}
		if err := c.setPragma(s.name, s.value); err != nil {
			return err
		}
	}
	return nil
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// setUpJournal switches the journal mode. Two connections that do so on one fresh file at once
// collide, and SQLite answers BUSY there without asking the busy handler, so it is tried again
// here, within the same budget. A read-only connection takes the mode it finds.
func (c *Conn) setUpJournal(o Options) error {
	sql := "PRAGMA journal_mode=" + string(o.journal())
	if o.ReadOnly {
		sql = "PRAGMA journal_mode"
	}
	var mode string
	err := c.persist(func() (err error) {
		mode, err = One[string](context.Background(), c, sql)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.ReadOnly || mode == string(o.journal()) || c.path == memoryPath:
		return nil
	}
	return fmt.Errorf("the journal mode stays %q: the file system may lack shared memory; "+
		"name another Options.Journal than %q", mode, o.journal())
}

// persist repeats try while it answers BUSY or PROTOCOL, until the budget is spent.
func (c *Conn) persist(try func() error) error {
	deadline := time.Now().Add(c.budget)
	for {
		err := try()
		if code := CodeOf(err); code != Busy && code != Protocol {
			return err
		}
		if !time.Now().Before(deadline) {
			return err
		}
		c.call.waits.Add(1)
		sleepShort(jitter(openPause))
	}
}

// openPause is the pause between two tries to switch the journal mode.
const openPause = 500 * time.Microsecond

// setPragma sets a number and reads it back.
func (c *Conn) setPragma(name string, value int64) error {
	ctx := context.Background()
	if err := c.Script(ctx, fmt.Sprintf("PRAGMA %s=%d", name, value)); err != nil {
		return err
	}
	got, err := One[int64](ctx, c, "PRAGMA "+name)
	if err != nil {
		return err
	}
	if got != value {
		return fmt.Errorf("PRAGMA %s is %d after setting it to %d", name, got, value)
	}
	return nil
}
