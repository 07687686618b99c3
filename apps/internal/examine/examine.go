// SPDX-License-Identifier: MIT

// Package examine is what the applications have to say to --doctor: each function
// looks at one thing that a start would trip over, and makes nothing.
package examine

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"m0serve.dev/apps/internal/client"
	"m0serve.dev/http/config/diagnosis"
)

// Database looks at the SQLite file that --db or M0_DB names, and does not open it
// as a database.
func Database(r *diagnosis.Report, path string) {
	const section, label = "Database", "file"
	problem := func(text, cure string) { r.Add(section, diagnosis.Problem, label, text, cure) }
	dir := filepath.Dir(path)
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		problem(path+" is no file", "name another with --db")
	case err == nil:
		if why := notSQLite(path); why != "" {
			problem(path+" "+why, "name another with --db")
			return
		}
		r.Add(section, diagnosis.Good, label, path, "")
	case !isDirectory(dir):
		problem(path+" is in a directory that does not exist", "make it: mkdir -p "+dir)
	default:
		r.Add(section, diagnosis.Note, label, path+" will be made", "")
	}
}

// notSQLite says why a file is no database; an empty one becomes one.
func notSQLite(path string) string {
	magic := []byte("SQLite format 3\x00")
	f, err := os.Open(path)
	if err != nil {
		return "cannot be read"
	}
	defer f.Close()
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if n == 0 && err == io.EOF || bytes.Equal(head, magic) {
		return ""
	}
	return "is not an SQLite database"
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Client looks at the Datastar client that --datastar-js or M0_DATASTAR_JS names.
func Client(r *diagnosis.Report, setting string) {
	const section, label = "Page", "datastar client"
	switch _, err := client.New(setting); {
	case err != nil:
		r.Add(section, diagnosis.Problem, label, setting+" is neither a URL nor a file that can be read",
			"name another with --datastar-js, or unset it to use the pinned release")
	case setting == "":
		r.Add(section, diagnosis.Note, label, "the pinned release, from a content network", "")
	default:
		r.Add(section, diagnosis.Good, label, setting, "")
	}
}
