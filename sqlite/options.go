// SPDX-License-Identifier: MIT

package sqlite

import "time"

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
