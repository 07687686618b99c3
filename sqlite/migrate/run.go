// SPDX-License-Identifier: MIT

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"m0serve.dev/sqlite"
)

// Errors of Run.
var (
	// ErrNewer is wrapped when the database has run more steps than the list has: the program is
	// older than its database.
	ErrNewer = errors.New("migrate: the database is newer than this program")
	// ErrChanged is wrapped when a step that has run is missing, elsewhere or different.
	ErrChanged = errors.New("migrate: a step that has run was changed")
)

// Config of Run.
type Config struct {
	Steps []Step
	Wait  time.Duration                         // for other processes that migrate; 0: one minute
	Done  func(name string, took time.Duration) // nil: not told; each step this process has run
}

const waitDefault = time.Minute

func (o Config) wait() time.Duration {
	if o.Wait <= 0 {
		return waitDefault
	}
	return o.Wait
}

// record is a row of the table.
type record struct {
	ID   int64
	Name string
	Sum  string
}

const (
	createRecords = `CREATE TABLE IF NOT EXISTS m0_migrations(
	id INTEGER PRIMARY KEY, -- 1, 2, 3 …
	name TEXT NOT NULL,
	sum TEXT NOT NULL, -- SHA-256 of the text; '' of a function
	at INTEGER NOT NULL -- unix milliseconds
) STRICT`
	hasRecords   = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'm0_migrations'"
	readRecords  = "SELECT id, name, sum FROM m0_migrations ORDER BY id"
	insertRecord = "INSERT INTO m0_migrations(id, name, sum, at) VALUES(?, ?, ?, ?)"
)

// Run runs the steps that the database lacks and tells how many that were. The connection has no
// transaction open, and is the caller's alone meanwhile: of a pool, use Pool.WithWriter.
//
// A step that fails is undone; those before it stay, and the next Run goes on there. While other
// processes hold the database, Run waits for them until ctx ends or Config.Wait is over.
func Run(ctx context.Context, c *sqlite.Conn, o Config) (ran int, err error) {
	if err := check(o.Steps); err != nil {
		return 0, err
	}
	if c.InTx() {
		return 0, errors.New("migrate: the connection has a transaction open")
	}
	deadline := time.Now().Add(o.wait())
	for {
		begin := time.Now()
		name, err := next(ctx, c, o.Steps)
		switch {
		case sqlite.IsBusy(err) && time.Now().Before(deadline):
			// The connection has waited for Options.Busy already, which may be nothing.
			if err := pause(ctx); err != nil {
				return ran, err
			}
			continue
		case err != nil:
			return ran, err
		case name == "":
			return ran, nil
		}
		ran++
		if o.Done != nil {
			o.Done(name, time.Since(begin))
		}
	}
}

// pause lets others go on.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("migrate: %w", context.Cause(ctx))
	case <-time.After(retryPause):
		return nil
	}
}

// retryPause is between two tries while another process migrates.
const retryPause = 10 * time.Millisecond

// next runs one step. The name is empty when there is none left.
func next(ctx context.Context, c *sqlite.Conn, steps []Step) (name string, err error) {
	// Whether to run one, and with foreign keys or without, has to be known before the transaction
	// begins; inside it everything is looked at again.
	at, err := look(ctx, c, steps)
	if err != nil || at == len(steps) {
		return "", err
	}
	run := func() error {
		return c.Write(ctx, func(tx *sqlite.Tx) error {
			if _, err := tx.Exec(ctx, createRecords); err != nil {
				return err
			}
			now, err := look(ctx, tx, steps)
			if err != nil || now != at {
				return err // now != at: another process was faster
			}
			name = steps[at].Name
			return steps[at].run(ctx, tx, int64(at+1))
		})
	}
	if steps[at].Rebuild {
		err = withoutForeignKeys(ctx, c, run)
	} else {
		err = run()
	}
	if err != nil {
		return "", err
	}
	if name == "" {
		return next(ctx, c, steps)
	}
	return name, nil
}

// look compares what has run with the list. at is the number of steps that have.
func look(ctx context.Context, src sqlite.Source, steps []Step) (at int, err error) {
	there, err := sqlite.One[int](ctx, src, hasRecords)
	if err != nil || there == 0 {
		return 0, err
	}
	rows, err := sqlite.All[record](ctx, src, readRecords)
	if err != nil {
		return 0, err
	}
	for i, row := range rows {
		switch {
		case row.ID != int64(i+1):
			return 0, fmt.Errorf("%w: m0_migrations has no row %d before row %d", ErrChanged, i+1, row.ID)
		case i >= len(steps):
			return 0, fmt.Errorf("%w: it has run %d steps, up to %q; this program has %d",
				ErrNewer, len(rows), rows[len(rows)-1].Name, len(steps))
		case row.Name != steps[i].Name:
			return 0, fmt.Errorf("%w: step %d was %q and is %q now; steps are only added at the end",
				ErrChanged, i+1, row.Name, steps[i].Name)
		case row.Sum != steps[i].sum():
			return 0, fmt.Errorf("%w: the text of step %q is not the one that ran; "+
				"put it back and add a further step", ErrChanged, row.Name)
		}
	}
	return len(rows), nil
}

// run runs the step and records it.
func (s Step) run(ctx context.Context, tx *sqlite.Tx, id int64) (err error) {
	var before map[reference]int
	if s.Rebuild {
		if before, err = broken(ctx, tx); err != nil {
			return err
		}
	}
	if s.Func != nil {
		err = s.Func(ctx, tx)
	} else {
		err = tx.Script(ctx, s.SQL)
	}
	if err != nil {
		return fmt.Errorf("migrate: step %q: %w", s.Name, err)
	}
	if s.Rebuild {
		if err := checkReferences(ctx, tx, before); err != nil {
			return fmt.Errorf("migrate: step %q: %w", s.Name, err)
		}
	}
	_, err = tx.Exec(ctx, insertRecord, id, s.Name, s.sum(), time.Now().UnixMilli())
	return err
}
