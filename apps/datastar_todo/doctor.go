// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"os"
	"path/filepath"

	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

// databaseOf is the file that M0_DB names.
func databaseOf(c *config.App) string { return cmp.Or(c.DB, "todo.db") }

// examine is the application's part of --doctor: it looks at the database and does
// not open it.
func examine(c *config.App, r *diagnosis.Report) {
	const section, label = "Database", "file"
	path := databaseOf(c)
	dir := filepath.Dir(path)
	switch info, err := os.Stat(path); {
	case err == nil && info.Mode().IsRegular():
		r.Add(section, diagnosis.Good, label, path, "")
	case err == nil:
		r.Add(section, diagnosis.Problem, label, path+" is no file", "name another with --db")
	case !isDirectory(dir):
		r.Add(section, diagnosis.Problem, label, path+" is in a directory that does not exist",
			"make it: mkdir -p "+dir)
	default:
		r.Add(section, diagnosis.Note, label, path+" will be made", "")
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
