// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/pack"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
)

// tagged are the modules that a release tags. Nobody requires apps and tools.
var tagged = []string{"core", "sqlite", "http", "datastar", "host", "wsgi"}

var releaseVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

// release makes the one commit and the tags of a release. Without --do it says
// what they would be and leaves the tree alone.
func release(e *env, args []string) error {
	version, do := "", false
	for _, a := range args {
		switch {
		case a == "--do":
			do = true
		case version == "" && releaseVersion.MatchString(a):
			version = a
		default:
			return usageError(fmt.Sprintf("does not understand %q", a))
		}
	}
	if version == "" {
		return usageError("wants a version like v0.1.0")
	}
	r := &releaser{env: e, version: version, do: do}
	for _, s := range []step{
		{"check", "clean tree, next version, no such tag", r.check},
		{"pack", "tidy and pack each module against the ones before it", r.pack},
		{"commit", "one commit, one tag a module", r.commit},
	} {
		if e.con.Step(s.name, s.what, s.run) != nil {
			break
		}
	}
	if !e.con.Close("release") {
		return errFailed
	}
	return nil
}

// releaser carries one release from step to step.
type releaser struct {
	*env
	version string
	do      bool
	changed map[string][]byte // path below the top → new text
}

func (r *releaser) check(s *console.Step) error {
	dirty, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if dirty != "" {
		return fmt.Errorf("release: the tree is not clean, commit first:\n%s", dirty)
	}
	next, err := r.workVersion()
	if err != nil {
		return err
	}
	if next != r.version {
		return fmt.Errorf("release: go.work prepares %s, not %s", next, r.version)
	}
	for _, m := range tagged {
		out, err := r.git("tag", "--list", m+"/"+r.version)
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("release: the tag %s/%s exists; a published version never changes",
				m, r.version)
		}
	}
	s.Printf("full must be green at this commit: go run ./tools full")
	return nil
}

// pack collects the files that the release changes: go.mod and go.sum with the
// sums of what is published now, and the changelogs.
func (r *releaser) pack(s *console.Step) error {
	r.changed = map[string][]byte{}
	return r.withTidied(s, r.dateCopy, func(shop *pack.Shop, module string) error {
		if err := r.untidy(shop, module); err != nil {
			return err
		}
		for _, name := range modFiles {
			rel := module + "/" + name
			was, want := readBoth(filepath.Join(r.top, rel), filepath.Join(shop.Dir(module), name))
			if string(was) != string(want) {
				r.changed[rel] = want
			}
		}
		s.Printf("packed %s %s", tree.Path(module), r.version)
		return nil
	})
}

// dateCopy dates the changelog in the copy of a module before it is packed: the
// sum of a module covers its changelog.
func (r *releaser) dateCopy(shop *pack.Shop, module string) error {
	const name = "CHANGELOG.md"
	file := filepath.Join(shop.Dir(module), name)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	dated, err := dateChangelog(string(text), r.version, time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return fmt.Errorf("%s/%s: %w", module, name, err)
	}
	r.changed[module+"/"+name] = []byte(dated)
	return os.WriteFile(file, []byte(dated), 0o666)
}

// dateChangelog turns the heading of what is not released into one with a date.
func dateChangelog(text, version, day string) (string, error) {
	heading := "## Unreleased (" + version + ")\n"
	if strings.Count(text, heading) != 1 {
		return "", fmt.Errorf("release: want one line %q", strings.TrimSpace(heading))
	}
	return strings.Replace(text, heading, "## "+version+" ("+day+")\n", 1), nil
}

func (r *releaser) commit(s *console.Step) error {
	for _, rel := range slices.Sorted(maps.Keys(r.changed)) {
		s.Printf("change %s", rel)
		if !r.do {
			continue
		}
		if err := os.WriteFile(filepath.Join(r.top, rel), r.changed[rel], 0o666); err != nil {
			return err
		}
		if _, err := r.git("add", "--", rel); err != nil {
			return err
		}
	}
	commands := [][]string{{"commit", "--quiet", "-m", "release " + r.version}}
	for _, m := range tagged {
		tag := m + "/" + r.version
		commands = append(commands, []string{"tag", "-a", tag, "-m", m + " " + r.version})
	}
	for _, c := range commands {
		s.Printf("git %s", strings.Join(c, " "))
		if !r.do {
			continue
		}
		if _, err := r.git(c...); err != nil {
			return err
		}
	}
	if !r.do {
		s.Printf("nothing was changed; --do does it")
		return nil
	}
	s.Printf("look at it, then: git push --follow-tags; then open the next version in go.work, " +
		"go.mod and the changelogs")
	return nil
}

func (r *releaser) git(args ...string) (string, error) {
	c := proc.Cmd{Dir: r.top, Args: append([]string{"git"}, args...)}
	out, err := proc.Run(r.ctx, c)
	return strings.TrimSpace(out), err
}
