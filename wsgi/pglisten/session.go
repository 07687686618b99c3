// SPDX-License-Identifier: MIT

package pglisten

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// goodbye bounds how long a connection that is in order is closed politely.
const goodbye = time.Second

// ours is in the context of every connection that connect asks for. pgconn dials
// others of its own accord, to cancel what a broken one was asked; there is nothing
// to cancel, and behind a firewall it would wait.
type ours struct{}

var errNotOurs = errors.New("pglisten: nothing to cancel")

// session is the life of one connection. It returns why it ended, and how long it
// had listened.
func (l *Listener) session(ctx context.Context) (lasted time.Duration, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer hangUp(conn)
	if err := l.ask(ctx, conn, "LISTEN "+Channel); err != nil {
		return 0, fmt.Errorf("LISTEN: %w", err)
	}
	l.listening(conn.PID())
	began := time.Now()
	err = l.hear(ctx, conn)
	return time.Since(began), err
}

// connect makes a connection. Every host that the DSN names has its own time.
func (l *Listener) connect(ctx context.Context) (*pgconn.PgConn, error) {
	link := l.cfg.DSN.link.Copy()
	if link.ConnectTimeout == 0 {
		link.ConnectTimeout = l.cfg.answerWithin()
	}
	link.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.receive(n) }

	var dialed []net.Conn
	dial := link.DialFunc
	link.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(ours{}) == nil {
			return nil, errNotOurs
		}
		conn, err := dial(ctx, network, address)
		if err == nil {
			dialed = append(dialed, conn)
		}
		return conn, err
	}
	attempts := time.Duration(1 + len(link.Fallbacks))
	ctx, cancel := context.WithTimeout(ctx, attempts*link.ConnectTimeout) // names, too
	defer cancel()
	conn, err := pgconn.ConnectConfig(context.WithValue(ctx, ours{}, true), link)
	if err != nil {
		for _, c := range dialed { // some may be in the middle of a long farewell
			_ = c.Close()
		}
	}
	return conn, err
}

// hear waits for notifications until the connection ends; receive gets them, also
// those that arrive while something is asked.
func (l *Listener) hear(ctx context.Context, conn *pgconn.PgConn) error {
	for {
		err := l.wait(ctx, conn)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil || conn.IsClosed() || !pgconn.Timeout(err):
			return err
		}
		if err := l.ask(ctx, conn, ""); err != nil {
			return fmt.Errorf("no answer after %v of silence: %w", l.cfg.checkEvery(), err)
		}
	}
}

// wait returns after a notification, or with a timeout after silence.
func (l *Listener) wait(ctx context.Context, conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.checkEvery())
	defer cancel()
	return conn.WaitForNotification(ctx)
}

// ask runs a statement, which may be empty: a round trip that costs PostgreSQL
// nothing.
func (l *Listener) ask(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.answerWithin())
	defer cancel()
	return conn.Exec(ctx, sql).Close()
}

// hangUp closes the connection and waits until nothing of it is left. One that is
// broken gets no farewell.
func hangUp(conn *pgconn.PgConn) {
	if whole, err := conn.Hijack(); err == nil {
		farewell(whole.Conn)
		return
	}
	if !conn.IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		_ = conn.Close(ctx) // the server sees the end of the connection either way
	}
	_ = conn.Conn().Close()
	<-conn.CleanupDone()
}

// terminate is the message that ends a session (PostgreSQL, message formats).
const terminate = "X\x00\x00\x00\x04"

// farewell ends a session in order and waits until PostgreSQL has ended it as well:
// from then on nobody else listens in our name.
func farewell(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(goodbye))
	if _, err := io.WriteString(conn, terminate); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}
