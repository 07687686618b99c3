// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"m0serve.dev/sqlite"
)

// What is kept. Beyond that the oldest goes.
const (
	historyMax = 100 // messages of a room
	roomsMax   = 100 // rooms that have any; the one that is silent for longest goes
	peopleMax  = 50  // people of a room that are named; the others are only counted
)

const schema = `
CREATE TABLE IF NOT EXISTS rooms (
	name      TEXT PRIMARY KEY,
	last      INTEGER NOT NULL, -- id of its last message
	forgotten INTEGER NOT NULL  -- id of the last that is not kept any more, or 0
) STRICT;
CREATE TABLE IF NOT EXISTS messages (
	id   INTEGER PRIMARY KEY, -- microseconds since 1970, raised until it is the highest
	room TEXT NOT NULL,
	who  TEXT NOT NULL,
	name TEXT NOT NULL,
	text TEXT NOT NULL,
	ref  TEXT NOT NULL        -- the sender's own, so that a message sent again is known
) STRICT;
CREATE INDEX IF NOT EXISTS messages_room ON messages (room, id);
CREATE TABLE IF NOT EXISTS here (
	socket INTEGER PRIMARY KEY,
	pid    INTEGER NOT NULL, -- of the worker that has it
	room   TEXT NOT NULL,
	who    TEXT NOT NULL,
	name   TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS here_room ON here (room);
`

// A message is one that is kept, as sockets get it. Its id says when it was said.
type message struct {
	ID   int64  `json:"id"`
	Who  string `json:"who"`
	Name string `json:"name"`
	Text string `json:"text"`
	Ref  string `json:"ref"`
}

// A person is somebody in a room, with however many sockets.
type person struct {
	Who  string `json:"who"`
	Name string `json:"name"`
}

// A room is what somebody who enters is told.
type room struct {
	Messages []message
	Gap      bool // some that he missed are not kept any more
	people
}

// people are those in a room.
type people struct {
	Count  int      `json:"count"`
	People []person `json:"people"`
}

// A store is the file that all workers share: the history of the rooms, and who is in
// them. What goes to the sockets of a room is published under its write lock, so that
// ids on a socket only grow, whichever worker a message came from.
type store struct {
	db    *sqlite.Pool
	pid   int
	alive func() map[int]bool // pids of the service's workers, this one included
}

// storeWait bounds a change.
const storeWait = 10 * time.Second

func openStore(path string, alive func() map[int]bool) (*store, error) {
	db, err := sqlite.OpenPool(path, sqlite.PoolOptions{})
	if err != nil {
		return nil, err
	}
	s := &store{db: db, pid: os.Getpid(), alive: alive}
	err = s.write(func(ctx context.Context, tx *sqlite.Tx) error { return tx.Script(ctx, schema) })
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *store) write(change func(context.Context, *sqlite.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	return s.db.Write(ctx, func(tx *sqlite.Tx) error { return change(ctx, tx) })
}

// sweep takes away who was with workers that are dead, or with a predecessor that had
// this one's pid, and returns the rooms that lost somebody.
func (s *store) sweep() (rooms []string, err error) {
	alive := s.alive()
	err = s.write(func(ctx context.Context, tx *sqlite.Tx) error {
		pids, err := sqlite.All[int](ctx, tx, `SELECT DISTINCT pid FROM here`)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if alive[pid] && pid != s.pid {
				continue
			}
			left, err := sqlite.All[string](ctx, tx,
				`SELECT DISTINCT room FROM here WHERE pid = ?`, pid)
			if err != nil {
				return err
			}
			rooms = append(rooms, left...)
			if _, err := tx.Exec(ctx, `DELETE FROM here WHERE pid = ?`, pid); err != nil {
				return err
			}
		}
		return nil
	})
	return rooms, err
}

