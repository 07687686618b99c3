// SPDX-License-Identifier: MIT

package migrate_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/sqlite"
	"m0serve.dev/sqlite/migrate"
)

// childEnv makes a test binary the other process: it migrates each file it is told.
const childEnv = "M0_MIGRATE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(runChild(lines.Text()))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childSteps are many; each shows when it has run twice. When there is tell, it is told each step
// that has made its changes, before they are committed; the step hold then goes on no more.
func childSteps(tell io.Writer, hold int) []migrate.Step {
	steps := []migrate.Step{step("0", "CREATE TABLE log(step INTEGER PRIMARY KEY, n INTEGER)")}
	for i := 1; i <= 8; i++ {
		steps = append(steps, migrate.Step{Name: fmt.Sprint(i), Rebuild: i%3 == 0, Func: func(
			ctx context.Context, tx *sqlite.Tx,
		) error {
			err := tx.Script(ctx, fmt.Sprintf("CREATE TABLE t%d(v); INSERT INTO t%d VALUES(1)", i, i))
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "INSERT INTO log VALUES(?, (SELECT count(*) FROM log))", i)
			if tell != nil {
				fmt.Fprintln(tell, i)
			}
			if i == hold {
				select {}
			}
			return err
		}})
	}
	return steps
}

// runChild migrates: "path moment", or "path -step" to tell of each and hold at one.
func runChild(line string) string {
	var path string
	var at int64
	if _, err := fmt.Sscan(line, &path, &at); err != nil {
		return err.Error()
	}
	var tell io.Writer
	if at <= 0 {
		tell = os.Stdout
	}
	for time.Now().UnixNano() < at {
	}
	c, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	n, err := migrate.Run(context.Background(), c, migrate.Config{Steps: childSteps(tell, int(-at))})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint("ok ", n)
}

// child is the other process.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // this child only; it may have ended already
		_ = cmd.Wait()
	})
	return &child{cmd, in, bufio.NewScanner(out)}
}

// TestTwoProcesses migrate one fresh file at the same moment, 50 times: both succeed, and together
// they have run each step once.
func TestTwoProcesses(t *testing.T) {
	one, two := startChild(t), startChild(t)
	dir := t.TempDir()
	all := len(childSteps(nil, 0))
	shared := 0
	for round := range 50 {
		path := filepath.Join(dir, fmt.Sprint(round, ".db"))
		at := time.Now().Add(3 * time.Millisecond).UnixNano()
		for _, c := range []*child{one, two} {
			if _, err := fmt.Fprintln(c.in, path, at); err != nil {
				t.Fatal(err)
			}
		}
		var counts [2]int
		for i, c := range []*child{one, two} {
			c.out.Scan()
			if _, err := fmt.Sscanf(c.out.Text(), "ok %d", &counts[i]); err != nil {
				t.Fatalf("round %d: Run in process %d: %q, want ok", round, i, c.out.Text())
			}
		}
		if counts[0]+counts[1] != all {
			t.Fatalf("round %d: the processes ran %d and %d of %d steps", round, counts[0], counts[1], all)
		}
		if counts[0] > 0 && counts[1] > 0 {
			shared++
		}
		wantWhole(t, path, all)
	}
	t.Logf("in %d of 50 rounds both ran steps", shared)
}

// wantWhole fails unless exactly n steps have run, whole and in order.
func wantWhole(t *testing.T, path string, n int) {
	t.Helper()
	c := open(t, path, sqlite.Options{})
	if got := one[string](t, c, "PRAGMA integrity_check"); got != "ok" {
		t.Fatalf("integrity_check: %s", got)
	}
	if got := one[int](t, c, "SELECT count(*) FROM m0_migrations"); got != n {
		t.Fatalf("%d steps are recorded, want %d", got, n)
	}
	if n == 0 {
		return
	}
	if got := one[int](t, c, "SELECT count(*) FROM log WHERE n = step - 1"); got != n-1 {
		t.Fatalf("%d steps ran once and in order, want %d", got, n-1)
	}
	tables := one[int](t, c, "SELECT count(*) FROM sqlite_schema WHERE name GLOB 't[0-9]*'")
	if tables != n-1 {
		t.Fatalf("%d tables of steps, want %d", tables, n-1)
	}
}

// TestKilled kills a process inside each of its steps in turn, once when it holds there and once as
// it runs on: what is recorded is whole, what is not is not there, and another process goes on.
func TestKilled(t *testing.T) {
	all := len(childSteps(nil, 0))
	for at := 1; at < all; at++ {
		for _, hold := range []int{at, 0} {
			path := filepath.Join(t.TempDir(), "test.db")
			victim := startChild(t)
			if _, err := fmt.Fprintln(victim.in, path, -hold); err != nil {
				t.Fatal(err)
			}
			for victim.out.Scan() && victim.out.Text() != fmt.Sprint(at) {
				if _, err := strconv.Atoi(victim.out.Text()); err != nil {
					t.Fatalf("the process said %q before step %d", victim.out.Text(), at)
				}
			}
			if err := victim.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = victim.cmd.Wait() // killed
			c := open(t, path, sqlite.Options{})
			n := one[int](t, c, "SELECT count(*) FROM m0_migrations")
			if n < at || hold > 0 && n != at {
				t.Fatalf("%d steps are recorded after a kill in step %d, hold %d", n, at+1, hold)
			}
			wantWhole(t, path, n)
			wantRun(t, c, all-n, childSteps(nil, 0)...)
			wantWhole(t, path, all)
		}
	}
}

// TestFuncSeesItsContext: a step ends with the context of Run.
func TestFuncSeesItsContext(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := migrate.Run(ctx, c, migrate.Config{Steps: []migrate.Step{
		{Name: "a", Rebuild: true, Func: func(ctx context.Context, tx *sqlite.Tx) error {
			cancel()
			_, err := tx.Exec(ctx, "CREATE TABLE a(v)")
			return err
		}},
	}})
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("Run: %v, want context.Canceled", err)
	}
	if !one[bool](t, c, "PRAGMA foreign_keys") {
		t.Error("foreign keys stay off after a rebuild that was cancelled")
	}
}
