// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/spec"
	"m0serve.dev/tools/internal/tree"
)

// gatesAtOnce is how many gates run beside each other: a gate that measures time
// does not get better with more.
const gatesAtOnce = 2

// detailLines is how much of a gate's output a miss shows.
const detailLines = 12

// sabotage breaks promises in copies and reports which tests notice.
func sabotage(e *env, args []string) error {
	what, changed := "", false
	for _, a := range args {
		switch {
		case a == "--changed":
			changed = true
		case what == "" && !strings.HasPrefix(a, "-"):
			what = strings.TrimSuffix(path.Clean(a), "/...")
		default:
			return usageError(fmt.Sprintf("does not understand %q", a))
		}
	}
	list, err := e.selectSabotages(what, changed)
	if err != nil {
		return err
	}
	if len(list) == 0 && changed {
		e.con.Printf("nothing that a sabotage looks at was changed")
		return nil
	}
	if len(list) == 0 {
		return usageError(fmt.Sprintf("nothing is called %q; give an id, a row, a module "+
			"or module/package", what))
	}
	title := fmt.Sprintf("%d changes, each must make its test fail for its reason", len(list))
	e.con.Step("sabotage", title,
		func(s *console.Step) error { return e.sabotageStep(s, list) })
	if !e.con.Close("sabotage") {
		return errFailed
	}
	return nil
}

// selectSabotages returns those that what names: everything, an id, a module, or a
// folder of a module; with changed only those near a file that git says changed.
func (e *env) selectSabotages(what string, changed bool) ([]*spec.Sabotage, error) {
	touched := map[string]bool{}
	if changed {
		var err error
		if touched, err = e.changedFolders(); err != nil {
			return nil, err
		}
	}
	var list []*spec.Sabotage
	for _, m := range tree.Names {
		all, err := spec.LoadSabotages(e.top, m)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if matches(s, what) && (!changed || touched[dirOf(s)] || touched[s.Path]) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}

// matches reports whether what names s: "", its id, its module, or a folder.
func matches(s *spec.Sabotage, what string) bool {
	return what == "" || what == s.ID || what == s.Module || what == s.Module+"/"+s.ID ||
		what == s.Row || what == s.Module+"/"+s.Row || strings.HasPrefix(dirOf(s)+"/", what+"/")
}

func dirOf(s *spec.Sabotage) string {
	return path.Join(s.Module, path.Dir(s.File))
}

// changedFolders returns the files that differ from HEAD, and their folders; in a
// clean tree those of the last commit.
func (e *env) changedFolders() (map[string]bool, error) {
	touched := map[string]bool{}
	for _, args := range [][]string{
		{"git", "diff", "--name-only", "HEAD"},
		{"git", "ls-files", "--others", "--exclude-standard"},
		{"git", "diff", "--name-only", "HEAD~1", "HEAD"},
	} {
		if args[len(args)-1] == "HEAD" && args[3] == "HEAD~1" && len(touched) > 0 {
			break
		}
		out, err := proc.Run(e.ctx, proc.Cmd{Dir: e.top, Args: args})
		if err != nil {
			return nil, err
		}
		for _, file := range strings.Fields(out) {
			touched[file], touched[path.Dir(file)] = true, true
		}
	}
	return touched, nil
}

func (e *env) sabotageStep(s *console.Step, list []*spec.Sabotage) error {
	tmp, err := os.MkdirTemp("", "m0-sabotage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	r := &spec.Runner{Top: e.top, Tmp: tmp}
	outcomes := runAll(e.ctx, r, list, func(o spec.Outcome) {
		s.Doing("after " + o.Sabotage.ID)
		s.Printf("%-13s %-28s %-14s %5.1fs", o.Verdict, o.Sabotage.Module+"/"+o.Sabotage.ID,
			o.Sabotage.Row, o.Took.Seconds())
	})
	count := map[spec.Verdict]int{}
	for _, o := range outcomes {
		count[o.Verdict]++
		if o.Verdict != spec.Killed {
			s.Printf("\n%s: %s\n  gate: %s\n%s", o.Sabotage.Path, o.Verdict, o.Sabotage.Gate, tail(o.Detail))
		}
	}
	s.Printf("%d killed of %d", count[spec.Killed], len(list))
	if missed := len(list) - count[spec.Killed]; missed > 0 {
		return fmt.Errorf("%d sabotages are misses: %v", missed, misses(count))
	}
	return nil
}

// runAll runs the list a few at a time and reports each as it ends.
func runAll(ctx context.Context, r *spec.Runner, list []*spec.Sabotage,
	report func(spec.Outcome)) []spec.Outcome {
	outcomes := make([]spec.Outcome, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(gatesAtOnce, len(list)) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = r.Run(ctx, list[i])
				report(outcomes[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return outcomes
}

func misses(count map[spec.Verdict]int) string {
	var parts []string
	for _, v := range []spec.Verdict{spec.Survived, spec.Broken, spec.Stale, spec.WrongReason,
		spec.TimedOut, spec.RedBefore} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return strings.Join(parts, ", ")
}

// tail returns the last lines of text, indented.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > detailLines {
		lines = append([]string{"…"}, lines[len(lines)-detailLines:]...)
	}
	return "    " + strings.Join(lines, "\n    ")
}