// enter puts p into a room and tells with welcome, under the write lock, what the room
// is like: what is published from then on comes behind it. since is the last message
// that p knows.
func (s *store) enter(
	name string, p person, since int64, welcome func(room) error,
) (socket int64, err error) {
	err = s.write(func(ctx context.Context, tx *sqlite.Tx) error {
		res, err := tx.Exec(ctx, `INSERT INTO here (pid, room, who, name) VALUES (?, ?, ?, ?)`,
			s.pid, name, p.Who, p.Name)
		if err != nil {
			return err
		}
		socket = res.LastID
		r := room{}
		if r.people, err = peopleOf(ctx, tx, name); err != nil {
			return err
		}
		r.Gap, err = sqlite.One[bool](ctx, tx, `SELECT EXISTS (
			SELECT 1 FROM rooms WHERE name = ?1 AND forgotten > ?2 AND ?2 > 0)`, name, since)
		if err != nil {
			return err
		}
		r.Messages, err = sqlite.All[message](ctx, tx, `SELECT id, who, name, text, ref
			FROM messages WHERE room = ? AND id > ? ORDER BY id`, name, since)
		if err != nil {
			return err
		}
		return welcome(r)
	})
	return socket, err
}

func (s *store) leave(socket int64) error {
	return s.write(func(ctx context.Context, tx *sqlite.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM here WHERE socket = ?`, socket)
		return err
	})
}

// here publishes who is in a room.
func (s *store) here(name string, publish func(people) error) error {
	return s.write(func(ctx context.Context, tx *sqlite.Tx) error {
		p, err := peopleOf(ctx, tx, name)
		if err != nil {
			return err
		}
		return publish(p)
	})
}

func peopleOf(ctx context.Context, tx *sqlite.Tx, name string) (p people, err error) {
	p.Count, err = sqlite.One[int](ctx, tx,
		`SELECT count(DISTINCT who) FROM here WHERE room = ?`, name)
	if err != nil {
		return p, err
	}
	p.People, err = sqlite.All[person](ctx, tx, `SELECT who, max(name) AS name FROM here
		WHERE room = ? GROUP BY who ORDER BY min(socket) LIMIT ?`, name, peopleMax)
	return p, err
}

// say keeps m, gives it an id and publishes it, unless its sender has said it before:
// then again is true, and m the one that is kept. Should the change be lost behind the
// publishing, with the worker or the disk, the sender sends it again, and those who saw
// it know it by its ref.
func (s *store) say(name string, m *message, publish func() error) (again bool, err error) {
	err = s.write(func(ctx context.Context, tx *sqlite.Tx) error {
		old, err := sqlite.All[message](ctx, tx, `SELECT id, who, name, text, ref
			FROM messages WHERE room = ? AND who = ? AND ref = ?`, name, m.Who, m.Ref)
		if err != nil {
			return err
		}
		if again = len(old) > 0; again {
			*m = old[0]
			return nil
		}
		last, err := sqlite.One[int64](ctx, tx, `SELECT coalesce(max(last), 0) FROM rooms`)
		if err != nil {
			return err
		}
		m.ID = max(time.Now().UnixMicro(), last+1)
		_, err = tx.Exec(ctx, `INSERT INTO messages (id, room, who, name, text, ref)
			VALUES (?, ?, ?, ?, ?, ?)`, m.ID, name, m.Who, m.Name, m.Text, m.Ref)
		if err != nil {
			return err
		}
		if err := forget(ctx, tx, name, m.ID); err != nil {
			return err
		}
		return publish()
	})
	return again, err
}

// forget notes the last message of a room, and gives up what is too old to be kept.
func forget(ctx context.Context, tx *sqlite.Tx, name string, last int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO rooms (name, last, forgotten) VALUES (?1, ?2, 0)
		ON CONFLICT DO UPDATE SET last = ?2, forgotten = max(forgotten, coalesce((
			SELECT id FROM messages WHERE room = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?3), 0))`,
		name, last, historyMax)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM messages WHERE room = ?1
		AND id <= (SELECT forgotten FROM rooms WHERE name = ?1)`, name)
	if err != nil {
		return err
	}
	res, err := tx.Exec(ctx, `DELETE FROM rooms WHERE last <= (
		SELECT last FROM rooms ORDER BY last DESC LIMIT 1 OFFSET ?)`, roomsMax)
	if err != nil || res.Changed == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM messages WHERE room NOT IN (SELECT name FROM rooms)`)
	return err
}
