// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// pool opens a pool with a table t(v INTEGER UNIQUE).
func pool(t testing.TB, o PoolOptions) *Pool {
	t.Helper()
	p := openPool(t, tempFile(t), o)
	mustExec(t, p, "CREATE TABLE t(v INTEGER UNIQUE)")
	return p
}

// occupy holds a reader of the pool until release is called.
func occupy(t *testing.T, p *Pool) (release func()) {
	t.Helper()
	in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- p.Read(context.Background(), func(*Tx) error {
			close(in)
			<-out
			return nil
		})
	}()
	<-in
	release = sync.OnceFunc(func() {
		close(out)
		if err := <-ended; err != nil {
			t.Errorf("Read: %v", err)
		}
	})
	t.Cleanup(release) // before the pool closes
	return release
}

func TestPool(t *testing.T) {
	p := pool(t, PoolOptions{Readers: 2})
	ctx := t.Context()
	r, err := p.Exec(ctx, "INSERT INTO t VALUES(?)", 7)
	if err != nil || r.Changed != 1 || r.LastID != 1 {
		t.Errorf("Exec = %+v, %v", r, err)
	}
	err = p.Write(ctx, func(tx *Tx) error {
		mustExec(t, tx, "INSERT INTO t VALUES(8)")
		if n := count(t, p); n != 1 {
			t.Errorf("a reader sees %d rows inside the transaction, want 1", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Read(ctx, func(tx *Tx) error {
		if n := count(t, tx); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = One[int](ctx, p, "INSERT INTO t VALUES(9) RETURNING v")
	if CodeOf(err) != ReadOnly {
		t.Errorf("One that writes on a pool: %v, want READONLY", err)
	}
	wantText(t, "One", err, "write with Write")
	if s := p.Stats(); s.InUse != 0 || s.Open != 2 || s.CacheHits == 0 || s.CacheMisses == 0 {
		t.Errorf("Stats = %+v, want two open, none in use", s)
	}
}

func TestPoolBounds(t *testing.T) {
	p := pool(t, PoolOptions{Readers: 2, Wait: time.Minute, WaitersMax: 1})
	one, two := occupy(t, p), occupy(t, p)
	_, err := One[int](shortly(t, 10*time.Millisecond), p, "SELECT 1")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("third reader with a short context: %v, want its deadline", err)
	}
	p.o.Wait = 50 * time.Millisecond // nobody waits now
	if _, err := One[int](t.Context(), p, "SELECT 1"); !errors.Is(err, ErrPoolWait) {
		t.Errorf("third reader: %v, want ErrPoolWait", err)
	}
	waiter := make(chan error, 1)
	long, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.o.Wait = time.Minute // nobody waits now
	go func() {
		_, err := One[int](long, p, "SELECT 1")
		waiter <- err
	}()
	eventually(t, "somebody waits", func() bool { return p.Stats().Waiting == 1 })
	if _, err := One[int](t.Context(), p, "SELECT 1"); !errors.Is(err, ErrPoolFull) {
		t.Errorf("second waiter: %v, want ErrPoolFull", err)
	}
	s := p.Stats()
	if s.InUse != 2 || s.Open != 3 || s.Full != 1 || s.Late != 1 || s.Waits < 2 || s.WaitTime == 0 {
		t.Errorf("Stats = %+v, want 2 in use of 3, 1 full, 1 late", s)
	}
	one()
	if err := <-waiter; err != nil {
		t.Errorf("the waiter: %v, want the connection that came free", err)
	}
	two()
	if s := p.Stats(); s.InUse != 0 || s.Waiting != 0 {
		t.Errorf("Stats = %+v, want nobody in use or waiting", s)
	}
}

func TestPoolWriteInWrite(t *testing.T) {
	p := pool(t, PoolOptions{Wait: 20 * time.Millisecond})
	err := p.Write(t.Context(), func(*Tx) error {
		return p.Write(t.Context(), func(*Tx) error { return nil })
	})
	if !errors.Is(err, ErrPoolWait) {
		t.Errorf("Write in Write: %v, want ErrPoolWait", err)
	}
}

// TestPoolRepairs: what a borrower leaves open does not reach the next.
func TestPoolRepairs(t *testing.T) {
	p := pool(t, PoolOptions{Readers: 1})
	ctx := t.Context()
	mustExec(t, p, "INSERT INTO t VALUES(1), (2)")
	var left *Stmt
	err := p.Read(ctx, func(tx *Tx) (err error) {
		left, err = tx.Prepare(ctx, "SELECT v FROM t")
		mustStep(t, left, true)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := left.Step(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("a statement kept beyond its Read: %v, want ErrClosed", err)
	}
	mustExec(t, p, "BEGIN IMMEDIATE")
	if err := p.Write(ctx, func(tx *Tx) error { return nil }); err != nil {
		t.Errorf("Write after somebody left a transaction: %v", err)
	}
	_, err = One[int](shortly(t, 20*time.Millisecond), p, endless)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("endless query: %v", err)
	}
	if n := count(t, p); n != 2 {
		t.Errorf("%d rows after an interrupted query, want 2", n)
	}
	if s := p.Stats(); s.Repaired != 2 || s.Replaced != 0 || s.Open != 2 {
		t.Errorf("Stats = %+v, want 2 repaired", s)
	}
}

// TestPoolReplaces: a connection that an error broke is not used again.
func TestPoolReplaces(t *testing.T) {
	p := pool(t, PoolOptions{Readers: 1})
	var first *Conn
	err := p.Read(t.Context(), func(tx *Tx) error {
		first = tx.c
		first.fail("step", "", int32(Corrupt)) // what a damaged page would say
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Read(t.Context(), func(tx *Tx) error {
		if tx.c == first {
			t.Error("the broken connection came back")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Replaced != 1 || s.Open != 2 {
		t.Errorf("Stats = %+v, want 1 replaced, 2 open", s)
	}
	if first.db != nil {
		t.Error("the broken connection is still open")
	}
}

// TestPoolClose: what runs ends with ErrClosed, who waits is told, and Close returns after all.
func TestPoolClose(t *testing.T) {
	p, err := OpenPool(tempFile(t), PoolOptions{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	running, waiting := make(chan error, 1), make(chan error, 1)
	started := make(chan struct{})
	go func() {
		running <- p.Read(context.Background(), func(tx *Tx) error {
			close(started)
			_, err := One[int](context.Background(), tx, endless)
			return err
		})
	}()
	<-started
	go func() {
		_, err := One[int](context.Background(), p, "SELECT 1")
		waiting <- err
	}()
	eventually(t, "somebody waits", func() bool { return p.Stats().Waiting == 1 })
	start := time.Now()
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	soon(t, "Close", start)
	for name, ch := range map[string]chan error{"running": running, "waiting": waiting} {
		if err := <-ch; !errors.Is(err, ErrClosed) {
			t.Errorf("%s query: %v, want ErrClosed", name, err)
		}
	}
	if _, err := p.Exec(t.Context(), "SELECT 1"); !errors.Is(err, ErrClosed) {
		t.Errorf("Exec after Close: %v, want ErrClosed", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestPoolCloseGivesUp: a borrower that never comes back does not hold Close for ever, and what it
// holds is closed when it does.
func TestPoolCloseGivesUp(t *testing.T) {
	p, err := OpenPool(tempFile(t), PoolOptions{Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var held *Conn
	err = p.Read(t.Context(), func(tx *Tx) error {
		held = tx.c
		wantText(t, "Close", p.Close(), "still in use after 20ms: 1")
		_, err := One[int](t.Context(), tx, "SELECT 1")
		return err
	})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("query after Close: %v, want ErrClosed", err)
	}
	if held.db != nil {
		t.Error("the connection is still open after it came back")
	}
}

func TestPoolKinds(t *testing.T) {
	_, err := OpenPool(memoryPath, PoolOptions{})
	wantText(t, "OpenPool(:memory:)", err, "database of its own")
	path := tempFile(t)
	_, err = OpenPool(path, PoolOptions{Options: Options{ReadOnly: true}})
	wantText(t, "OpenPool of no file", err, "does not exist")
	mustExec(t, open(t, path, Options{}), "CREATE TABLE t(v)")
	p := openPool(t, path, PoolOptions{Options: Options{ReadOnly: true}})
	if n := count(t, p); n != 0 {
		t.Errorf("%d rows", n)
	}
	err = p.Write(t.Context(), func(*Tx) error { return nil })
	wantText(t, "Write", err, "opened for reading only")
	_, err = p.Exec(t.Context(), "DELETE FROM t")
	wantText(t, "Exec", err, "opened for reading only")
}

// TestPoolTogether: writers move a sum around, readers never see it wrong.
func TestPoolTogether(t *testing.T) {
	p := openPool(t, tempFile(t), PoolOptions{Readers: 3, Options: Options{Sync: SyncOff}})
	ctx := t.Context()
	mustExec(t, p, "CREATE TABLE account(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
	mustExec(t, p, "INSERT INTO account VALUES(1, 500), (2, 500)")
	const rounds = 100
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range rounds {
				err := p.Write(ctx, func(tx *Tx) error {
					for _, step := range [2]int{1, -1} {
						_, err := tx.Exec(ctx, "UPDATE account SET n = n + ? WHERE id = ?",
							step, 1+(i+w+step+1)/2%2)
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range rounds {
				err := p.Read(ctx, func(tx *Tx) error {
					sum := 0
					for n, err := range Query[int](ctx, tx, "SELECT n FROM account") {
						if err != nil {
							return err
						}
						sum += n
					}
					if sum != 1000 {
						t.Errorf("sum %d, want 1000", sum)
					}
					return nil
				})
				if err != nil {
					t.Errorf("Read: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Open > 4 || s.InUse != 0 || s.Repaired != 0 {
		t.Errorf("Stats = %+v, want at most 4 open", s)
	}
}
