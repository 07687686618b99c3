// SPDX-License-Identifier: MIT

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"m0serve.dev/sqlite"
)

// example opens a database in a directory that is gone afterwards.
func example(run func(ctx context.Context, db *sqlite.Pool) error) {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.OpenPool(filepath.Join(dir, "app.db"), sqlite.PoolOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := run(context.Background(), db); err != nil {
		log.Fatal(err)
	}
}

func Example() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		_, err := db.Exec(ctx, `CREATE TABLE todo(
			id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0) STRICT`)
		if err != nil {
			return err
		}
		err = db.Write(ctx, func(tx *sqlite.Tx) error {
			for _, title := range []string{"read", "write"} {
				if _, err := tx.Exec(ctx, "INSERT INTO todo(title) VALUES(?)", title); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		type todo struct {
			ID    int64
			Title string
			Done  bool
		}
		for item, err := range sqlite.Query[todo](ctx, db, "SELECT * FROM todo ORDER BY id") {
			if err != nil {
				return err
			}
			fmt.Println(item.ID, item.Title, item.Done)
		}
		return nil
	})
	// Output:
	// 1 read false
	// 2 write false
}

func ExampleOne() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		n, err := sqlite.One[int](ctx, db, "SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return err
		}
		_, err = sqlite.One[string](ctx, db, "SELECT NULL AS nickname")
		fmt.Println(n)
		fmt.Println(err)
		return nil
	})
	// Output:
	// 0
	// sqlite: scan column 0 "nickname": NULL into string: use *string
}

func ExampleConn_Prepare() {
	ctx := context.Background()
	c, err := sqlite.Open(":memory:", sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	s, err := c.Prepare(ctx, "SELECT upper(?)")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, word := range []string{"one", "two"} {
		s.BindText(1, word)
		if _, err := s.Step(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Text(0))
		s.Reset()
	}
	// Output:
	// ONE
	// TWO
}

func ExampleTx_Savepoint() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		if _, err := db.Exec(ctx, "CREATE TABLE tag(name TEXT UNIQUE)"); err != nil {
			return err
		}
		return db.Write(ctx, func(tx *sqlite.Tx) error {
			for _, name := range []string{"a", "b", "a"} {
				err := tx.Savepoint(ctx, func() error {
					_, err := tx.Exec(ctx, "INSERT INTO tag VALUES(?)", name)
					return err
				})
				fmt.Println(name, sqlite.IsConstraint(err))
			}
			return nil
		})
	})
	// Output:
	// a false
	// b false
	// a true
}

func ExampleUnixMilli() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		type row struct {
			At   sqlite.UnixMilli
			Text sqlite.RFC3339
		}
		r, err := sqlite.One[row](ctx, db, "SELECT ? AS at, ? AS text",
			sqlite.UnixMilli{Time: noon}, sqlite.RFC3339{Time: noon})
		if err != nil {
			return err
		}
		fmt.Println(r.At.Equal(noon), r.Text.Equal(noon))
		return nil
	})
	// Output:
	// true true
}

// A large value is written and read in pieces. Its size is fixed when the row is made.
func ExampleBlobHandle() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		_, err := db.Exec(ctx, "CREATE TABLE file(id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
		if err != nil {
			return err
		}
		body := strings.NewReader("as long as one likes")
		err = db.Write(ctx, func(tx *sqlite.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO file VALUES(7, zeroblob(?))", body.Size())
			if err != nil {
				return err
			}
			ref := sqlite.BlobRef{Table: "file", Column: "data", RowID: 7, Write: true}
			blob, err := tx.OpenBlob(ctx, ref)
			if err != nil {
				return err
			}
			_, err = io.Copy(blob, body)
			return errors.Join(err, blob.Close())
		})
		if err != nil {
			return err
		}
		return db.WithReader(ctx, func(c *sqlite.Conn) error {
			blob, err := c.OpenBlob(ctx, sqlite.BlobRef{Table: "file", Column: "data", RowID: 7})
			if err != nil {
				return err
			}
			_, err = io.Copy(os.Stdout, io.NewSectionReader(blob, 3, 4))
			return errors.Join(err, blob.Close())
		})
	})
	// Output: long
}

// A backup while the program goes on. It runs on a reader, so that no writer waits for it.
func ExampleConn_Backup() {
	example(func(ctx context.Context, db *sqlite.Pool) error {
		if _, err := db.Exec(ctx, "CREATE TABLE t(v)"); err != nil {
			return err
		}
		return db.WithReader(ctx, func(c *sqlite.Conn) error {
			return c.Backup(ctx, c.Path()+".backup", sqlite.CopyOptions{
				Pause:    time.Millisecond, // for the sake of others
				Progress: func(done, total int) { fmt.Println(done, "of", total, "pages") },
			})
		})
	})
	// Output: 2 of 2 pages
}

// What was committed, behind its commit: to tell pages, or to drop what a cache holds.
func ExampleCommit() {
	tell := func(k sqlite.Commit) {
		for _, change := range k.Changes {
			fmt.Println(change.Table, change.Kind, change.RowID)
		}
	}
	c, err := sqlite.Open(":memory:", sqlite.Options{OnCommit: tell})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = c.Script(context.Background(), `
		CREATE TABLE todo(id INTEGER PRIMARY KEY, title);
		INSERT INTO todo VALUES(1, 'read'), (2, 'write');
		BEGIN; DELETE FROM todo; ROLLBACK;
		DELETE FROM todo WHERE id = 1`)
	if err != nil {
		log.Println(err)
	}
	// Output:
	// todo inserted 1
	// todo inserted 2
	// todo deleted 1
}
