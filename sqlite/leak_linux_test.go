// SPDX-License-Identifier: MIT

package sqlite

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
)

// residentKB is the memory of this process, after a collection.
func residentKB(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(data)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() / 1024
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	return len(entries)
}

// TestLeak opens and closes many connections, with statements, blobs, large values, errors and open
// transactions left behind, and copies; it looks at memory and files.
func TestLeak(t *testing.T) {
	path := tempFile(t)
	keep := open(t, path, Options{})
	mustExec(t, keep, "CREATE TABLE t(v)")
	mustExec(t, keep, "INSERT INTO t VALUES(zeroblob(100000))")
	round := func() {
		c, err := Open(path, Options{OnCommit: func(Commit) {}})
		if err != nil {
			t.Fatal(err)
		}
		s := prepare(t, c, "SELECT ?, value FROM json_each('[1,2,3]')") // never closed
		s.BindBlob(1, make([]byte, 100_000))
		mustStep(t, s, true)
		tx, err := c.Begin(t.Context(), Immediate)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(zeroblob(50000))")
		b, err := tx.OpenBlob(t.Context(), BlobRef{Table: "t", Column: "v", RowID: 1, Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Write(make([]byte, 100_000)); err != nil { // never closed
			t.Fatal(err)
		}
		mem, err := Open(memoryPath, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := keep.CopyTo(t.Context(), mem, CopyOptions{Pages: 1}); err != nil {
			t.Fatal(err)
		}
		if err := mem.Close(); err != nil {
			t.Fatalf("Close of a copy: %v", err)
		}
		if _, err := c.Prepare(t.Context(), "SELECT nope"); err == nil {
			t.Error("no error for an unknown column")
		}
		if _, err := Open("/nowhere/at/all", Options{}); err == nil {
			t.Error("no error for an unknown directory")
		}
		if err := c.Close(); err != nil {
			t.Fatalf("Close: %v: a statement was not finalized", err)
		}
	}
	for range 30 {
		round()
	}
	files, memory := openFiles(t), residentKB(t)
	const rounds, allowKB = 100, 4 << 10
	for range rounds {
		round()
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files open after %d opens, %d before", n, rounds, files)
	}
	if kb := residentKB(t); kb > memory+allowKB {
		t.Errorf("%d KiB resident after %d opens, %d before", kb, rounds, memory)
	} else {
		t.Logf("%d KiB after %d opens, %d before", kb, rounds, memory)
	}
}
