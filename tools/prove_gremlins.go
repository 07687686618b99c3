// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/mutate"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

// A mutation is a package whose code is changed; except are its files that are not.
type mutation struct{ dir, except string }

// mutations are the packages that a wrong byte breaks. Of sse it is what keeps and
// replays, not what waits.
var mutations = []mutation{
	{dir: "core/escape"}, {dir: "core/field"}, {dir: "core/hash"},
	{dir: "http/wire"},
	{dir: "http/bus"},
	{dir: "http/sse", except: `^(attach|coding|handover|hold|hub|hub_hold|publish|` +
		`registry|slot|snapshot)\.go$`},
}

const (
	// mutantsReviewed is the list of the changes that people have looked at.
	mutantsReviewed = "tools/testdata/mutants.txt"
	// mutantsLeast is the share of changes that tests must notice, in hundredths.
	mutantsLeast = 80
	// mutantsSeed is the order in which changes are tried: what a run that is cut off
	// has tried is spread over the package, and the same in each run.
	mutantsSeed = 1
)

// proveGremlins changes operators and conditions, one at a time, and counts the
// changes that the short tests do not notice. Survivors are told and fail nothing as
// long as they are few: many mean the same as the code, and that is for people to say.
func (e *env) proveGremlins(s *console.Step, o proveOptions) (r prove.Result, err error) {
	text, err := os.ReadFile(filepath.Join(e.top, filepath.FromSlash(mutantsReviewed)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return r, err
	}
	review, err := mutate.ParseReview(string(text))
	if err != nil {
		return r, err
	}
	var sum prove.Mutants
	var failed []error
	ran := 0
	for _, m := range mutations {
		if len(o.in) > 0 && !slices.Contains(o.in, m.dir) || e.ctx.Err() != nil {
			continue
		}
		got, err := e.mutate(s, m, review)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.dir, err))
		}
		s.Printf("%-12s %s", m.dir, &got)
		if err == nil && got.Score() < mutantsLeast {
			failed = append(failed, fmt.Errorf("%s: tests notice %.1f %%, below %d",
				m.dir, got.Score(), mutantsLeast))
		}
		sum.Add(got)
		ran++
	}
	r.Ran = fmt.Sprintf("%d packages: %s", ran, &sum)
	r.Found = sum.Survivors
	return r, errors.Join(failed...)
}

// mutate builds the tests of a package with all changes and throws one switch after
// another.
func (e *env) mutate(s *console.Step, m mutation, review mutate.Review) (
	got prove.Mutants, err error) {
	tmp, remove, err := proveDir()
	if err != nil {
		return got, err
	}
	defer remove()
	s.Doing(m.dir + ": build")
	changes, err := e.buildMutants(tmp, m)
	if err != nil {
		return got, err
	}
	got.Made = len(changes)
	run := &mutantRun{dir: filepath.Join(e.top, filepath.FromSlash(m.dir)), tmp: tmp}
	s.Doing(m.dir + ": without a change")
	reached, err := run.before(e.ctx)
	if err != nil {
		return got, err
	}
	order := rand.New(rand.NewPCG(mutantsSeed, 0))
	order.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	tryMutants(e.ctx, len(changes), func(i int) string {
		if !reached[changes[i].ID] {
			return prove.NotCovered
		}
		return run.one(e.ctx, changes[i].ID)
	}, func(i int, fate string) {
		name := m.dir + "/" + changes[i].String()
		got.Count(fate, name, review[name] != "")
		s.Doing(fmt.Sprintf("%s %d of %d: %s %s", m.dir, got.Tried(), len(changes), fate, changes[i]))
		if (fate == prove.Lived || fate == prove.NotCovered) && review[name] == "" {
			s.Printf("%-11s %s", fate, name)
		}
	})
	if err := e.ctx.Err(); err != nil {
		return got, fmt.Errorf("after %d of %d changes: %w", got.Tried(), len(changes), err)
	}
	return got, nil
}

// buildMutants builds the test binary of a package, its files exchanged for the go
// command only.
func (e *env) buildMutants(tmp string, m mutation) (changes []mutate.Change, err error) {
	dir := filepath.Join(e.top, filepath.FromSlash(m.dir))
	p, err := mutate.Load(e.ctx, dir)
	if err != nil {
		return nil, err
	}
	except := regexp.MustCompile(cmp.Or(m.except, "^$"))
	texts, changes := p.Rewrite(func(name string) bool { return !except.MatchString(name) })
	if len(changes) == 0 {
		return nil, errors.New("there is nothing to change")
	}
	texts = append(texts, mutate.Switches(p.Name, len(changes)))
	replace := map[string]string{}
	for i, text := range texts {
		name := filepath.Join(dir, mutate.SwitchFile)
		if i < len(p.Files) {
			name = p.Fset.File(p.Files[i].Pos()).Name()
		}
		replace[name] = filepath.Join(tmp, strconv.Itoa(i)+".go")
		if err := os.WriteFile(replace[name], text, 0o644); err != nil {
			return nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		return nil, err
	}
	_, err = proc.Run(e.ctx, proc.Cmd{Dir: dir, Args: []string{"go", "test", "-c", "-overlay", file,
		"-o", filepath.Join(tmp, "x.test"), "."}})
	return changes, err
}

// moduleNames are the modules that are there, each after those it may import.
func moduleNames(top string) (names []string) {
	for _, name := range tree.Names {
		if _, err := os.Stat(filepath.Join(top, name, "go.mod")); err == nil {
			names = append(names, name)
		}
	}
	return names
}
