// SPDX-License-Identifier: MIT

package spec

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/ruletest"
)

const tableHead = "# Spec\n\n| id | promise | test | sabotage |\n|---|---|---|---|\n"

const sabotageHead = "row: C1\nfile: a/a.go\ngate: go test -short ./a -run '^TestA$'\nwant: a: x\n"

const sabotageText = sabotageHead + "-- old --\n\treturn 1\n-- new --\n\treturn 2\n"

// good is a module whose row, test and sabotage fit.
func good() map[string]string {
	return map[string]string{
		"core/SPEC.md":                   tableHead + "| C1 | it holds | `./a TestA` | `one` |\n",
		"core/a/a.go":                    "package a\n\nfunc A() int {\n\treturn 1\n}\n",
		"core/a/a_test.go":               "package a\n\nfunc TestA(t *T) { t.Run(\"big end\", nil) }\n",
		"core/testdata/sabotage/one.txt": sabotageText,
	}
}

func TestRules(t *testing.T) {
	type files = map[string]string
	row := func(cells string) files { return files{"core/SPEC.md": tableHead + cells} }
	one := func(old, new string) files {
		return files{"core/testdata/sabotage/one.txt": strings.Replace(sabotageText, old, new, 1)}
	}
	const spec, file = "core/SPEC.md:5 ", "core/testdata/sabotage/one.txt "
	unnamed := file + "row C1 in core/SPEC.md does not name"
	tests := []struct {
		name   string
		rule   int
		change files
		want   []string
	}{
		{"rows good", 0, nil, nil},
		{"tests good", 1, nil, nil},
		{"sabotage good", 2, nil, nil},
		{"bad id", 0, row("| X | p | `./a TestA` | `one` |\n| c | p | | |\n"),
			[]string{"core/SPEC.md:6 not a contract row"}},
		{"columns", 0, row("| C1 | p | `./a TestA` |\n"), []string{spec + "3 columns"}},
		{"no promise", 0, row("| C1 | | `./a TestA` | `one` |\n"), []string{spec + "nothing"}},
		{"no test", 0, row("| C1 | p | | `one` |\n"), []string{spec + "no test"}},
		{"bad test", 0, row("| C1 | p | `TestA` | `one` |\n"), []string{spec + "not \"./folder Name\""}},
		{"no sabotage", 0, row("| C1 | p | `./a TestA` | |\n"), []string{spec + "no sabotage"}},
		{"twice", 0, row("| C1 | p | `./a TestA` | `one` |\n| C1 | q | `./a TestA` | `one` |\n"),
			[]string{"core/SPEC.md:6 twice"}},
		{"other tables are text", 0, files{"core/SPEC.md": "| a | b |\n|---|---|\n| 1 | 2 |\n"}, nil},
		{"no such test", 1, row("| C1 | p | `./a TestB` | `one` |\n"),
			[]string{spec + "no function TestB"}},
		{"no such folder", 1, row("| C1 | p | `./b TestA` | `one` |\n"), []string{spec + "no package"}},
		{"no kind of test", 1, row("| C1 | p | `./a A` | `one` |\n"), []string{spec + "not a Test"}},
		{"subtest", 1, row("| C1 | p | `./a TestA/big_end` | `one` |\n"), nil},
		{"no such subtest", 1, row("| C1 | p | `./a TestA/small_end` | `one` |\n"),
			[]string{spec + "small_end"}},
		{"no such sabotage", 2, row("| C1 | p | `./a TestA` | `one`, `two` |\n"),
			[]string{spec + "two.txt"}},
		{"unnamed", 2, row("| C1 | p | `./a TestA` | |\n"), []string{unnamed}},
		{"named by another row", 2, row("| C2 | p | `./a TestA` | `one` |\n"), []string{unnamed}},
		{"missing field", 2, one("row: C1\n", ""), []string{file + "row is missing"}},
		{"word of any failure", 2, one("want: a: x", "want: FAIL"),
			[]string{file + `want: "FAIL" is what any failure prints`}},
		{"unknown field", 2, one("row: C1\n", "row: C1\nwho: me\n"),
			[]string{file + "who: me"}},
		{"no old", 2, one("-- old --", "--"), []string{file + "-- old --"}},
		{"no new", 2, one("-- new --", "--"), []string{file + "-- new --"}},
		{"no change", 2, one("\treturn 2", "\treturn 1"), []string{file + "the same"}},
		{"file gone", 2, one("a/a.go", "a/b.go"), []string{file + "core/a/b.go cannot be read"}},
		{"stale", 2, one("\treturn 1\n", "\treturn 3\n"), []string{file + "occurs 0 times"}},
		{"twice in the file", 2, files{"core/a/a.go": "package a\n\treturn 1\n\treturn 1\n"},
			[]string{file + "occurs 2 times"}},
		{"gate is no go command", 2, one("gate: go", "gate: make"), []string{file + "not a go command"}},
		{"gate of another test", 2, one("^TestA$", "^TestB$"), []string{file + "runs no test of row C1"}},
		{"gate of another package", 2, one("./a -run", "./b -run"), []string{file + "runs no test of"}},
		{"gate with an open quote", 2, one("TestA$'", "TestA$"), []string{file + "open quote"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := good()
			maps.Copy(files, tt.change)
			ruletest.Want(t, Rules[tt.rule], ruletest.Fixture(t, files), tt.want...)
		})
	}
	if len(Rules) != 3 {
		t.Errorf("len(Rules) = %d, want 3 with a test each", len(Rules))
	}
}

