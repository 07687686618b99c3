// SPDX-License-Identifier: MIT

// Package results writes what benches have measured for people to read: a page and one
// table of all figures in Markdown, and a picture for each bench. It measures nothing, and the
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

// TableFile is the name of the file with the table, beside the page.
const TableFile = "table.md"

// Page says how many figures of each bench are met, which are not, and with what
// machines and commands they were measured. Below are the pictures, as Picture names them.
func Page(runs []Run) string {
	var b strings.Builder
	all := figures(runs)
	fmt.Fprintf(&b, "# Figures\n\nOurs and a rival took turns in one run, and the best of each "+
		"counts. Only ratios can be compared\nwith those of another machine. %d of %d figures are met; "+
		"["+TableFile+"]("+TableFile+") has all of them.\n\nWhere the time goes, and why a figure is "+
		"missed, stands in the doc.go or README.md of its module.\n\n"+
		"| bench | met | missed | not measured |\n|---|--:|---|---|\n", countMet(all), len(all))
	for _, name := range Benches(runs) {
		list := of(runs, name)
		var missed, absent []string
		for _, f := range list {
			title := cell(strings.TrimPrefix(f.Name, name+" ") + ", " + f.Unit + " / " + f.Rival)
			switch {
			case f.Met():
			case f.Measured():
				missed = append(missed, fmt.Sprintf("%s: %s, %s", title, bench.Ratio(f.Got()), f.Target()))
			default:
				absent = append(absent, title)
			}
		}
		fmt.Fprintf(&b, "| [%s](%s#%s) | %d of %d | %s | %s |\n", name, TableFile, name, countMet(list),
			len(list), strings.Join(missed, "; "), strings.Join(absent, "; "))
	}
	for _, r := range runs {
		fmt.Fprintf(&b, "\nOn %s:\n\n    %s\n", r.Machine, r.Command)
	}
	for _, name := range Benches(runs) {
		fmt.Fprintf(&b, "\n![%s beside its rivals](%s)\n", name, Picture(name))
	}
	return b.String()
}

func countMet(list []bench.Figure) (n int) {
	for _, f := range list {
		if f.Met() {
			n++
		}
	}
	return n
}

// Table is all figures, a part for each bench.
func Table(runs []Run) string {
	var b strings.Builder
	b.WriteString("# All figures\n\nMachines, commands and pictures are in [README.md](README.md).\n")
	for _, name := range Benches(runs) {
		fmt.Fprintf(&b, "\n## %s\n\n| figure | ours | rival | | ratio | target | |\n"+
			"|---|--:|--:|---|--:|---|---|\n", name)
		for _, f := range of(runs, name) {
			fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | %s | %s | %s |\n",
				cell(strings.TrimPrefix(f.Name, name+" ")), cell(f.Unit), bench.Number(f.Ours),
				bench.Number(f.Other), cell(f.Rival), bench.Ratio(f.Got()), cell(f.Target()), cell(f.Verdict()))
		}
	}
	return b.String()
}

// Picture is the name of the file with the picture of a bench.
func Picture(name string) string { return name + ".svg" }

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
