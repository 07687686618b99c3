// SPDX-License-Identifier: MIT

// Package spec reads what a module promises: the rows of its SPEC.md, the tests
// that hold each row and the sabotages that prove the tests; and it holds the
// rules that tie the three together.
//
// SPEC.md has tables with exactly the columns id, promise, test and sabotage. A
// test is "folder Name" below the module, a sabotage the id of a file in
// testdata/sabotage; both are in backquotes, several separated by commas.
package spec

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"

	"m0serve.dev/tools/internal/tree"
)

// Row is one promise of a module.
type Row struct {
	ID        string
	Line      int // in SPEC.md
	Promise   string
	Tests     []Test
	Sabotages []string // ids
}

// Test names a test function of a module.
type Test struct {
	Dir  string // below the top: "http/wire"
	Name string // "TestX", "FuzzX", "ExampleX" or "TestX/sub"
}

// header is the head of the tables that are read; other tables are text.
var header = []string{"id", "promise", "test", "sabotage"}

// LoadRows reads the rows of the module in folder module. A SPEC.md that is
// missing gives none; the layout rules report that.
func LoadRows(t *tree.Tree, module string) ([]Row, []error) {
	text, err := os.ReadFile(t.Abs(path.Join(module, "SPEC.md")))
	if err != nil {
		return nil, nil
	}
	return parseRows(module, string(text))
}

func parseRows(module, text string) ([]Row, []error) {
	var rows []Row
	var bad []error
	inside := false
	for i, line := range strings.Split(text, "\n") {
		cells := splitCells(line)
		switch {
		case cells == nil:
			inside = false
		case equal(cells, header):
			inside = true
		case inside && strings.Trim(strings.Join(cells, ""), "-: ") != "":
			row, err := parseRow(module, cells)
			if err != nil {
				bad = append(bad, fmt.Errorf("%s/SPEC.md:%d: %w", module, i+1, err))
				continue
			}
			row.Line = i + 1
			rows = append(rows, row)
		}
	}
	return rows, bad
}

// splitCells returns the trimmed cells of a table line, nil for other lines. A
// bar may be escaped, and one inside of backquotes belongs to the code.
func splitCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || len(line) < 2 || !strings.HasSuffix(line, "|") {
		return nil
	}
	var cells []string
	code, from := false, 1
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case line[i] == '`':
			code = !code
		case line[i] == '|' && !code:
			cells = append(cells, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	return cells
}

var (
	rowID  = regexp.MustCompile(`^[A-Z]\d*[a-z]?(\.[a-z0-9-]+)*$`)
	quoted = regexp.MustCompile("`([^`]*)`")
)

func parseRow(module string, cells []string) (Row, error) {
	if len(cells) != len(header) {
		return Row{}, fmt.Errorf("%d columns, want id, promise, test, sabotage", len(cells))
	}
	row := Row{ID: cells[0], Promise: cells[1]}
	if !rowID.MatchString(row.ID) {
		return Row{}, fmt.Errorf("id %q is not a contract row like H7 or H7.overflow", row.ID)
	}
	if row.Promise == "" {
		return Row{}, fmt.Errorf("row %s promises nothing", row.ID)
	}
	for _, q := range quoted.FindAllStringSubmatch(cells[2], -1) {
		dir, name, ok := strings.Cut(q[1], " ")
		if !ok {
			return Row{}, fmt.Errorf("row %s: test `%s` is not \"./folder Name\"", row.ID, q[1])
		}
		row.Tests = append(row.Tests, Test{Dir: path.Join(module, dir), Name: name})
	}
	for _, q := range quoted.FindAllStringSubmatch(cells[3], -1) {
		row.Sabotages = append(row.Sabotages, q[1])
	}
	return row, nil
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
