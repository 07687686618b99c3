// SPDX-License-Identifier: MIT

package source

import (
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/ruletest"
)

// head opens a good file of package x.
const head = "// SPDX-License-Identifier: MIT\n\n// Package x is a fixture.\npackage x\n\n"

// byName returns the rule called name.
func byName(t *testing.T, name string) rule.Rule {
	t.Helper()
	for _, r := range Rules {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("Rules has no rule %q", name)
	return rule.Rule{}
}

func TestGoodFile(t *testing.T) {
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/x.go": head + "// F does nothing.\nfunc F() {}\n",
	})
	for _, r := range Rules {
		ruletest.Want(t, r, tree)
	}
}

func TestParse(t *testing.T) {
	tree := ruletest.Fixture(t, map[string]string{"http/x/x.go": head + "func F( {}\n"})
	ruletest.Want(t, byName(t, "parse"), tree, "http/x/x.go http/x/x.go:6:9")
}

func TestFormat(t *testing.T) {
	tree := ruletest.Fixture(t, map[string]string{"http/x/x.go": head + "var  a = 1\n"})
	ruletest.Want(t, byName(t, "gofmt"), tree, "http/x/x.go:6 not formatted")
}

func TestLicence(t *testing.T) {
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/a.go": "package x\n",
		"http/x/b.go": "// Copyright\n// SPDX-License-Identifier: MIT\npackage x\n",
		"http/x/c.s":  "#include \"textflag.h\"\n",
		"http/x/d.s":  "// SPDX-License-Identifier: MIT\n",
		"http/x/e.py": "#!/usr/bin/env python3\n# SPDX-License-Identifier: MIT\n",
		"http/x/f.py": "import os\n",
	})
	ruletest.Want(t, byName(t, "licence"), tree, "http/x/a.go:1 add // SPDX", "http/x/b.go:1 add",
		"http/x/c.s:1 add // SPDX", "http/x/f.py:1 add # SPDX")
}

func TestLineSize(t *testing.T) {
	full := "// " + strings.Repeat("ü", lineColumnsMax-3)
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/x.go": head + full + "\n" + full + "x\n" + "// https://x/" + full + "\n",
	})
	ruletest.Want(t, byName(t, "line-size"), tree, "http/x/x.go:7 101 columns")
}

func TestFileSize(t *testing.T) {
	lines := strings.Count(head, "\n")
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/a.go": head + strings.Repeat("\n", fileLinesMax-lines),
		"http/x/b.go": head + strings.Repeat("\n", fileLinesMax-lines+1),
	})
	ruletest.Want(t, byName(t, "file-size"), tree, "http/x/b.go 501 lines")
}

func TestFuncSize(t *testing.T) {
	body := func(n int) string { return "{\n" + strings.Repeat("\t_ = 1\n", n-2) + "}\n" }
	rows := strings.Repeat("\t\t1,\n", funcLinesMax)
	table := "func TestT() {\n\t_ = []int{\n" + rows + "\t}\n" + body(funcLinesMax - 1)[2:]
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/a.go":      head + "func f() " + body(funcLinesMax) + "func g() " + body(funcLinesMax+1),
		"http/x/b.go":      head + "func h() {\n\t_ = []int{\n" + rows + "\t}\n}\n",
		"http/x/a_test.go": head + table,
		"http/x/b_test.go": head + strings.Replace(table, "TestT() {", "TestU() {\n\t_ = 1", 1),
	})
	ruletest.Want(t, byName(t, "func-size"), tree,
		"http/x/a.go:76 g has 71 lines",
		"http/x/b.go:6 h has 74 lines", // not a test: its table counts
		"http/x/b_test.go:6 TestU has 71 lines")
}

