// SPDX-License-Identifier: MIT

package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the other driver of the same engine
)

// FuzzValues stores a row with this package and reads it with database/sql, and the other way
// round.
func FuzzValues(f *testing.F) {
	f.Add("", []byte{}, int64(0), 0.0)
	f.Add("a\x00b", []byte("\x00\xff"), int64(math.MinInt64), math.Inf(-1))
	f.Add("\xff\xfe é 日本", bytes.Repeat([]byte{7}, 300), int64(math.MaxInt64), 1e-320)
	f.Add("'); DROP TABLE t; --", []byte(nil), int64(1<<53+1), math.MaxFloat64)
	path := filepath.Join(f.TempDir(), "fuzz.db")
	ours := open(f, path, Options{Sync: SyncOff})
	mustExec(f, ours,
		"CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT, b BLOB, n INTEGER, x REAL) STRICT")
	theirs, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = theirs.Close() })
	f.Fuzz(func(t *testing.T, s string, b []byte, n int64, x float64) {
		if math.IsNaN(x) {
			t.Skip("refused: TestBindRefuses")
		}
		want := values{s, b, n, x}
		const insert = "INSERT OR REPLACE INTO t VALUES(1, ?, ?, ?, ?)"
		mustExec(t, ours, insert, s, b, n, x)
		var (
			got  values
			null bool
		)
		const read = "SELECT s, b, n, x, b IS NULL FROM t"
		err := theirs.QueryRow(read).Scan(&got.S, &got.B, &got.N, &got.X, &null)
		if got.B == nil && !null {
			got.B = []byte{} // database/sql gives nil for an empty blob
		}
		if err != nil || !got.equal(want) {
			t.Errorf("theirs read %+v, %v of ours %+v", got, err, want)
		}
		if _, err := theirs.Exec(insert, s, b, n, x); err != nil {
			t.Fatal(err)
		}
		if got := mustOne[values](t, ours, "SELECT s, b, n, x FROM t"); !got.equal(want) {
			t.Errorf("ours read %+v of theirs %+v", got, want)
		}
	})
}

type values struct {
	S string
	B []byte
	N int64
	X float64
}

// equal tells nil from empty; SQLite keeps no sign of zero.
func (v values) equal(w values) bool {
	return v.S == w.S && bytes.Equal(v.B, w.B) && (v.B == nil) == (w.B == nil) &&
		v.N == w.N && v.X == w.X
}

// FuzzPrepare gives any text to the parser: an error or a statement, never a panic, and nothing is
// left.
func FuzzPrepare(f *testing.F) {
	for _, s := range []string{
		"SELECT 1", "SELECT ?1, :a", "", ";", "SELECT 'é", "BEGIN;;", "\x00", "/*",
	} {
		f.Add(s)
	}
	c := open(f, memoryPath, Options{Statements: -1})
	live := c.db.Statements()
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := c.Prepare(t.Context(), text); err == nil {
			for i := range s.Columns() {
				_ = s.ColumnName(i)
			}
			s.Close()
		} else {
			_ = fmt.Sprint(err)
		}
		if n := c.db.Statements(); n != live {
			t.Errorf("Prepare(%q) left %d statements", text, n-live)
		}
	})
}
