// SPDX-License-Identifier: MIT

// Package layout holds the rules about the repository around the Go source: what
// stands at the top, go.mod and go.work, the papers of a module, and what its
// README tells people to type.
package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"sort"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// Rules returns the rules of this package; verbs are the words that
// "go run ./tools" understands.
func Rules(verbs []string) []rule.Rule {
	readme := func(t *tree.Tree) []rule.Finding { return readmeRule(t, verbs) }
	return []rule.Rule{
		{Name: "top-level", Why: "the top folder is the map of the house", Check: topLevel},
		{Name: "go-mod", Why: "a module with a replace cannot be installed", Check: goMod},
		{Name: "go-work", Why: "the workspace builds the next version of everything", Check: goWork},
		{Name: "papers", Why: "every module can be read, used and copied alone", Check: papers},
		{Name: "readme", Why: "what a README says to type works", Check: readme},
	}
}

// topNames are the names that the top holds beside dot files.
var topNames = []string{
	"LICENSE", "README.md", "SECURITY.md", "apps", "core", "datastar", "go.work", "go.work.sum",
	"host", "http", "sqlite", "tools", "wsgi",
}

// topLevel compares the top with the list, leaving out what git ignores.
func topLevel(t *tree.Tree) []rule.Finding {
	names, err := topEntries(t.Top)
	if err != nil {
		return []rule.Finding{{File: ".", What: err.Error()}}
	}
	var found []rule.Finding
	have := map[string]bool{}
	for _, name := range names {
		have[name] = true
		if !strings.HasPrefix(name, ".") && !contains(topNames, name) {
			found = append(found, rule.Finding{File: name, Name: name,
				What: "is not part of the design's top level",
				Cure: "move it into a module; the list: " + strings.Join(topNames, " ")})
		}
	}
	for _, name := range append([]string{".ci", ".github"}, topNames...) {
		if !have[name] && name != "go.work.sum" {
			found = append(found, rule.Finding{File: name, Name: name, What: "is missing"})
		}
	}
	return found
}

// topEntries lists the top through git, so that ignored files do not count, and
// by the disk where there is no git.
func topEntries(top string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	out, err := cmd.Output()
	seen := map[string]bool{}
	if err == nil {
		for _, p := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			first, _, _ := strings.Cut(p, "/")
			if _, err := os.Stat(top + "/" + first); err == nil {
				seen[first] = true
			}
		}
	} else {
		list, err := os.ReadDir(top)
		if err != nil {
			return nil, fmt.Errorf("layout: list the top: %w", err)
		}
		for _, e := range list {
			seen[e.Name()] = true
		}
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

// papers asks each module for its documents, one version and the one licence.
func papers(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	top, _ := os.ReadFile(t.Abs("LICENSE"))
	first := "" // version in the first changelog
	for _, name := range tree.Names {
		for _, paper := range []string{
			"README.md", "SPEC.md", "DECISIONS.md", "CHANGELOG.md", "LICENSE",
		} {
			file := path.Join(name, paper)
			text, err := os.ReadFile(t.Abs(file))
			switch {
			case errors.Is(err, os.ErrNotExist):
				found = append(found, rule.Finding{File: file, What: "is missing"})
			case err != nil:
				found = append(found, rule.Finding{File: file, What: err.Error()})
			case paper == "LICENSE" && string(text) != string(top):
				found = append(found, rule.Finding{File: file,
					What: "differs from the licence at the top", Cure: "copy it"})
			case paper == "CHANGELOG.md" && first == "":
				first = version(string(text))
			case paper == "CHANGELOG.md" && version(string(text)) != first:
				found = append(found, rule.Finding{File: file, What: fmt.Sprintf(
					"its newest version is %s, that of %s is %s", version(string(text)),
					tree.Names[0], first), Cure: "all modules share one version"})
			}
		}
	}
	return found
}

// version returns the text of the first second-level heading of a changelog.
func version(changelog string) string {
	for _, line := range strings.Split(changelog, "\n") {
		if v, ok := strings.CutPrefix(line, "## "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "none"
}

// goEdit runs "go mod edit -json" or "go work edit -json" and reads what it says.
func goEdit(t *tree.Tree, kind, file string, into any) error {
	cmd := exec.Command("go", kind, "edit", "-json", t.Abs(file))
	cmd.Dir = t.Top
	var text strings.Builder
	cmd.Stderr = &text
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("layout: go %s edit: %s: %w", kind, strings.TrimSpace(text.String()), err)
	}
	return json.Unmarshal(out, into)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
