// SPDX-License-Identifier: MIT

package fanout

import (
	"cmp"
	"fmt"
	"slices"

	"m0serve.dev/tools/internal/bench"
)

// Row is one side of a workload, the best of its rounds. What a workload does not
// measure is zero.
type Row struct {
	Workload Kind    `json:"workload"`
	Side     string  `json:"side"`
	Streams  int     `json:"streams,omitempty"`
	OpenMs   float64 `json:"open_ms,omitempty"`   // until all streams were open
	Again    int     `json:"again,omitempty"`     // streams that were turned away at first
	IdleKB   float64 `json:"idle_kb,omitempty"`   // Pss of a stream before a publish
	AfterKB  float64 `json:"after_kb,omitempty"`  // and after all
	LiveKB   float64 `json:"live_kb,omitempty"`   // of a stream in a Go heap, after a collection
	TurnMs   float64 `json:"turn_ms,omitempty"`   // that the longest turn of our loop worked
	CPU      float64 `json:"cpu_us,omitempty"`    // of the server for a delivery
	P50      float64 `json:"p50_ms,omitempty"`    // until the last stream had it
	P99      float64 `json:"p99_ms,omitempty"`    // nearest rank: the worst of few
	Ack      float64 `json:"ack_ms,omitempty"`    // the slowest answer to a publish
	Lost     int     `json:"lost,omitempty"`      // deliveries that did not come
	Wanted   int     `json:"wanted,omitempty"`    // events that the healthy stream is due
	Got      int     `json:"got,omitempty"`       // and those that it got
	Mixed    bool    `json:"mixed,omitempty"`     // not in order
	Timeouts int     `json:"timeouts,omitempty"`  // publishes without an answer
	Refused  int     `json:"refused,omitempty"`   // publishes that a worker did not take
	Busy     float64 `json:"busy_core,omitempty"` // share of a core that views took
	Ended    string  `json:"ended,omitempty"`     // why the healthy stream broke off
	Why      string  `json:"why,omitempty"`       // it was not measured
	rounds   int
}

// add takes one more round. The best of each measure counts, by itself; but of
// events that are lost, or mixed up, the worst.
func (r *Row) add(round Row) {
	first := r.rounds == 0
	r.rounds++
	if first {
		workload, side, n := r.Workload, r.Side, r.rounds
		*r = round
		r.Workload, r.Side, r.rounds = workload, side, n
		return
	}
	for _, m := range []struct{ best, got *float64 }{
		{&r.OpenMs, &round.OpenMs}, {&r.IdleKB, &round.IdleKB}, {&r.AfterKB, &round.AfterKB},
		{&r.LiveKB, &round.LiveKB}, {&r.TurnMs, &round.TurnMs},
		{&r.CPU, &round.CPU}, {&r.P50, &round.P50}, {&r.P99, &round.P99}, {&r.Ack, &round.Ack},
	} {
		*m.best = min(*m.best, *m.got)
	}
	r.Again = max(r.Again, round.Again)
	r.Lost, r.Timeouts = max(r.Lost, round.Lost), max(r.Timeouts, round.Timeouts)
	r.Ended = cmp.Or(r.Ended, round.Ended)
	r.Got, r.Mixed = min(r.Got, round.Got), r.Mixed || round.Mixed
	r.Busy, r.Refused = max(r.Busy, round.Busy), max(r.Refused, round.Refused)
}

// isMeasured reports whether there is a good round. One that lost events has no
// latency to compare, and is told by the table.
func (r Row) isMeasured() bool { return r.rounds > 0 && r.Why == "" && r.Lost == 0 }

func rowOf(rows []Row, side string) Row {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Side == side })
	if i < 0 {
		return Row{Side: side, Why: "left out"}
	}
	return rows[i]
}

// percentile is the value below which p of 100 lie, by nearest rank.
func percentile(of []float64, p int) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// Table is what a workload gave, for people.
func (w Workload) Table(rows []Row) string {
	columns := w.columns()
	var lines []bench.Line
	for _, r := range rows {
		l := bench.Line{Side: r.Side, Cells: bench.Cells(columns, r), Why: r.Why}
		if r.rounds == 0 {
			l.Why = cmp.Or(l.Why, "no round")
		}
		if r.Lost > 0 {
			l.Notes = append(l.Notes, fmt.Sprintf("(%d deliveries lost)", r.Lost))
		}
		if r.Ended != "" {
			l.Notes = append(l.Notes, "("+r.Ended+")")
		}
		if r.Again > 0 {
			l.Notes = append(l.Notes, fmt.Sprintf("(%d streams turned away at first)", r.Again))
		}
		lines = append(lines, l)
	}
	return bench.Table(string(w.Kind), bench.Heads(columns), lines)
}

type column = bench.Column[Row]

func (w Workload) columns() []column {
	number := func(head string, of func(Row) float64) column {
		return column{Head: head, Value: func(r Row) string { return bench.Cell(of(r)) }}
	}
	last := []column{number("p50 ms", func(r Row) float64 { return r.P50 }),
		number("p99 ms", func(r Row) float64 { return r.P99 })}
	ack := number("ack ms", func(r Row) float64 { return r.Ack })
	memory := []column{number("idle KB", func(r Row) float64 { return r.IdleKB }),
		number("after KB", func(r Row) float64 { return r.AfterKB })}
	cpu := number("CPU us", func(r Row) float64 { return r.CPU })
	open := number("open ms", func(r Row) float64 { return r.OpenMs })
	switch w.Kind {
	case Streams:
		memory = append(memory, number("live KB", func(r Row) float64 { return r.LiveKB }))
		last = append(last, number("turn ms", func(r Row) float64 { return r.TurnMs }))
	case Stalled:
		return []column{
			{Head: "got", Value: func(r Row) string { return fmt.Sprintf("%d/%d", r.Got, r.Wanted) }},
			{Head: "order", Value: func(r Row) string {
				return map[bool]string{false: "kept", true: "BROKEN"}[r.Mixed]
			}},
			{Head: "timeouts", Value: func(r Row) string { return fmt.Sprint(r.Timeouts) }}, ack,
		}
	case Busy:
		return slices.Concat(last, []column{cpu}, memory, []column{open,
			number("views' core", func(r Row) float64 { return r.Busy })})
	case Sibling:
		count := func(head string, of func(Row) int) column {
			return column{Head: head, Value: func(r Row) string { return fmt.Sprint(of(r)) }}
		}
		return append(last, ack, count("refused", func(r Row) int { return r.Refused }),
			count("unanswered", func(r Row) int { return r.Timeouts }))
	}
	return slices.Concat(memory, []column{cpu}, last, []column{ack, open})
}
