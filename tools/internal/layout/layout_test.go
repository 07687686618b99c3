// SPDX-License-Identifier: MIT

package layout

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/ruletest"
	"m0serve.dev/tools/internal/tree"
)

func byName(t *testing.T, name string) rule.Rule {
	t.Helper()
	for _, r := range Rules([]string{"quick", "full"}) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("Rules has no rule %q", name)
	return rule.Rule{}
}

// good is a repository in which every rule holds.
func good() map[string]string {
	files := map[string]string{
		".ci/run": "", ".github/x": "", "README.md": "# x\n", "LICENSE": "MIT\n",
		"SECURITY.md": "# s\n",
		"go.work":     goodWork(),
	}
	for _, name := range tree.Names {
		files[name+"/x.go"] = "package x\n"
		files[name+"/go.mod"] = "module m0serve.dev/" + name + "\n\ngo 1.26\n"
		files[name+"/README.md"] = "# " + name + "\n"
		files[name+"/SPEC.md"], files[name+"/DECISIONS.md"] = "", ""
		files[name+"/CHANGELOG.md"] = "# c\n\n## Unreleased (v0.1.0)\n"
		files[name+"/LICENSE"] = "MIT\n"
	}
	files["http/go.mod"] += "\nrequire m0serve.dev/core v0.1.0\n"
	return files
}

func goodWork() string {
	use := ""
	for _, name := range tree.Names {
		use += "use ./" + name + "\n"
	}
	return "go 1.26\n\n" + use + "\nreplace m0serve.dev/core v0.1.0 => ./core\n"
}

