// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"m0serve.dev/sqlite/internal/engine"
)

// Conn is one connection. It is used by one goroutine at a time, handed over as one likes; nothing
// in it locks. A Pool gives each goroutine its own.
type Conn struct {
	db     *engine.DB // nil after Close
	path   string
	budget time.Duration            // for locks, see Options.Busy
	call   call                     // what the handlers look at
	cache  cache                    // statements ready for reuse
	first  *Stmt                    // every live statement, in a list
	out    int                      // statements that Prepare gave and Close has not taken back
	reader bool                     // query_only
	broken bool                     // an error says that another connection would do better
	tx     *Tx                      // the open transaction begun through this package, or nil
	begin  [3]*Stmt                 // BEGIN by TxMode, kept for the life of the connection
	commit *Stmt                    //
	undo   *Stmt                    // ROLLBACK
	again  int64                    // transactions that Write ran again
	log    changeLog                // for Options.OnCommit
	blobs  map[*BlobHandle]struct{} // open ones
}

// Result is what a statement changed.
type Result struct {
	Changed int64 // rows inserted, updated or deleted by the last such statement of the connection
	LastID  int64 // rowid of the connection's last INSERT
}

func newConn(db *engine.DB, path string, o Options) *Conn {
	return &Conn{
		db: db, path: path, budget: o.busy(), reader: o.QueryOnly || o.ReadOnly,
		cache: cache{max: o.statements()},
	}
}

// Close ends every statement, rolls back what is open and closes the connection. The last one on a
// WAL database also checkpoints it. A second Close does nothing.
func (c *Conn) Close() error {
	if c.db == nil {
		return nil
	}
	c.call.shield()
	if c.tx != nil {
		c.tx.done = true
	}
	_ = c.closeBlobs(nil) // what they wrote outside a transaction is committed, or was reported
	for c.first != nil {
		c.first.finalize()
	}
	c.cache = cache{}
	rc := c.db.Close()
	if rc != engine.OK {
		return c.fail("close", "", rc)
	}
	c.db, c.tx = nil, nil
	return nil
}

// Path is the file name given to Open.
func (c *Conn) Path() string { return c.path }

// InTx reports whether a transaction is open, begun by whatever means.
func (c *Conn) InTx() bool { return c.db != nil && !c.db.Autocommit() }

// Exec runs one statement to its end and reports what it changed. Rows it gives are passed over.
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (Result, error) {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	s.Bind(args...)
	return s.Exec(ctx)
}

// Script runs every statement of sql, for schemas. It takes no parameters, keeps nothing prepared
// and stops at the first error; without a transaction of its own, what ran before stays.
func (c *Conn) Script(ctx context.Context, sql string) error {
	if err := checkSQL(sql); err != nil {
		return err
	}
	for sql != "" {
		s, used, err := c.compile(ctx, sql, false)
		if err != nil {
			return err
		}
		if s != nil {
			_, err = s.Exec(ctx)
			s.finalize()
			if err != nil {
				return err
			}
		}
		sql = sql[used:]
	}
	return nil
}

// checkSQL refuses what the C side would cut short in silence.
func checkSQL(sql string) error {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return fmt.Errorf("sqlite: prepare: NUL at byte %d of the statement", i)
	}
	return nil
}

// compile makes a statement of the first one in sql: nil when that is only blanks and comments.
func (c *Conn) compile(ctx context.Context, sql string, keep bool) (*Stmt, int, error) {
	if c.db == nil {
		return nil, 0, ErrClosed
	}
	if err := c.call.enter(ctx); err != nil {
		return nil, 0, wrapEnd("prepare", err)
	}
	es, used, rc := c.db.Prepare(sql, keep)
	if rc != engine.OK {
		return nil, 0, c.fail("prepare", sql, rc)
	}
	if es.Empty() {
		return nil, used, nil
	}
	s := &Stmt{c: c, es: es, sql: sql[:used], writes: !es.WritesNothing()}
	s.link()
	return s, used, nil
}

// wrapEnd says which call a context, or a closing pool, ended before it began.
func wrapEnd(op string, err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	return &Error{
		Op: op, Code: Interrupt, Extended: Interrupt, Offset: -1,
		Message: "the call was ended", cause: err,
	}
}

// source lets Query, One and Exec run on a connection.
func (c *Conn) source(_ context.Context, _ bool) (*Conn, error) { return c, nil }

func (c *Conn) release(*Conn) {}
