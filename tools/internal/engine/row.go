// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"m0serve.dev/tools/internal/bench"
)

// Row is one side of a workload, the best of its rounds; what was not measured is zero.
type Row struct {
	Workload  string  `json:"workload"`
	Side      string  `json:"side"`
	Rate      float64 `json:"per_second,omitempty"`
	CPU       float64 `json:"cpu_us,omitempty"` // of a request
	P50       float64 `json:"p50_ms,omitempty"` // Steady: of the quick requests
	P99       float64 `json:"p99_ms,omitempty"`
	P999      float64 `json:"p999_ms,omitempty"`
	Takeovers float64 `json:"takeovers,omitempty"`
	Still     float64 `json:"still_seconds,omitempty"` // without a wake-up, the fewest
	Watched   float64 `json:"watched_seconds,omitempty"`
	Woken     int     `json:"wake_ups,omitempty"`         // the most
	Generator float64 `json:"generator_p99_ms,omitempty"` // how late the load itself was
	Full      bool    `json:"load_full,omitempty"`        // the load had no more to give
	Busy      string  `json:"busy,omitempty"`
	Late      int     `json:"late_rounds,omitempty"` // do not count: the load was late
	Why       string  `json:"why,omitempty"`         // it was not measured
	rounds    int
}

// add takes one more round. The best of each measure counts, by itself; but of seconds
// without a wake-up the fewest, since nothing else wakes a process that waits.
func (r *Row) add(round Row) {
	if round.Generator > generatorLateMs {
		r.Late++
		r.Generator = max(r.Generator, round.Generator)
		return
	}
	if r.rounds++; r.rounds == 1 {
		round.Workload, round.Side, round.Late, round.rounds = r.Workload, r.Side, r.Late, r.rounds
		*r = round
		return
	}
	if round.Rate > r.Rate {
		r.Rate, r.Full, r.Busy = round.Rate, round.Full, round.Busy
	}
	for _, m := range []struct{ best, got *float64 }{
		{&r.CPU, &round.CPU}, {&r.P50, &round.P50}, {&r.P99, &round.P99}, {&r.P999, &round.P999},
		{&r.Takeovers, &round.Takeovers}, {&r.Still, &round.Still}, {&r.Generator, &round.Generator},
	} {
		*m.best = min(*m.best, *m.got)
	}
	r.Woken = max(r.Woken, round.Woken)
}

// isMeasured reports whether there is a good round.
func (r Row) isMeasured() bool { return r.rounds > 0 && r.Why == "" }

// whyNot says why there is none, or nothing.
func (r Row) whyNot() string {
	switch {
	case r.isMeasured():
		return ""
	case r.Why == "" && r.Late > 0:
		return fmt.Sprintf("the load itself was late, by %.1f ms at worst", r.Generator)
	}
	return r.Side + " has no figure"
}

// Figures compares the rows as it was promised; rivals that are left out have none.
func (w Workload) Figures(rows []Row) (figures []bench.Figure) {
	for _, t := range w.Targets {
		our, ok := rowOf(rows, t.Ours)
		if !ok {
			continue
		}
		if t.Takeovers > 0 {
			f := w.figure("takeovers of the route", our, Row{Side: "bound"})
			f.Ours, f.Other, f.Ratio = our.Takeovers, t.Takeovers, 1
			figures = append(figures, f)
		}
		if t.Still {
			f := w.figure("seconds without a wake-up", our, Row{Side: "watched"})
			f.Ours, f.Other, f.Ratio, f.MoreIsBetter = our.Still, our.Watched, 1, true
			if our.Woken > 0 {
				f.Why = fmt.Sprintf("%d wake-ups", our.Woken)
			}
			figures = append(figures, f)
		}
		if rival, ok := rowOf(rows, t.Rival); ok {
			figures = append(figures, w.compared(our, rival, t)...)
		}
	}
	return figures
}

// compared are the figures of a target that has a rival.
func (w Workload) compared(our, rival Row, t Target) (figures []bench.Figure) {
	add := func(unit string, ratio float64, of func(Row) float64) *bench.Figure {
		f := w.figure(unit, our, rival)
		f.Ratio = ratio
		if f.Why == "" {
			f.Why = rival.whyNot()
		}
		if our.isMeasured() && rival.isMeasured() {
			f.Ours, f.Other = of(our), of(rival)
		}
		figures = append(figures, f)
		return &figures[len(figures)-1]
	}
	if t.Rate > 0 {
		f := add("requests/s", t.Rate, func(r Row) float64 { return r.Rate })
		f.MoreIsBetter = true
		if f.Ours > 0 && (our.Full || rival.Full) && our.CPU > 0 && rival.CPU > 0 {
			f.PerCPU(our.CPU, rival.CPU)
		}
		if f.Why == "" && !t.enough() {
			f.Ratio = 0
			f.Why = fmt.Sprintf("%d cores do not allow the target of %.1fx", runtime.NumCPU(), t.Rate)
		}
	}
	if t.CPU > 0 {
		add("CPU us/request", t.CPU, func(r Row) float64 { return r.CPU })
	}
	if t.P99 > 0 {
		unit := "p99 ms"
		if w.Slow {
			unit = "quick p99 ms"
		}
		add(unit, t.P99, func(r Row) float64 { return r.P99 }).Limit = t.P99Ms
	}
	return figures
}

// figure is one without measurements.
func (w Workload) figure(unit string, our, rival Row) bench.Figure {
	return bench.Figure{Name: fmt.Sprintf("%s %s %s", w.Bench, w.Name, our.Side), Unit: unit,
		Rival: rival.Side, Why: our.whyNot()}
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
	columns := w.columns()
	var lines []bench.Line
	for _, r := range rows {
		l := bench.Line{Side: r.Side, Cells: bench.Cells(columns, r),
			Why: cmp.Or(r.Why, r.whyNot()), Full: r.Full}
		if r.Late > 0 {
			l.Notes = append(l.Notes,
				fmt.Sprintf("(%d rounds do not count: the load itself was late)", r.Late))
		}
		if r.Busy != "" {
			l.Notes = append(l.Notes, r.Busy)
		}
		lines = append(lines, l)
	}
	return bench.Table(w.Name, bench.Heads(columns), lines)
}

type column = bench.Column[Row]

func (w Workload) columns() []column {
	number := func(head string, of func(Row) float64) column {
		return column{Head: head, Value: func(r Row) string { return bench.Number(of(r)) }}
	}
	if w.Kind == Still {
		return []column{number("seconds", func(r Row) float64 { return r.Watched }),
			number("still", func(r Row) float64 { return r.Still }),
			{Head: "wake-ups", Value: func(r Row) string { return fmt.Sprint(r.Woken) }}}
	}
	last := []column{number("CPU us", func(r Row) float64 { return r.CPU }),
		number("p50 ms", func(r Row) float64 { return r.P50 }),
		number("p99 ms", func(r Row) float64 { return r.P99 })}
	if w.Kind == Steady {
		return append(last, number("p99.9 ms", func(r Row) float64 { return r.P999 }),
			number("late ms", func(r Row) float64 { return r.Generator }))
	}
	rate := column{Head: "req/s", Value: func(r Row) string { return bench.RateCell(r.Rate, r.Full) }}
	if slices.ContainsFunc(w.Targets, func(t Target) bool { return t.Takeovers > 0 }) {
		last = append(last, number("takeovers", func(r Row) float64 { return r.Takeovers }))
	}
	return append([]column{rate}, last...)
}
