// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"fmt"

	"m0serve.dev/sqlite/internal/engine"
)

// CheckpointMode is how much a checkpoint insists:
// https://www.sqlite.org/c3ref/wal_checkpoint_v2.html
type CheckpointMode int

// Checkpoint modes. SQLite runs a passive one by itself after every 1000 pages. Only Truncate gives
// the space of a grown WAL back, and only while nobody reads an old state.
const (
	CheckpointPassive  CheckpointMode = iota // move what is in nobody's way; never waits
	CheckpointFull                           // wait for the writer, then move everything
	CheckpointRestart                        // then also wait for readers, so that the WAL begins anew
	CheckpointTruncate                       // then also cut the WAL to zero bytes
)

// Checkpointed is what a checkpoint did. An empty WAL has Log 0; Log is -1 when the database has no
// WAL at all.
type Checkpointed struct {
	Busy  bool // others were in the way until the budget was spent; what could be moved was
	Log   int  // frames (pages) in the WAL
	Moved int  // those of them that are in the database file now
}

// Whole reports that nothing in the WAL is left to be moved.
func (r Checkpointed) Whole() bool { return !r.Busy && r.Log >= 0 && r.Moved == r.Log }

// Checkpoint moves pages from the WAL into the database file. It waits for others as the mode says,
// for Options.Busy at the most or until ctx ends; that they were in the way is no error but Busy in
// the result. Moving the pages itself is not interrupted.
func (c *Conn) Checkpoint(ctx context.Context, mode CheckpointMode) (Checkpointed, error) {
	switch {
	case c.db == nil:
		return Checkpointed{}, ErrClosed
	case mode < CheckpointPassive || mode > CheckpointTruncate:
		return Checkpointed{}, fmt.Errorf(
			"sqlite: checkpoint: mode %d is not one of the CheckpointMode constants", mode)
	}
	if err := c.call.enter(ctx); err != nil {
		return Checkpointed{}, wrapEnd("checkpoint", err)
	}
	log, moved, rc := c.db.Checkpoint(int32(mode))
	r := Checkpointed{Log: log, Moved: moved}
	if rc == engine.OK {
		return r, nil
	}
	err := c.fail("checkpoint", "", rc)
	switch err.Code {
	case Busy:
		r.Busy = true
		return r, nil
	case Locked:
		err.Cure = "this connection has a transaction open: end it first"
	}
	return r, err
}
