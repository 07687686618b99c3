// SPDX-License-Identifier: MIT

package sqlite_test

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"m0serve.dev/sqlite"
)

// BenchmarkChanges inserts rows in one transaction, with and without somebody who listens.
func BenchmarkChanges(b *testing.B) {
	for name, o := range map[string]sqlite.Options{
		"unheard": {},
		"heard":   {OnCommit: func(sqlite.Commit) {}, ChangesMax: benchRows},
	} {
		b.Run(name, func(b *testing.B) {
			c, err := sqlite.Open(filepath.Join(b.TempDir(), "test.db"), o)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if err := c.Script(b.Context(), benchSchema); err != nil {
				b.Fatal(err)
			}
			benchBulk(b, c)
		})
	}
}

// BenchmarkDataVersion asks whether others have written, beside the smallest query.
func BenchmarkDataVersion(b *testing.B) {
	c := benchOurs(b, 1)
	b.Run("version", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.DataVersion(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			if _, err := sqlite.One[int](b.Context(), c, "SELECT n FROM t WHERE id = 0"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBlob reads a value of 16 MiB, in pieces and at once.
func BenchmarkBlob(b *testing.B) {
	const size = 16 << 20
	c := benchOurs(b, 0)
	if err := c.Script(b.Context(), "CREATE TABLE b(v)"); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Exec(b.Context(), "INSERT INTO b VALUES(zeroblob(?))", size); err != nil {
		b.Fatal(err)
	}
	b.Run("pieces", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			blob, err := c.OpenBlob(b.Context(), sqlite.BlobRef{Table: "b", Column: "v", RowID: 1})
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, blob); n != size || err != nil {
				b.Fatal(n, err)
			}
			if err := blob.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("once", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			v, err := sqlite.One[[]byte](b.Context(), c, "SELECT v FROM b")
			if len(v) != size || err != nil {
				b.Fatal(len(v), err)
			}
		}
	})
}

// BenchmarkBackup copies a file of some MiB in both ways.
func BenchmarkBackup(b *testing.B) {
	c := benchOurs(b, 10*benchRows)
	dir, n := b.TempDir(), 0
	for name, copy := range map[string]func(to string) error{
		"Backup":     func(to string) error { return c.Backup(b.Context(), to, sqlite.CopyOptions{}) },
		"VacuumInto": func(to string) error { return c.VacuumInto(b.Context(), to) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n++
				if err := copy(filepath.Join(dir, fmt.Sprint(n))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
