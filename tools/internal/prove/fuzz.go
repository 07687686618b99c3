// SPDX-License-Identifier: MIT

package prove

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/tools/internal/tree"
)

// FuzzEach is how long a target runs where the hours allow it; fuzzLeast is the
// least that is worth the build.
const (
	FuzzEach  = 10 * time.Minute
	fuzzLeast = time.Second
)

// A Target is a fuzz function.
type Target struct {
	Dir  string // of its package, below the top, with slashes
	Name string
}

// String is how a target is named to people.
func (t Target) String() string { return t.Dir + " " + t.Name }

// Targets finds the fuzz functions in and below the folders, all when there are
// none, sorted.
func Targets(t *tree.Tree, folders []string) (list []Target) {
	t.EachFile(func(_ *tree.Module, p *tree.Package, f *tree.File) {
		if !f.Test || f.AST == nil || !isBelow(p.Dir, folders) {
			return
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isFuzz(fn) {
				list = append(list, Target{Dir: p.Dir, Name: fn.Name.Name})
			}
		}
	})
	slices.SortFunc(list, func(a, b Target) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// isFuzz is the rule of "go help testfunc".
func isFuzz(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Fuzz")
	if !ok || fn.Recv != nil || rest != "" && rest[0] >= 'a' && rest[0] <= 'z' {
		return false
	}
	params := fn.Type.Params.List
	if len(params) != 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "F"
}

func isBelow(dir string, folders []string) bool {
	if len(folders) == 0 {
		return true
	}
	return slices.ContainsFunc(folders, func(f string) bool {
		f = path.Clean(strings.TrimSuffix(f, "..."))
		return dir == f || strings.HasPrefix(dir, f+"/")
	})
}

// Each divides the hours over so many targets; none: what a target usually gets,
// which is also the most.
func Each(hours float64, targets int) time.Duration {
	if hours <= 0 || targets == 0 {
		return FuzzEach
	}
	each := time.Duration(hours * float64(time.Hour) / float64(targets)).Truncate(time.Second)
	return min(max(each, fuzzLeast), FuzzEach)
}

// Fuzzed is what "go test -fuzz" said about one target.
type Fuzzed struct {
	Execs       int64
	Interesting int64  // inputs that reached something new in this run
	Input       string // file of the failing input, as go test names it
	Failed      bool
	detail      []string // its last lines
}

// detailLines is how much of a failure is kept.
const detailLines = 40

var (
	fuzzLine = regexp.MustCompile(`^fuzz: elapsed: \S+ execs: (\d+) \(.*new interesting: (\d+)`)
	fuzzFile = regexp.MustCompile(`^\s+Failing input written to (\S+)`)
)

// Line takes a line of output.
func (f *Fuzzed) Line(line string) {
	if m := fuzzLine.FindStringSubmatch(line); m != nil {
		f.Execs, _ = strconv.ParseInt(m[1], 10, 64) // digits; too many stay at the most
		f.Interesting, _ = strconv.ParseInt(m[2], 10, 64)
		return
	}
	if m := fuzzFile.FindStringSubmatch(line); m != nil {
		f.Input = m[1]
	}
	if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL") {
		f.Failed = true
	}
	f.detail = append(f.detail, line)
	if len(f.detail) > detailLines {
		f.detail = f.detail[1:]
	}
}

// Fuzzing reports whether the target ran at all: a name that no function has, or a
// file that is not built here, passes without a word.
func (f *Fuzzed) Fuzzing() bool { return f.Execs > 0 }

// Detail is the end of what was printed.
func (f *Fuzzed) Detail() string { return strings.Join(f.detail, "\n") }

// Where says where a failing input lies, below the top.
func (f *Fuzzed) Where(t Target) string {
	if f.Input == "" {
		return fmt.Sprintf("%s: a seed, or before the first input", t)
	}
	return fmt.Sprintf("%s: %s", t, path.Join(t.Dir, f.Input))
}
