// SPDX-License-Identifier: MIT

package migrate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"m0serve.dev/sqlite"
	"m0serve.dev/sqlite/migrate"
)

// Each process of a program does this when it starts.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.OpenPool(filepath.Join(dir, "app.db"), sqlite.PoolOptions{})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	steps, err := migrate.FS(schema, "testdata/schema/*.sql") // //go:embed testdata/schema/*.sql
	if err != nil {
		panic(err)
	}
	err = db.WithWriter(ctx, func(c *sqlite.Conn) error {
		_, err := migrate.Run(ctx, c, migrate.Config{
			Steps: steps,
			Done:  func(name string, _ time.Duration) { fmt.Println("ran", name) },
		})
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// ran 001_todo.sql
	// ran 002_first.sql
	// ran 010_unique.sql
}
