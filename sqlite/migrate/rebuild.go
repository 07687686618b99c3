// SPDX-License-Identifier: MIT

package migrate

import (
	"context"
	"errors"
	"fmt"

	"m0serve.dev/sqlite"
)

// withoutForeignKeys runs fn with foreign keys off. The pragma has no effect in a transaction.
func withoutForeignKeys(ctx context.Context, c *sqlite.Conn, fn func() error) (err error) {
	on, err := sqlite.One[bool](ctx, c, "PRAGMA foreign_keys")
	if err != nil {
		return err
	}
	if !on {
		return fn()
	}
	if _, err := c.Exec(ctx, "PRAGMA foreign_keys = off"); err != nil {
		return err
	}
	defer func() {
		// Also when ctx has ended.
		if _, undo := c.Exec(context.WithoutCancel(ctx), "PRAGMA foreign_keys = on"); undo != nil {
			err = errors.Join(err, undo)
		}
	}()
	return fn()
}

// reference is one foreign key of a table.
type reference struct {
	Table  string
	Parent string
}

// broken counts the rows that refer to nothing, by foreign key.
func broken(ctx context.Context, tx *sqlite.Tx) (map[reference]int, error) {
	n := make(map[reference]int)
	const sql = `SELECT "table", parent FROM pragma_foreign_key_check`
	for ref, err := range sqlite.Query[reference](ctx, tx, sql) {
		if err != nil {
			return nil, err
		}
		n[ref]++
	}
	return n, nil
}

// checkReferences fails when there are more broken references than before.
func checkReferences(ctx context.Context, tx *sqlite.Tx, before map[reference]int) error {
	after, err := broken(ctx, tx)
	if err != nil {
		return err
	}
	for ref, n := range after {
		if n > before[ref] {
			return fmt.Errorf("%d rows of %q refer to rows of %q that are not there",
				n-before[ref], ref.Table, ref.Parent)
		}
	}
	return nil
}
