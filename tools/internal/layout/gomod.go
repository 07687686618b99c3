// SPDX-License-Identifier: MIT

package layout

import (
	"fmt"
	"path"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// modFile is the part of "go mod edit -json" that the rules look at.
type modFile struct {
	Module  struct{ Path string }
	Go      string
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// workFile is the part of "go work edit -json" that the rules look at.
type workFile struct {
	Go      string
	Use     []struct{ DiskPath string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// rivals is the one nested module. Nobody requires it, so it alone may replace.
const rivals = "tools/rivals"

// goMod checks the path, the go line and the requirements of every module.
func goMod(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	goLine, goFile := "", ""
	for _, m := range t.Modules {
		file := path.Join(m.Dir, "go.mod")
		add := func(what, cure string) {
			found = append(found, rule.Finding{File: file, What: what, Cure: cure})
		}
		if m.Dir != rivals && strings.Contains(m.Dir, "/") {
			add("is a nested module", "only "+rivals+" is one")
		}
		var mod modFile
		if err := goEdit(t, "mod", file, &mod); err != nil {
			add(err.Error(), "")
			continue
		}
		if mod.Module.Path != tree.Path(m.Dir) {
			add(fmt.Sprintf("the path is %s, want %s", mod.Module.Path, tree.Path(m.Dir)), "")
		}
		if len(mod.Replace) > 0 && m.Dir != rivals {
			add("has a replace", "put it into go.work: no go.mod with one can be installed")
		}
		mod.Go = strings.TrimSuffix(mod.Go, ".0") // a requirement may ask for the full form
		if goLine == "" {
			goLine, goFile = mod.Go, file
		}
		if mod.Go != goLine {
			add(fmt.Sprintf("go %s, but %s has go %s", mod.Go, goFile, goLine), "one version everywhere")
		}
	}
	return append(found, oneVersion(t)...)
}

// oneVersion asks all direct requirements of one module path for the same version,
// and all of ours for one version altogether.
func oneVersion(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	type place struct{ version, file string }
	first := map[string]place{}
	ours := place{}
	for _, m := range t.Modules {
		var mod modFile
		file := path.Join(m.Dir, "go.mod")
		if m.Dir == rivals || goEdit(t, "mod", file, &mod) != nil {
			continue
		}
		for _, r := range mod.Require {
			if r.Indirect {
				continue
			}
			was := first[r.Path]
			if strings.HasPrefix(r.Path, tree.Root+"/") {
				was = ours
				if ours.version == "" {
					ours = place{r.Version, file}
				}
			}
			if was.version == "" {
				first[r.Path] = place{r.Version, file}
				continue
			}
			if was.version != r.Version {
				found = append(found, rule.Finding{File: file, Name: r.Path, What: fmt.Sprintf(
					"requires %s %s, but %s has %s", r.Path, r.Version, was.file, was.version),
					Cure: "one version everywhere"})
			}
		}
	}
	return found
}

// goWork asks go.work for the eight modules and a versioned replace for each of
// them that another requires.
func goWork(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	add := func(what, cure string) {
		found = append(found, rule.Finding{File: "go.work", What: what, Cure: cure})
	}
	var work workFile
	if err := goEdit(t, "work", "go.work", &work); err != nil {
		add(err.Error(), "")
		return found
	}
	used := map[string]bool{}
	for _, u := range work.Use {
		name := path.Clean(u.DiskPath)
		used[name] = true
		if !contains(tree.Names[:], name) {
			add("uses "+name, "only the eight modules")
		}
	}
	for _, name := range tree.Names {
		if !used[name] {
			add("does not use "+name, "go work use ./"+name)
		}
	}
	required := requiredOurs(t)
	for _, r := range work.Replace {
		name, isOurs := strings.CutPrefix(r.Old.Path, tree.Root+"/")
		want := required[r.Old.Path]
		switch {
		case !isOurs:
			add("replaces "+r.Old.Path, "only modules of ours")
		case r.Old.Version == "":
			add("replaces "+r.Old.Path+" without a version", "the go command refuses that")
		case want == "":
			add("replaces "+r.Old.Path+", which no module requires", "remove it")
		case r.Old.Version != want || path.Clean(r.New.Path) != name:
			add(fmt.Sprintf("replaces %s %s => %s", r.Old.Path, r.Old.Version, r.New.Path),
				fmt.Sprintf("want %s => ./%s", want, name))
		}
		delete(required, r.Old.Path)
	}
	for p, v := range required {
		add("has no replace for "+p+" "+v, "go work edit -replace "+p+"@"+v+"=./"+path.Base(p))
	}
	return found
}

// requiredOurs returns path and version of our modules that others of ours require.
func requiredOurs(t *tree.Tree) map[string]string {
	required := map[string]string{}
	for _, m := range t.Modules {
		var mod modFile
		if m.Dir == rivals || goEdit(t, "mod", path.Join(m.Dir, "go.mod"), &mod) != nil {
			continue
		}
		for _, r := range mod.Require {
			if strings.HasPrefix(r.Path, tree.Root+"/") {
				required[r.Path] = r.Version
			}
		}
	}
	return required
}
