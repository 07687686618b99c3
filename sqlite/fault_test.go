// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"m0serve.dev/sqlite/internal/engine"
)

// faults are what each call of the system can answer.
var faults = map[engine.FaultCall][]int32{
	engine.FaultOpen:     {engine.FaultCantOpen, engine.FaultNoMem},
	engine.FaultDelete:   {engine.FaultIODelete},
	engine.FaultRead:     {engine.FaultIORead},
	engine.FaultWrite:    {engine.FaultIOWrite, engine.FaultFull, engine.FaultTorn},
	engine.FaultTruncate: {engine.FaultIOTrunc},
	engine.FaultSync:     {engine.FaultIOSync},
}

// A faultRun is one life of a database of which the n-th call fails: alone, or with
// every one that comes after it, as at the end of a process.
type faultRun struct {
	path      string
	journal   Journal
	n, choice int
	last      bool // nothing works behind the failure

	calls  int
	hit    engine.FaultCall // "": no call was the n-th
	more   bool             // it can fail in further ways
	healed bool
	failed int   // operations that said so
	sure   []int // pairs of rows whose commit was acknowledged
	tried  []int
}

func (r *faultRun) before(call engine.FaultCall) int32 {
	if r.healed {
		return engine.OK
	}
	r.calls++
	answers := faults[call]
	if r.calls == r.n {
		r.hit, r.more = call, r.choice+1 < len(answers)
		return answers[r.choice]
	}
	if r.last && r.hit != "" {
		return answers[0]
	}
	return engine.OK
}

// note counts an operation that failed, which is the typed error of this package.
func (r *faultRun) note(t *testing.T, what string, err error) bool {
	t.Helper()
	if err == nil {
		return true
	}
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("%s: %v (%T), want an *Error", what, err, err)
	}
	r.failed++
	return false
}

// write commits a pair of rows, so that half of it would show.
func (r *faultRun) write(t *testing.T, c *Conn, pair int) bool {
	t.Helper()
	r.tried = append(r.tried, pair)
	err := c.Write(t.Context(), func(tx *Tx) error {
		for half := range 2 {
			_, err := tx.Exec(t.Context(), "INSERT INTO t(id, v) VALUES(?, zeroblob(2500))", 2*pair+half)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		r.sure = append(r.sure, pair)
	}
	return r.note(t, "Write", err)
}

// live opens, writes, moves the WAL and changes what is there. What fails is not done again.
func (r *faultRun) live(t *testing.T) {
	c, err := Open(r.path, Options{Journal: r.journal, CacheKB: 20})
	if err != nil {
		r.failed++
		return
	}
	_, err = Exec(t.Context(), c, "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v BLOB)")
	if r.note(t, "CREATE", err) {
		for pair := range 2 {
			r.write(t, c, pair)
		}
		_, err = c.Checkpoint(t.Context(), CheckpointTruncate)
		r.note(t, "Checkpoint", err)
		_, err = Exec(t.Context(), c, "UPDATE t SET v = zeroblob(3000)")
		r.note(t, "UPDATE", err)
		r.write(t, c, 2)
	}
	if c.InTx() {
		t.Error("a transaction is open behind a failure")
	}
	r.healed = true
	if !r.last && err == nil && r.hit != "" && !r.write(t, c, 3) {
		t.Error("the connection does not go on behind a failure that is over")
	}
	if err := c.Close(); err != nil && r.hit == "" {
		t.Errorf("Close: %v", err)
	}
}

// check opens the file again: it is whole, no committed row is missing, no pair is half.
func (r *faultRun) check(t *testing.T) {
	c, err := Open(r.path, Options{Journal: r.journal})
	if err != nil {
		t.Errorf("Open behind the failure: %v", err)
		return
	}
	if got := mustOne[string](t, c, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check: %s, want ok", got)
	}
	tables := mustOne[int](t, c, "SELECT count(*) FROM sqlite_schema WHERE name = 't'")
	for _, pair := range r.tried {
		n := mustOne[int](t, c, fmt.Sprintf("SELECT count(*) FROM t WHERE id/2 = %d", pair))
		if n != 2 && (n != 0 || slices.Contains(r.sure, pair)) {
			t.Errorf("%d rows of pair %d; committed %v", n, pair, r.sure)
		}
	}
	if tables == 0 && len(r.sure) > 0 {
		t.Errorf("the table is gone; committed %v", r.sure)
	}
	if r.last && r.hit != "" && r.hit != engine.FaultDelete && r.failed == 0 && len(r.sure) < 3 {
		t.Errorf("nothing was said, and only %v is committed", r.sure)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestFailAtEveryCall lets the n-th call of SQLite to the system fail, for every n
// and in every way, alone and for good: no file is damaged, nothing that was
// committed is lost, and every failure is an error.
func TestFailAtEveryCall(t *testing.T) {
	seen := map[engine.FaultCall]bool{}
	for _, journal := range []Journal{WAL, Delete} {
		t.Run(string(journal), func(t *testing.T) {
			for _, last := range []bool{false, true} {
				failAtEveryCall(t, journal, last, seen)
			}
		})
	}
	for call := range faults {
		if !seen[call] && !t.Failed() && !testing.Short() {
			t.Errorf("%s never failed: SQLite was not seen to do that", call)
		}
	}
}

func failAtEveryCall(t *testing.T, journal Journal, last bool, seen map[engine.FaultCall]bool) {
	dir, runs, failed := t.TempDir(), 0, 0
	step := 1
	if testing.Short() {
		step = 9
	}
	for n := 1; ; n += step {
		hit := engine.FaultCall("")
		for choice, more := 0, true; more; choice++ {
			r := &faultRun{journal: journal, n: n, choice: choice, last: last}
			r.path = filepath.Join(dir, fmt.Sprintf("%d-%d.db", n, choice))
			remove := engine.InstallFaults(r.before)
			r.live(t)
			r.healed = true
			r.check(t)
			remove()
			hit, more = r.hit, r.more
			seen[hit] = true
			runs++
			failed += r.failed
			if t.Failed() {
				t.Fatalf("call %d (%s), answer %d, for good %v; tried %v", n, hit, choice, last, r.tried)
			}
		}
		if hit == "" {
			break
		}
	}
	if failed < runs/3 {
		t.Errorf("%d operations failed in %d runs: the faults do not arrive", failed, runs)
	}
	t.Logf("%d runs, for good %v: %d operations failed", runs, last, failed)
}
