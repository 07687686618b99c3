// SPDX-License-Identifier: MIT

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runChild is the other process: one line in, one line out, until the input ends.
func runChild(role string, in io.Reader, out io.Writer) int {
	warm, err := Open(memoryPath, Options{}) // what is slow the first time is over
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer warm.Close()
	fmt.Fprintln(out, "ready")
	roles := map[string]func(args []string) string{
		"open": childOpen, "write": childWrite, "hold": childHold,
		"churn": childChurn,
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, roles[role](strings.Fields(lines.Text())))
	}
	return 0
}

// childOpen opens a fresh file at a given moment and uses it: "path ns".
func childOpen(args []string) string {
	ns, _ := strconv.ParseInt(args[1], 10, 64)
	spinUntil(ns)
	c, err := Open(args[0], Options{})
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	ctx := context.Background()
	err = c.Write(ctx, func(tx *Tx) error {
		return tx.Script(ctx, "CREATE TABLE IF NOT EXISTS t(v); INSERT INTO t VALUES(1)")
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint("ok ", c.call.waits.Load())
}

// TestOpenRace opens one fresh file by two processes at the same moment, 120 times. The switch to
// WAL then answers BUSY without asking the busy handler.
func TestOpenRace(t *testing.T) {
	const rounds = 120
	one, two := startChild(t, "open"), startChild(t, "open")
	dir := t.TempDir()
	waited := 0
	for i := range rounds {
		path, at := filepath.Join(dir, fmt.Sprint(i, ".db")), startAt()
		one.send("%s %d", path, at)
		two.send("%s %d", path, at)
		for _, c := range []*child{one, two} {
			answer := c.receive()
			if !strings.HasPrefix(answer, "ok ") {
				t.Fatalf("round %d of %d: Open and Write in another process: %s, want ok",
					i, rounds, answer)
			}
			if answer != "ok 0" {
				waited++
			}
		}
		c := open(t, path, Options{MustExist: true})
		if n := mustOne[int](t, c, "SELECT count(*) FROM t"); n != 2 {
			t.Fatalf("round %d: %d rows after two writers, want 2", i, n)
		}
	}
	if waited == 0 {
		t.Errorf("no process of %d ever waited: the opens did not meet", 2*rounds)
	}
	t.Logf("%d of %d opens had to wait", waited, 2*rounds)
}

// childWrite commits single rows from one moment to another: "path from to".
func childWrite(args []string) string {
	from, _ := strconv.ParseInt(args[1], 10, 64)
	to, _ := strconv.ParseInt(args[2], 10, 64)
	c, err := Open(args[0], Options{})
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	spinUntil(from)
	ctx := context.Background()
	n, worst := 0, time.Duration(0)
	for now := time.Now(); now.UnixNano() < to; n++ {
		err := c.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO t(v) VALUES(?)", n)
			return err
		})
		if err != nil {
			return err.Error()
		}
		next := time.Now()
		worst, now = max(worst, next.Sub(now)), next
	}
	return fmt.Sprint("ok ", n, " ", worst)
}

// TestTwoWriters has two processes write as fast as they can. Nobody fails and nobody starves.
func TestTwoWriters(t *testing.T) {
	span := 10 * time.Second
	if testing.Short() {
		span = 2 * time.Second
	}
	path := tempFile(t)
	c := open(t, path, Options{})
	mustExec(t, c, "CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER NOT NULL)")
	writers := []*child{startChild(t, "write"), startChild(t, "write")}
	from := time.Now().Add(20 * time.Millisecond)
	for _, w := range writers {
		w.send("%s %d %d", path, from.UnixNano(), from.Add(span).UnixNano())
	}
	var counts [2]int
	for i, w := range writers {
		var worst string
		answer := w.receive()
		if _, err := fmt.Sscanf(answer, "ok %d %s", &counts[i], &worst); err != nil {
			t.Fatalf("writer %d: %s, want ok", i, answer)
		}
		t.Logf("writer %d: %d transactions in %v, slowest %s", i, counts[i], span, worst)
	}
	if low, high := min(counts[0], counts[1]), max(counts[0], counts[1]); low*10 < high*4 {
		t.Errorf("writers committed %d and %d: one had less than 40 %% of the other", low, high)
	}
	if n := mustOne[int](t, c, "SELECT count(*) FROM t"); n != counts[0]+counts[1] {
		t.Errorf("%d rows, want %d", n, counts[0]+counts[1])
	}
}

// childHold leaves a large transaction open: "path".
func childHold(args []string) string {
	c, err := Open(args[0], Options{CacheKB: 64}) // small, so that pages are written before the end
	if err != nil {
		return err.Error()
	}
	ctx := context.Background()
	tx, err := c.Begin(ctx, Immediate)
	if err != nil {
		return err.Error()
	}
	if _, err := tx.Exec(ctx, "UPDATE t SET v = 'lost ' || hex(randomblob(300))"); err != nil {
		return err.Error()
	}
	return "open"
}

// TestKilledWriter kills a process inside a transaction that has reached the disk already.
func TestKilledWriter(t *testing.T) {
	path := tempFile(t)
	c := open(t, path, Options{})
	const rows = 2000
	mustExec(t, c, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
	mustExec(t, c, "CREATE INDEX t_v ON t(v)")
	mustExec(t, c, `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < ?)
		INSERT INTO t(id, v) SELECT i, 'kept ' || hex(randomblob(300)) FROM n`, rows)
	for range 5 {
		victim := startChild(t, "hold")
		victim.send("%s", path)
		if got := victim.receive(); got != "open" {
			t.Fatalf("child said %q, want open", got)
		}
		_, err := c.Exec(shortly(t, 50*time.Millisecond), "INSERT INTO t(v) VALUES('early')")
		if CodeOf(err) != Interrupt {
			t.Fatalf("Exec while the other process writes: %v, want a deadline: the lock was not held",
				err)
		}
		if err := victim.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = victim.cmd.Wait() // killed
		mustExec(t, c, "INSERT INTO t(v) VALUES('after')")
		mustExec(t, c, "DELETE FROM t WHERE v = 'after'")
		if got := mustOne[string](t, c, "PRAGMA integrity_check"); got != "ok" {
			t.Fatalf("integrity_check after a kill: %s, want ok", got)
		}
		if n := mustOne[int](t, c, "SELECT count(*) FROM t WHERE v LIKE 'kept %'"); n != rows {
			t.Fatalf("%d rows after a kill, want %d", n, rows)
		}
	}
}

// shortly is a context that ends after d.
func shortly(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
