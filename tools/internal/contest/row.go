// SPDX-License-Identifier: MIT

package contest

import (
	"cmp"
	"fmt"

	"m0serve.dev/tools/internal/bench"
)

// Row is one side of a workload, the best of its rounds.
type Row struct {
	Workload string       `json:"workload"`
	Side     string       `json:"side"`
	Rate     float64      `json:"per_second"`
	CPU      float64      `json:"cpu_us"` // of a request, all processes of the server
	P50      float64      `json:"p50_ms"`
	P99      float64      `json:"p99_ms"`
	Slow     float64      `json:"slow_per_second,omitempty"`
	Memory   bench.Memory `json:"memory"`            // all processes, after the load
	Worker   bench.Memory `json:"worker"`            // the largest process
	Full     bool         `json:"load_full"`         // the load had no more to give
	Trouble  string       `json:"trouble,omitempty"` // errors that wrk counted
	Why      string       `json:"why,omitempty"`     // it was not measured
	rounds   int
}

// add takes one more round. The best of each measure counts, by itself.
func (r *Row) add(round Row) {
	first := r.rounds == 0
	r.rounds++
	if first || round.Rate > r.Rate {
		r.Rate, r.Full, r.Trouble = round.Rate, round.Full, round.Trouble
	}
	r.Slow = max(r.Slow, round.Slow)
	for _, m := range []struct{ best, got *float64 }{
		{&r.CPU, &round.CPU}, {&r.P50, &round.P50}, {&r.P99, &round.P99},
	} {
		if first || *m.got < *m.best {
			*m.best = *m.got
		}
	}
	if first || round.Memory.Pss < r.Memory.Pss {
		r.Memory = round.Memory
	}
	if first || round.Worker.Pss < r.Worker.Pss {
		r.Worker = round.Worker
	}
}

// isMeasured reports whether there is a good round.
func (r Row) isMeasured() bool { return r.rounds > 0 && r.Why == "" }

// Figures compares the first row with those that the workload has targets for.
func (w Workload) Figures(rows []Row) []bench.Figure {
	var figures []bench.Figure
	for _, t := range w.Targets {
		if rival, ok := rowOf(rows, t.Rival); ok && len(rows) > 0 {
			figures = append(figures, w.figure(rows[0], rival, t))
		}
	}
	return figures
}

func (w Workload) figure(our, rival Row, t Target) bench.Figure {
	f := bench.Figure{Name: fmt.Sprintf("%s %s", w.Kind, w.Name), Unit: "requests/s",
		Rival: rival.Side, Ratio: t.Ratio, Over: t.Over, MoreIsBetter: true}
	for _, r := range []Row{our, rival} {
		if !r.isMeasured() {
			f.Why = r.Side + " has no figure"
			return f
		}
	}
	switch {
	case w.Idle:
		f.Unit, f.MoreIsBetter = "MB Pss", false
		f.Ours, f.Other = our.Worker.Pss, rival.Worker.Pss
	case (our.Full || rival.Full) && our.CPU > 0 && rival.CPU > 0:
		f.PerCPU(our.CPU, rival.CPU)
	default:
		f.Ours, f.Other = our.Rate, rival.Rate
	}
	return f
}

func rowOf(rows []Row, side string) (Row, bool) {
	for _, r := range rows {
		if r.Side == side {
			return r, true
		}
	}
	return Row{}, false
}

// Table is what a workload gave, for people.
func (w Workload) Table(rows []Row) string {
	figures := w.Figures(rows)
	var lines []bench.Line
	for i, r := range rows {
		l := bench.Line{Side: r.Side, Notes: r.notes(figures), Full: r.Full}
		if !r.isMeasured() {
			l.Why = cmp.Or(r.Why, "no round")
		}
		ratio := "-"
		if i > 0 && rows[0].isMeasured() && r.isMeasured() {
			f := w.figure(rows[0], r, Target{})
			ratio = fmt.Sprintf("%.2fx", f.Got())
		}
		l.Cells = []string{bench.RateCell(r.Rate, r.Full), bench.Cell(r.CPU), bench.Cell(r.P50),
			bench.Cell(r.P99), bench.Cell(r.Memory.Pss), bench.Cell(r.Memory.RSS), ratio}
		lines = append(lines, l)
	}
	heads := []string{"req/s", "CPU us", "p50 ms", "p99 ms", "Pss MB", "RSS MB", "ours/it", "target"}
	return bench.Table(w.Name, heads, lines)
}

// notes are the target of a row, and what else is to be said.
func (r Row) notes(figures []bench.Figure) (notes []string) {
	for _, f := range figures {
		if f.Rival == r.Side {
			notes = append(notes, f.Target()+" "+f.Verdict())
		}
	}
	if r.Worker.Pss > 0 && r.Worker.Pss < r.Memory.Pss {
		notes = append(notes, fmt.Sprintf("(worker: %.1f MB)", r.Worker.Pss))
	}
	if r.Slow > 0 {
		notes = append(notes, fmt.Sprintf("(slow: %.0f/s)", r.Slow))
	}
	if r.Trouble != "" {
		notes = append(notes, "("+r.Trouble+")")
	}
	return notes
}
