// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"m0serve.dev/datastar/stream"
	"m0serve.dev/sqlite"
)

const (
	textRunesMax = 500
	todosMax     = 1000
)

// What a person did wrong, in words that the page shows.
var (
	errEmpty   = errors.New("a todo cannot be empty")
	errTooLong = fmt.Errorf("a todo has at most %d characters", textRunesMax)
	errTooMany = fmt.Errorf("the list is full: it holds %d todos", todosMax)
)

// errNoTodo is returned for a todo that is not, or no longer, in the list.
var errNoTodo = errors.New("there is no such todo")

const schema = `
CREATE TABLE IF NOT EXISTS todos (
	id   INTEGER PRIMARY KEY AUTOINCREMENT,
	text TEXT NOT NULL,
	done INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS events (
	id    INTEGER PRIMARY KEY, -- event id, taken under the write lock
	frame BLOB NOT NULL        -- bytes that went to every tab
) STRICT;
`

// A store is the list and the log of what was broadcast of it, in one file that
// any number of workers share. Its methods may be called by any goroutine.
type store struct {
	db   *sqlite.Pool
	keep int // events kept in the log
}

func openStore(path string, keep int) (*store, error) {
	db, err := sqlite.OpenPool(path, sqlite.PoolOptions{})
	if err != nil {
		return nil, err
	}
	s := &store{db: db, keep: max(keep, 1)}
	err = db.Write(context.Background(), func(tx *sqlite.Tx) error {
		return tx.Script(context.Background(), schema)
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// change runs fn and logs the frame that shows its outcome, in one transaction
// that holds the write lock from the change on. frame gets the new list, takes
// an id and encodes: since ids are taken under the lock, a frame with a higher
// id holds every change of those below it, whichever worker made them.
func (s *store) change(
	ctx context.Context,
	fn func(*sqlite.Tx) error,
	frame func(list) (stream.Frame, error),
) (f stream.Frame, err error) {
	err = s.db.Write(ctx, func(tx *sqlite.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		l, err := readList(ctx, tx)
		if err != nil {
			return err
		}
		if f, err = frame(l); err != nil {
			return err
		}
		return s.log(ctx, tx, f)
	})
	return f, err
}

func (s *store) log(ctx context.Context, tx *sqlite.Tx, f stream.Frame) error {
	_, err := tx.Exec(ctx, `INSERT INTO events (id, frame) VALUES (?, ?)`, f.ID, f.Body)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM events WHERE id <= (
		SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)`, s.keep)
	return err
}

// now reads the list and the id of the last event it contains.
func (s *store) now(ctx context.Context) (l list, last uint64, err error) {
	err = s.db.Read(ctx, func(tx *sqlite.Tx) error {
		if l, err = readList(ctx, tx); err != nil {
			return err
		}
		last, err = sqlite.One[uint64](ctx, tx, `SELECT coalesce(max(id), 0) FROM events`)
		return err
	})
	return l, last, err
}

// events reads the log, oldest first.
func (s *store) events(ctx context.Context) ([]stream.Frame, error) {
	return sqlite.All[stream.Frame](ctx, s.db, `SELECT id, frame AS body FROM events ORDER BY id`)
}

func readList(ctx context.Context, tx *sqlite.Tx) (list, error) {
	todos, err := sqlite.All[todo](ctx, tx, `SELECT id, text, done FROM todos ORDER BY id`)
	return newList(todos), err
}

// add gives the change that appends a todo.
func add(ctx context.Context, text string) func(*sqlite.Tx) error {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	return func(tx *sqlite.Tx) error {
		switch {
		case text == "":
			return errEmpty
		case utf8.RuneCountInString(text) > textRunesMax:
			return errTooLong
		}
		n, err := sqlite.One[int](ctx, tx, `SELECT count(*) FROM todos`)
		if err != nil {
			return err
		}
		if n >= todosMax {
			return errTooMany
		}
		_, err = tx.Exec(ctx, `INSERT INTO todos (text) VALUES (?)`, text)
		return err
	}
}

func toggle(ctx context.Context, id int64) func(*sqlite.Tx) error {
	return onOne(ctx, `UPDATE todos SET done = NOT done WHERE id = ?`, id)
}

func remove(ctx context.Context, id int64) func(*sqlite.Tx) error {
	return onOne(ctx, `DELETE FROM todos WHERE id = ?`, id)
}

// onOne gives the change that sql makes to the todo id, which has to exist.
func onOne(ctx context.Context, sql string, id int64) func(*sqlite.Tx) error {
	return func(tx *sqlite.Tx) error {
		res, err := tx.Exec(ctx, sql, id)
		if err == nil && res.Changed == 0 {
			err = errNoTodo
		}
		return err
	}
}

func clearDone(ctx context.Context) func(*sqlite.Tx) error {
	return func(tx *sqlite.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM todos WHERE done`)
		return err
	}
}