func TestSplitCells(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"| a | b |", []string{"a", "b"}},
		{"  |a|b|  ", []string{"a", "b"}},
		{`| a \| b | c |`, []string{`a \| b`, "c"}},
		{"| `a|b` | c |", []string{"`a|b`", "c"}},
		{"a | b |", nil},
		{"| a", nil},
		{"|", nil},
	}
	for _, tt := range tests {
		if got := splitCells(tt.line); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("splitCells(%q) = %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestApply(t *testing.T) {
	s := &Sabotage{Module: "core", File: "a.go", Old: "b\n", New: "c\nd\n"}
	tests := []struct{ text, want string }{
		{"a\nb\na\n", "a\nc\nd\na\n"},
		{"b\na\n", "c\nd\na\n"},
		{"ab\nb\n", "ab\nc\nd\n"}, // only whole lines count
		{"ab\n", ""},
		{"b\nb\n", ""},
	}
	for _, tt := range tests {
		got, err := s.Apply(tt.text)
		if got != tt.want || (tt.want == "") != errors.Is(err, ErrStale) {
			t.Errorf("Apply(%q) = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestCommand(t *testing.T) {
	tests := []struct {
		gate      string
		env, args []string
	}{
		{"go test ./a -run '^(A|B)$'", nil, []string{"go", "test", "./a", "-run", "^(A|B)$"}},
		{`M0_X=1 A=b go vet "a b"`, []string{"M0_X=1", "A=b"}, []string{"go", "vet", "a b"}},
		{"go test  ''", nil, []string{"go", "test", ""}},
		{"sh -c x", nil, nil},
		{"go", nil, nil},
		{"", nil, nil},
	}
	for _, tt := range tests {
		env, args, err := (&Sabotage{Gate: tt.gate}).Command()
		if !reflect.DeepEqual(env, tt.env) && err == nil || !reflect.DeepEqual(args, tt.args) {
			t.Errorf("Command(%q) = %q, %q, %v, want %q, %q", tt.gate, env, args, err, tt.env, tt.args)
		}
		if (tt.args == nil) != (err != nil) {
			t.Errorf("Command(%q) error = %v, want one: %v", tt.gate, err, tt.args == nil)
		}
	}
}
