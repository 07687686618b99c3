// SPDX-License-Identifier: MIT

// Package migrate brings the schema of a database to the version a program needs, when several
// processes start at once and when one is killed in between.
//
// # Model
//
// A schema is a list of steps that only ever grows at its end. The table m0_migrations in the
// database holds which of them have run, by name and checksum. Run looks what is missing and runs
// each step in a transaction of its own that takes the write lock first, looks again under the
// lock, and records the step with its changes: every step runs once, whole or not at all, whichever
// process gets there first. Where nothing is missing Run only reads.
//
// A recorded step that the list has no longer, has elsewhere or with other text is an error, and so
// is a database with more steps than the list. Nothing has been changed then.
//
// # Steps
//
// A step is SQL text, or a Go function, which gets the transaction. FS makes steps of files, in the
// order of their names:
//
//	//go:embed schema/*.sql
//	var schema embed.FS
//
//	steps, err := migrate.FS(schema, "schema/*.sql")
//
// A step that makes a table anew (what ALTER TABLE cannot do) drops the old table, and that deletes
// the rows that refer to it. Such a step sets Rebuild, a file says so in its first line:
//
//	-- migrate: rebuild
//
// Foreign keys are then off for the step, and every reference is checked before it is committed, as
// https://www.sqlite.org/lang_altertable.html#otheralter has it.
//
// # What it does not do
//
// It has no way back: a step that undoes another is a further step. Text is not a template. VACUUM
// and PRAGMA journal_mode cannot run in a transaction, and so not in a step.
package migrate
