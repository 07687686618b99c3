// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"m0serve.dev/sqlite/internal/engine"
)

// CopyOptions of Backup and CopyTo. The zero value copies 256 pages at a time without a pause.
type CopyOptions struct {
	Pages    int                   // copied in one step; 0: 256
	Pause    time.Duration         // between two steps, for the sake of others
	Progress func(done, total int) // pages, after each step; it must not use the connections
}

const copyPages = 256

func (o CopyOptions) pages() int32 {
	if o.Pages <= 0 {
		return copyPages
	}
	return int32(min(o.Pages, 1<<30))
}

// Backup writes the database to a new file, as it was when the call began, while others go on
// writing. It holds one state of the database for that time: it copies each page once, however much
// is written, and a WAL cannot begin anew before it ends. (Without WAL writers wait for it.) The
// file appears under its name when it is whole and on the disk; until then, and for good when the
// process dies, there is only path.*.part. It has the permissions of the database.
//
// path must not exist, nor a journal or WAL of that name: one that belonged to another database
// would damage this one. https://www.sqlite.org/backup.html
func (c *Conn) Backup(ctx context.Context, path string, o CopyOptions) error {
	return c.intoFile("backup", path, func(part string) error {
		dst, err := Open(part, Options{Journal: Memory, Sync: SyncOff, NoForeignKeys: true})
		if err != nil {
			return err
		}
		return errors.Join(c.CopyTo(ctx, dst, o), dst.Close())
	})
}

// VacuumInto writes the database to a new file like Backup, but row by row: without free pages and
// in order, so the file is smaller and holds nothing that was deleted. It takes more time than
// Backup, has no pauses, and gives rows of a table without INTEGER PRIMARY KEY other rowids. The
// copy is not in WAL mode. https://www.sqlite.org/lang_vacuum.html#vacuuminto
func (c *Conn) VacuumInto(ctx context.Context, path string) error {
	return c.intoFile("vacuum", path, func(part string) (err error) {
		if c.reader { // query_only forbids writing to other files too
			if err := c.shielded("PRAGMA query_only = 0"); err != nil {
				return err
			}
			defer func() {
				if undo := c.shielded("PRAGMA query_only = 1"); undo != nil {
					c.broken = true
					err = errors.Join(err, undo)
				}
			}()
		}
		_, err = c.Exec(ctx, "VACUUM INTO ?", part)
		return err
	})
}

// CopyTo replaces all of dst, which may be in memory, by the database of c: to restore a backup, to
// load a file into memory or to save it. Others that read or write dst's file are waited for within
// dst's budget. dst is as it was when CopyTo fails. Both connections belong to the caller
// meanwhile.
func (c *Conn) CopyTo(ctx context.Context, dst *Conn, o CopyOptions) error {
	if err := c.checkCopy(dst); err != nil {
		return err
	}
	return c.Read(ctx, func(tx *Tx) error {
		// The state of the database is taken at the first look at it. As long as it is held, SQLite
		// has no reason to begin again when others have written.
		if _, err := One[int](ctx, tx, "SELECT count(*) FROM sqlite_schema"); err != nil {
			return err
		}
		k, rc := engine.NewCopy(c.db, dst.db)
		if rc != engine.OK {
			return dst.failCopy(rc)
		}
		err := c.copySteps(ctx, dst, k, o)
		if rc := k.Finish(); err == nil && rc != engine.OK {
			err = dst.failCopy(rc)
		}
		return err
	})
}

// checkCopy refuses what SQLite would not, or not clearly.
func (c *Conn) checkCopy(dst *Conn) error {
	switch {
	case c.db == nil || dst.db == nil:
		return ErrClosed
	case c == dst:
		return errors.New("sqlite: copy: source and destination are one connection")
	case dst.reader:
		return fmt.Errorf("sqlite: copy to %q: it is open for reading only", dst.path)
	case dst.InTx() || dst.out > 0 || len(dst.blobs) > 0:
		return fmt.Errorf("sqlite: copy to %q: it has a transaction, statement or blob open", dst.path)
	case c.path == memoryPath || dst.path == memoryPath:
		return nil
	}
	from, err := os.Stat(c.path)
	if err != nil {
		return fmt.Errorf("sqlite: copy: %w", err)
	}
	if to, err := os.Stat(dst.path); err == nil && os.SameFile(from, to) {
		return fmt.Errorf("sqlite: copy to %q: source and destination are one file", dst.path)
	}
	return nil
}

// copySteps runs the copy to its end.
func (c *Conn) copySteps(ctx context.Context, dst *Conn, k *engine.Copy, o CopyOptions) error {
	for {
		if err := errors.Join(c.call.enter(ctx), dst.call.enter(ctx)); err != nil {
			return wrapEnd("copy", context.Cause(ctx))
		}
		rc := k.Step(o.pages())
		if rc != engine.OK && rc != engine.Done {
			return dst.failCopy(rc)
		}
		if o.Progress != nil {
			left, total := k.Pages()
			o.Progress(total-left, total)
		}
		if rc == engine.Done {
			return nil
		}
		if o.Pause > 0 {
			c.call.sleep(o.Pause)
		}
	}
}

// failCopy makes the error of a copy onto c.
func (c *Conn) failCopy(rc int32) error {
	e := c.fail("copy", "", rc)
	e.Path = c.path
	switch e.Code {
	case ReadOnly:
		e.Cure = "a database in memory or WAL mode keeps its page size: use a fresh destination"
	case Busy:
		e.Cure = "another connection uses the destination: end it or raise Options.Busy"
	}
	return e
}

// intoFile has write fill a file beside path, and gives it that name when it is whole.
func (c *Conn) intoFile(op, path string, write func(part string) error) (err error) {
	if c.db == nil {
		return ErrClosed
	}
	if err := checkNewFile(op, path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", op, err)
	}
	part := f.Name()
	defer func() {
		_ = os.Remove(part)
	}()
	if info, statErr := os.Stat(c.path); c.path != memoryPath && statErr == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sqlite: %s: %w", op, err)
	}
	if err := write(part); err != nil {
		return fmt.Errorf("sqlite: %s to %q: %w", op, path, err)
	}
	if err := publishFile(part, path); err != nil {
		return fmt.Errorf("sqlite: %s to %q: %w", op, path, err)
	}
	return nil
}

// checkNewFile refuses a name that is taken, also by the journal of a former database.
func checkNewFile(op, path string) error {
	if path == "" || path == memoryPath {
		return fmt.Errorf("sqlite: %s: %q is no name of a file", op, path)
	}
	for _, name := range [...]string{path, path + "-wal", path + "-journal"} {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("sqlite: %s to %q: %q: %w; take a new name or remove it first",
				op, path, name, fs.ErrExist)
		}
	}
	return nil
}

// publishFile puts the file on the disk and gives it its name, unless somebody took that meanwhile.
func publishFile(part, path string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	err = os.Link(part, path) // unlike a rename it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(part, path) // a file system without links
	}
	if err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can, and the file itself is safe
		_ = dir.Close()
	}
	return nil
}
