// SPDX-License-Identifier: MIT

package source

import (
	"bytes"
	"go/format"
	"os"
	"path"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// licenceLine is the first line of every Go file; other languages put their own
// comment sign before the same words.
const licenceLine = "SPDX-License-Identifier: MIT"

func gofmt(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, f := range t.Files() {
		if f.AST == nil {
			continue
		}
		want, err := format.Source(f.Src)
		if err != nil || bytes.Equal(want, f.Src) {
			continue
		}
		found = append(found, rule.Finding{
			File: f.Path, Line: differ(f.Src, want),
			What: "is not formatted", Cure: "gofmt -w " + f.Path,
		})
	}
	return found
}

// differ returns the number of the first line in which a and b differ.
func differ(a, b []byte) int {
	la, lb := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range la {
		if i >= len(lb) || !bytes.Equal(la[i], lb[i]) {
			return i + 1
		}
	}
	return len(la)
}

func licence(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	missing := func(file, want string) {
		found = append(found, rule.Finding{
			File: file, Line: 1, What: "the first line is not the licence", Cure: "add " + want,
		})
	}
	for _, f := range t.Files() {
		if !bytes.HasPrefix(f.Src, []byte("// "+licenceLine+"\n")) {
			missing(f.Path, "// "+licenceLine)
		}
	}
	for _, m := range t.Modules {
		for _, p := range m.Others {
			text, err := os.ReadFile(t.Abs(p))
			if err == nil && !strings.Contains(firstLine(string(text)), licenceLine) {
				missing(p, commentSign(p)+" "+licenceLine)
			}
		}
	}
	return found
}

// firstLine returns the first line that is not the name of an interpreter.
func firstLine(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "#!") {
		line, _, _ = strings.Cut(rest, "\n")
	}
	return line
}

func commentSign(file string) string {
	if path.Ext(file) == ".py" {
		return "#"
	}
	return "//"
}
