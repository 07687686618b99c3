// SPDX-License-Identifier: MIT

package main

import (
	"cmp"

	"m0serve.dev/apps/internal/examine"
	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

// databaseOf is the file that M0_DB names.
func databaseOf(c *config.App) string { return cmp.Or(c.DB, "todo.db") }

// doctor is the application's part of --doctor.
func doctor(c *config.App, r *diagnosis.Report) {
	examine.Database(r, databaseOf(c))
	examine.Client(r, c.DatastarJS)
}