func TestNesting(t *testing.T) {
	nest := func(n int, inner string) string {
		return strings.Repeat("if true {\n", n) + inner + strings.Repeat("}\n", n)
	}
	tests := []struct {
		name, body string
		want       int
	}{
		{"at the limit", nest(4, ""), 0},
		{"too deep", nest(5, ""), 5},
		{"else-if does not nest", "if true {\n} else if false {\n} else if true {\n" +
			nest(3, "") + "}\n", 0},
		{"switch in for in select", "select {\ndefault:\nfor {\nswitch {\ncase true:\n" +
			nest(2, "") + "}\n}\n}\n", 5},
		{"type switch in range", "for range 1 {\nswitch any(1).(type) {\ncase int:\n" +
			nest(3, "") + "}\n}\n", 5},
		{"a function literal starts anew", nest(4, "_ = func() {\n"+nest(4, "")+"}\n"), 0},
		{"a function literal too deep", nest(1, "_ = func() {\n"+nest(5, "")+"}\n"), 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := ruletest.Fixture(t, map[string]string{
				"http/x/x.go": head + "func f() {\n" + tt.body + "}\n",
			})
			found := rule.Run(tree, []rule.Rule{byName(t, "nesting")})
			got := 0
			if len(found) == 1 {
				got = found[0].Size
			}
			if got != tt.want || len(found) > 1 {
				t.Errorf("nesting = %v, want depth %d", found, tt.want)
			}
		})
	}
}

func TestPackageDoc(t *testing.T) {
	const licence = "// SPDX-License-Identifier: MIT\n\n"
	tree := ruletest.Fixture(t, map[string]string{
		"http/a/a.go":      licence + "package a\n",
		"http/b/b.go":      licence + "// Package bb is a fixture.\npackage b\n",
		"http/c/c.go":      licence + "// Package c is one.\npackage c\n",
		"http/c/d.go":      licence + "// Package c is another.\npackage c\n",
		"http/d/d_test.go": licence + "package d\n",
		"apps/e/main.go":   licence + "// Command e is a fixture.\npackage main\n",
		"apps/f/main.go":   licence + "// Package main is a fixture.\npackage main\n",
	})
	ruletest.Want(t, byName(t, "package-doc"), tree,
		`apps/f open with "Command f "`, "http/a no comment", `http/b open with "Package b "`,
		"http/c two files")
}

func TestExportedDoc(t *testing.T) {
	bad := []string{
		"func F() {}",
		"// Does nothing.\nfunc F() {}",
		"// Fx is another name.\nfunc F() {}",
		"type T int",
		"// T is.\ntype T int\n\nfunc (t *T) M() {}",
		"// T is.\ntype T[P any] int\n\nfunc (t T[P]) M() {}",
		"var V = 1",
		"const (\n\tC = 1\n)",
		"// Value is wrong.\nvar V = 1",
	}
	for i, decl := range bad {
		t.Run(fmt.Sprint("bad", i), func(t *testing.T) {
			tree := ruletest.Fixture(t, map[string]string{"http/x/x.go": head + decl + "\n"})
			line := 6 + strings.Count(decl, "\n")
			if strings.HasPrefix(decl, "const") {
				line = 7
			}
			ruletest.Want(t, byName(t, "exported-doc"), tree, fmt.Sprintf("http/x/x.go:%d ", line))
		})
	}
	good := "// F is.\nfunc F() {}\n\n// A T is.\ntype T int\n\n" +
		"func (t T) String() string { return \"\" }\n" +
		"\ntype u int\n\nfunc (u) M() {}\n\n// The limits.\nconst (\n\tC = 1\n)\n\n" +
		"const (\n\tD = 1 // why\n)\n"
	tree := ruletest.Fixture(t, map[string]string{
		"http/x/x.go": head + good, "http/x/x_test.go": head + "func F() {}\n",
	})
	ruletest.Want(t, byName(t, "exported-doc"), tree)
}