func TestRules(t *testing.T) {
	type files = map[string]string
	code := func(text string) files {
		return files{"core/README.md": "# c\n\n```go\n" + text + "\n```\n"}
	}
	tests := []struct {
		name   string
		rule   string
		change files // "" removes the file
		want   []string
	}{
		{"good", "top-level", nil, nil},
		{"good", "go-mod", nil, nil},
		{"good", "go-work", nil, nil},
		{"good", "papers", nil, nil},
		{"good", "readme", nil, nil},
		{"stray folder", "top-level", files{"util/x.txt": "x"}, []string{"util design's top level"}},
		{"dot file", "top-level", files{".editorconfig": "x"}, nil},
		{"no licence", "top-level", files{"LICENSE": ""}, []string{"LICENSE missing"}},
		{"replace", "go-mod", files{"core/go.mod": "module m0serve.dev/core\n\ngo 1.26\n" +
			"\nreplace example.com/x => ../x\n"}, []string{"core/go.mod replace"}},
		{"path", "go-mod", files{"sqlite/go.mod": "module m0serve.dev/sql\n\ngo 1.26\n"},
			[]string{"sqlite/go.mod want m0serve.dev/sqlite"}},
		{"go line", "go-mod", files{"sqlite/go.mod": "module m0serve.dev/sqlite\n\ngo 1.25\n"},
			[]string{"sqlite/go.mod go 1.25"}},
		{"unreadable", "go-mod", files{"sqlite/go.mod": "modul x\n"}, []string{"sqlite/go.mod modul"}},
		{"nested", "go-mod", files{"http/x/go.mod": "module m0serve.dev/http/x\n\ngo 1.26\n"},
			[]string{"http/x/go.mod nested"}},
		{"rivals may replace", "go-mod", files{"tools/rivals/go.mod": "module " +
			"m0serve.dev/tools/rivals\n\ngo 1.26\n\nreplace m0serve.dev/core => ../../core\n"}, nil},
		{"two versions of ours", "go-mod", files{"host/go.mod": "module m0serve.dev/host\n\n" +
			"go 1.26\n\nrequire m0serve.dev/core v0.2.0\n"}, []string{"host/go.mod v0.1.0"}},
		{"two versions", "go-mod", files{
			"host/go.mod": "module m0serve.dev/host\n\ngo 1.26\n\nrequire example.com/x v1.0.0\n",
			"wsgi/go.mod": "module m0serve.dev/wsgi\n\ngo 1.26\n\nrequire example.com/x v1.1.0\n",
		}, []string{"wsgi/go.mod host/go.mod has v1.0.0"}},
		{"not used", "go-work", files{"go.work": strings.Replace(goodWork(), "use ./host\n", "", 1)},
			[]string{"go.work does not use host"}},
		{"used too", "go-work", files{"go.work": goodWork() + "use ./x\n"}, []string{"go.work uses x"}},
		{"no version", "go-work", files{"go.work": strings.Replace(goodWork(), " v0.1.0 ", " ", 1)},
			[]string{"go.work without a version"}},
		{"other version", "go-work", files{"go.work": strings.Replace(goodWork(), "v0.1.0", "v0.2.0", 1)},
			[]string{"go.work want v0.1.0 => ./core"}},
		{"no replace", "go-work", files{"go.work": strings.Split(goodWork(), "replace")[0]},
			[]string{"go.work no replace for m0serve.dev/core v0.1.0"}},
		{"useless replace", "go-work", files{"go.work": goodWork() +
			"replace m0serve.dev/apps v0.1.0 => ./apps\n"}, []string{"go.work no module requires"}},
		{"foreign replace", "go-work", files{"go.work": goodWork() +
			"replace example.com/x v0.1.0 => ./apps\n"}, []string{"go.work only modules of ours"}},
		{"no spec", "papers", files{"http/SPEC.md": "-"}, []string{"http/SPEC.md missing"}},
		{"licence", "papers", files{"http/LICENSE": "BSD\n"}, []string{"http/LICENSE differs"}},
		{"version", "papers", files{"apps/CHANGELOG.md": "## v0.2.0\n"},
			[]string{"apps/CHANGELOG.md one version"}},
		{"long", "readme", files{"http/README.md": strings.Repeat("x\n", 151)},
			[]string{"http/README.md 151 lines"}},
		{"verb", "readme", files{"README.md": "go run ./tools fly\n"}, []string{"README.md:1 verb fly"}},
		{"folder", "readme", files{"README.md": "go run ./apps/nope\n"}, []string{"README.md:1 no Go"}},
		{"link", "readme", files{"http/README.md": "[s](SPEC.md#a) [n](no.md) [w](https://x)\n"},
			[]string{"http/README.md:1 no.md leads nowhere"}},
		{"row", "readme", files{"SECURITY.md": "[A1.b](core/SPEC.md) [A1](core/SPEC.md)\n",
			"core/SPEC.md": "|---|\n| A1.b | x |\n"}, []string{"SECURITY.md:1 no row A1"}},
		{"coming", "readme", files{"http/COMING_FROM.md": "[n](no.md)\n"},
			[]string{"http/COMING_FROM.md:1 no.md leads nowhere"}},
		{"import", "readme", code(`import "m0serve.dev/core/none"`), []string{"core/README.md:4 no Go"}},
		{"syntax", "readme", code("x := "), []string{"core/README.md:4 does not parse"}},
		{"statements", "readme", code("x := 1\n_ = x"), nil},
		{"declarations", "readme", code("import \"m0serve.dev/http\"\n\nfunc f() {}"), nil},
		{"file", "readme", code("package x\n\nfunc f() {}"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			files := good()
			maps.Copy(files, tt.change)
			for p, text := range files {
				if text == "-" || text == "" && p == "LICENSE" {
					delete(files, p)
				}
			}
			ruletest.Want(t, byName(t, tt.rule), ruletest.Fixture(t, files), tt.want...)
		})
	}
}

func TestReadmeFromItsFolder(t *testing.T) {
	commands := []string{"go run ./apps", "go run ./x", "go test ./http/...", "go test ./..."}
	for i, command := range commands {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			files := good()
			files["apps/x/x.go"] = "package x\n"
			files["apps/x/README.md"] = command + "\n"
			ruletest.Want(t, byName(t, "readme"), ruletest.Fixture(t, files))
		})
	}
}
