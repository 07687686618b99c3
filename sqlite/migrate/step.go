// SPDX-License-Identifier: MIT

package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"m0serve.dev/sqlite"
)

// Step is one change of the schema. It has either SQL or Func.
type Step struct {
	Name    string // recorded; never changed again
	SQL     string // one or more statements; recorded as a checksum
	Rebuild bool   // foreign keys are off while it runs, and checked behind it

	// Func may run several times like that of Conn.Write, and changes nothing but the database. Its
	// code is not recorded: what it did must stay true.
	Func func(ctx context.Context, tx *sqlite.Tx) error
}

// FS makes steps of the files that match the pattern (path.Match), in the order of their base
// names: 001_start.sql, 002_users.sql. The base name is the step's name.
func FS(files fs.FS, pattern string) ([]Step, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, fmt.Errorf("migrate: pattern %q: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("migrate: no file matches %q", pattern)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(path.Base(a), path.Base(b))
	})
	steps := make([]Step, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("migrate: %w", err)
		}
		step := Step{Name: path.Base(name), SQL: string(text)}
		if step.Rebuild, err = firstLine(step.SQL); err != nil {
			return nil, fmt.Errorf("migrate: %q: %w", name, err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// firstLine reads what a file says about itself.
func firstLine(sql string) (rebuild bool, err error) {
	line, _, _ := strings.Cut(sql, "\n")
	word, ok := strings.CutPrefix(strings.TrimSpace(line), "-- migrate:")
	switch word = strings.TrimSpace(word); {
	case !ok:
		return false, nil
	case word == "rebuild":
		return true, nil
	}
	return false, fmt.Errorf(`%q in its first line is not "rebuild"`, word)
}

// foreignKeys finds what does nothing, and says nothing, inside a transaction.
var foreignKeys = regexp.MustCompile(`(?i)\bpragma\s+(\w+\s*\.\s*)?foreign_keys\s*[=(]`)

// check refuses steps that cannot be right, before anything runs.
func check(steps []Step) error {
	seen := make(map[string]bool, len(steps))
	for i, s := range steps {
		switch {
		case s.Name == "":
			return fmt.Errorf("migrate: step %d has no name", i+1)
		case seen[s.Name]:
			return fmt.Errorf("migrate: two steps are called %q", s.Name)
		case (s.SQL == "") == (s.Func == nil):
			return fmt.Errorf("migrate: step %q has to have either SQL or Func", s.Name)
		case foreignKeys.MatchString(withoutComments(s.SQL)):
			return fmt.Errorf("migrate: step %q: PRAGMA foreign_keys does nothing inside a "+
				"transaction; set Rebuild, or begin the file with \"-- migrate: rebuild\"", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// withoutComments cuts each line at its first "--".
func withoutComments(sql string) string {
	var b strings.Builder
	for line := range strings.Lines(sql) {
		code, _, _ := strings.Cut(line, "--")
		b.WriteString(code + "\n")
	}
	return b.String()
}

// sum identifies the text of a step, however its lines end. That of a function is empty.
func (s Step) sum() string {
	if s.Func != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.ReplaceAll(s.SQL, "\r\n", "\n")))
	return hex.EncodeToString(sum[:])
}
