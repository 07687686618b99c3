// SPDX-License-Identifier: MIT

// Package results writes what benches have measured for people to read: one table of
// all figures in Markdown, and a picture for each bench. It measures nothing, and the
// same figures give the same files.
package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/bench"
)

// Run is one run of benches, as "bench --json" prints it.
type Run struct {
	Machine bench.Machine  `json:"machine"`
	Command string         `json:"command"`
	Figures []bench.Figure `json:"figures"`
}

// Parse reads a run; figures that do not say of which bench they are, are of that
// called name.
func Parse(text []byte, name string) (r Run, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("results: %s: %w", name, err)
	}
	if len(r.Figures) == 0 {
		return r, fmt.Errorf("results: %s has no figures", name)
	}
	for i := range r.Figures {
		if r.Figures[i].Bench == "" {
			r.Figures[i].Bench = name
		}
	}
	return r, nil
}

// Benches are the names of all benches in the runs, in their order.
func Benches(runs []Run) (names []string) {
	for _, f := range figures(runs) {
		if !slices.Contains(names, f.Bench) {
			names = append(names, f.Bench)
		}
	}
	return names
}

// figures are those of all runs.
func figures(runs []Run) (all []bench.Figure) {
	for _, r := range runs {
		all = append(all, r.Figures...)
	}
	return all
}

// of are the figures of one bench.
func of(runs []Run, name string) []bench.Figure {
	return slices.DeleteFunc(figures(runs), func(f bench.Figure) bool { return f.Bench != name })
}

// Markdown is the table, with the machines and commands above it. Pictures of the
// benches are beside it, as Picture names them.
func Markdown(runs []Run) string {
	var b strings.Builder
	b.WriteString("# Figures\n\nOurs and a rival took turns in one run, and the best of each " +
		"counts. Only\nratios can be compared with those of another machine.\n")
	for _, r := range runs {
		fmt.Fprintf(&b, "\nOn %s:\n\n    %s\n", r.Machine, r.Command)
	}
	all, met := figures(runs), 0
	for _, f := range all {
		if f.Met() {
			met++
		}
	}
	fmt.Fprintf(&b, "\n%d of %d figures are met.\n\n", met, len(all))
	b.WriteString("| bench | figure | ours | rival | | ratio | target | |\n" +
		"|---|---|--:|--:|---|--:|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %s | %s, %s | %s | %s | %s | %s | %s | %s |\n",
			cell(f.Bench), cell(f.Name), cell(f.Unit), bench.Number(f.Ours), bench.Number(f.Other),
			cell(f.Rival), bench.Ratio(f.Got()), cell(f.Target()), cell(f.Verdict()))
	}
	for _, name := range Benches(runs) {
		fmt.Fprintf(&b, "\n![%s beside its rivals](%s)\n", name, Picture(name))
	}
	return b.String()
}

// Picture is the name of the file with the picture of a bench.
func Picture(name string) string { return name + ".svg" }

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
