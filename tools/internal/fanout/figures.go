// SPDX-License-Identifier: MIT

package fanout

import (
	"fmt"
	"slices"

	"m0serve.dev/tools/internal/bench"
)

// Bounds of what is promised.
const (
	memoryOfNchan = 1.0 / 5
	memoryOfStd   = 1.0 / 10
	memoryKB      = 2.0  // of a stream
	cpuUs         = 11.0 // of a delivery; or what nchan takes
	lastOfFloor   = 1.3
	lastOfPushpin = 1 / 2.5
	busyOfIdle    = 1.5
	publishMs     = 1.0
	liveKB        = 1.0 // of a stream of a Go program
	cpuOfStd      = 0.8
	turnMs        = 10.0
	unansweredMs  = 5000 // after that m0pub gives up
)

// Figures compares the rows of a workload as it was promised.
func (w Workload) Figures(rows []Row) []bench.Figure {
	switch w.Kind {
	case Fanout:
		return fanoutFigures(rows)
	case Streams:
		return streamsFigures(rows)
	case Stalled:
		our := rowOf(rows, ours)
		f := bench.Figure{Name: "realtime beside stalled", Unit: "events", Rival: "published",
			Ratio: 1, MoreIsBetter: true, Ours: float64(our.Got), Other: float64(our.Wanted)}
		if our.Why != "" || our.Mixed {
			f.Ours, f.Why = 0, whyNot(our)
		}
		return []bench.Figure{f}
	case Busy:
		quiet, loaded := rowOf(rows, idle), rowOf(rows, busy)
		f := pairOf("realtime beside busy views", "p99 ms", loaded, quiet,
			func(r Row) float64 { return r.P99 })
		f.Ratio = busyOfIdle
		memory := bench.Figure{Name: "realtime many streams", Unit: "KB/stream", Rival: "bound",
			Ours: quiet.IdleKB, Other: memoryKB, Ratio: 1}
		return []bench.Figure{f, memory}
	}
	f := pairOf("realtime beside a stopped worker", "longest ms", rowOf(rows, stopped),
		rowOf(rows, all), func(r Row) float64 { return r.Ack })
	f.Limit = publishMs
	if n := rowOf(rows, stopped).Timeouts; n > 0 { // whatever the best round says
		f.Ours, f.Why = unansweredMs, fmt.Sprintf("%d publishes were not answered", n)
	}
	return []bench.Figure{f}
}

func fanoutFigures(rows []Row) []bench.Figure {
	our, grip := rowOf(rows, ours), rowOf(rows, oursGRIP)
	figure := func(name, unit string, our Row, rival string, ratio float64,
		of func(Row) float64) bench.Figure {
		f := pairOf("realtime "+name, unit, our, rowOf(rows, rival), of)
		f.Ratio = ratio
		return f
	}
	idleKB := func(r Row) float64 { return r.IdleKB }
	afterKB := func(r Row) float64 { return r.AfterKB }
	last := func(r Row) float64 { return r.P50 }
	cpu := figure("delivery", "CPU us", our, nchan, 1, func(r Row) float64 { return r.CPU })
	if cpu.Ours > 0 && cpu.Ours <= cpuUs {
		cpu.Ratio, cpu.Limit = 0, cpuUs // one of the two was promised
	}
	figures := []bench.Figure{
		figure("memory", "KB/stream", our, nchan, memoryOfNchan, idleKB),
		figure("memory", "KB/stream", our, nethttp, memoryOfStd, idleKB),
		figure("memory after", "KB/stream", our, nchan, memoryOfNchan, afterKB),
		figure("memory after", "KB/stream", our, nethttp, memoryOfStd, afterKB),
		cpu,
		figure("last stream", "p50 ms", our, floor, lastOfFloor, last),
		figure("last stream", "p50 ms", grip, pushpin, lastOfPushpin, last),
	}
	return withoutDropped(figures, rows)
}

// withoutDropped leaves out figures of rivals that the flags have left out.
func withoutDropped(figures []bench.Figure, rows []Row) []bench.Figure {
	return slices.DeleteFunc(figures, func(f bench.Figure) bool {
		return f.Rival != "bound" &&
			!slices.ContainsFunc(rows, func(r Row) bool { return r.Side == f.Rival })
	})
}

// streamsFigures are those of Go programs. The live memory is what a stream keeps; what
// the system sees is more, because a Go heap grows to twice that before a collection.
func streamsFigures(rows []Row) []bench.Figure {
	our := rowOf(rows, oursGo)
	var figures []bench.Figure
	add := func(name, unit, rival string, ratio, limit float64, of func(Row) float64) {
		f := pairOf("streams "+name, unit, our, rowOf(rows, rival), of)
		f.Ratio, f.Limit = ratio, limit
		figures = append(figures, f)
	}
	for _, rival := range []string{nethttp, fasthttp, "gosse", "r3labs", "mercure"} {
		add("live memory", "KB/stream", rival, 1, liveKB, func(r Row) float64 { return r.LiveKB })
	}
	for _, rival := range []string{nethttp, nchan} {
		add("memory, Pss", "KB/stream", rival, 1, 0, func(r Row) float64 { return r.IdleKB })
	}
	cpu := func(r Row) float64 { return r.CPU }
	add("delivery", "CPU us", nethttp, cpuOfStd, 0, cpu)
	add("delivery", "CPU us", nchan, 1, 0, cpu)
	add("delivery", "CPU us", floor, lastOfFloor, 0, cpu) // the last one's time, on any machine
	add("last stream", "p50 ms", floor, lastOfFloor, 0, func(r Row) float64 { return r.P50 })
	turn := bench.Figure{Name: "streams longest turn", Unit: "ms", Rival: "bound", Ratio: 1,
		Ours: our.TurnMs, Other: turnMs}
	if !our.isMeasured() {
		turn.Ours, turn.Why = 0, whyNot(our)
	}
	return withoutDropped(append(figures, turn), rows)
}

// pairOf is a figure of two rows; where one has none it says why.
func pairOf(name, unit string, our, rival Row, of func(Row) float64) bench.Figure {
	f := bench.Figure{Name: name, Unit: unit, Rival: rival.Side}
	for _, r := range []Row{our, rival} {
		if !r.isMeasured() {
			f.Why = r.Side + " has no figure"
			return f
		}
	}
	f.Ours, f.Other = of(our), of(rival)
	return f
}

func whyNot(r Row) string {
	if r.Mixed {
		return "events were out of order"
	}
	return r.Side + " has no figure"
}