func TestImports(t *testing.T) {
	tests := []struct{ dir, path, why string }{
		{"core/x", "m0serve.dev/http/wire", "core may import nothing of ours"},
		{"sqlite", "m0serve.dev/core/hash", "sqlite may import nothing of ours"},
		{"http/x", "m0serve.dev/host", "http may import core"},
		{"host", "m0serve.dev/datastar", "host may import http, core"},
		{"wsgi/x", "m0serve.dev/host", "wsgi may import http, core"},
		{"host", "m0serve.dev/apps/x", "host may import"},
		{"tools/x", "m0serve.dev/core/hash", "tools may import nothing of ours"},
		{"tools/x", "example.com/y", "standard library only"},
		{"datastar", "m0serve.dev/http/sse", "only datastar/stream"},
		{"http/wire", "net/http", "no I/O"},
		{"http/wire", "m0serve.dev/http/loop", "lowest layer"},
		{"http/loop", "m0serve.dev/http/server", "calls back up"},
		{"http/server", "m0serve.dev/http/sse", "meet in the handler"},
		{"http/server", "m0serve.dev/http/ws", "meet in the handler"},
		{"http/bus", "m0serve.dev/http/sse", "knows no stream"},
		{"http/loop", "golang.org/x/sys/unix", "one package: http/internal/sys"},
		{"http/x", "C", "one package: wsgi/internal/python"},
		{"core/x", "os", "no I/O"},
	}
	for _, tt := range tests {
		t.Run(tt.dir+" "+tt.path, func(t *testing.T) {
			tree := ruletest.Fixture(t, map[string]string{
				tt.dir + "/x.go": head + "import _ \"" + tt.path + "\"\n",
			})
			ruletest.Want(t, byName(t, "imports"), tree, tt.dir+"/x.go:6 "+tt.why)
		})
	}
	good := ruletest.Fixture(t, map[string]string{
		"http/internal/sys/x.go": head + "import _ \"golang.org/x/sys/unix\"\n",
		"http/wire/x.go":         head + "import _ \"m0serve.dev/core/escape\"\n",
		"http/wire/x_test.go":    head + "import _ \"net/http\"\n",
		"datastar/stream/x.go":   head + "import _ \"m0serve.dev/http/sse\"\n",
		"apps/x/x.go":            head + "import _ \"m0serve.dev/sqlite\"\n",
		"tools/rivals/go.mod":    "module m0serve.dev/tools/rivals\n",
		"tools/rivals/x.go":      head + "import _ \"example.com/y\"\n",
		"tools/x/x.go":           head + "import _ \"m0serve.dev/tools/internal/tree\"\n",
	})
	ruletest.Want(t, byName(t, "imports"), good)
}

func TestThirdParty(t *testing.T) {
	tree := ruletest.Fixture(t, map[string]string{
		"http/a/a.go":      head + "import _ \"github.com/o/m/v2/p\"\n",
		"http/b/b.go":      head + "import _ \"github.com/o/m/v2\"\n",
		"http/c/c.go":      head + "import _ \"github.com/o/n\"\n",
		"http/d/d_test.go": head + "import _ \"github.com/o/n\"\n",
		"core/a/a.go":      head + "import _ \"github.com/o/m/v2\"\n",
	})
	ruletest.Want(t, byName(t, "third-party"), tree, "http/b/b.go:6 imported by http/a already")
}

func TestCalls(t *testing.T) {
	const clock = "import \"time\"\n\nvar t = time.Now()\n"
	tree := ruletest.Fixture(t, map[string]string{
		"http/wire/x.go":      head + clock,
		"http/wire/x_test.go": head + clock,
		"http/loop/x.go":      head + "import \"time\"\n\nfunc f() { time.Sleep(1) }\n",
		"http/sse/x.go":       head + clock,
		"core/hash/x.go":      head + "func f() { go f() }\n",
	})
	ruletest.Want(t, byName(t, "calls"), tree, "core/hash/x.go:6 goroutine",
		"http/loop/x.go:8 time.Sleep", "http/wire/x.go:8 time.Now")
}
