// SPDX-License-Identifier: MIT

package metrics

import (
	"strconv"

	"m0serve.dev/http/loop"
)

// A Reading is a family whose samples are read from figures of type S, for who has
// them of several workers and gives each samples a label of its own.
type Reading[S any] struct {
	Family
	Each func(s *S, w *Writer)
}

// collectAll makes the families in r; stats is called once for each, when somebody
// asks.
func collectAll[S any](r *Registry, readings []Reading[S], stats func() S) {
	for _, reading := range readings {
		r.Collect(reading.Family, func(w *Writer) {
			s := stats()
			reading.Each(&s, w)
		})
	}
}

// Engine shows what the engine counts; stats is Server.Stats.
func Engine(r *Registry, stats func() loop.Stats) { collectAll(r, EngineReadings(), stats) }

// EngineReadings are the families of the engine.
func EngineReadings() []Reading[loop.Stats] {
	type stats = loop.Stats
	gauge := func(name, help string, value func(s *stats) int64) Reading[stats] {
		return Reading[stats]{Family{Name: name, Help: help, Kind: KindGauge},
			func(s *stats, w *Writer) { Whole(w, value(s)) }}
	}
	counter := func(name, help string, each func(s *stats, w *Writer)) Reading[stats] {
		return Reading[stats]{Family{Name: name, Help: help, Kind: KindCounter}, each}
	}
	return []Reading[stats]{
		gauge("m0_connections", "Connections that are open.",
			func(s *stats) int64 { return s.Conns }),
		gauge("m0_connections_held", "Open connections that are held streams or WebSockets.",
			func(s *stats) int64 { return s.Held }),
		counter("m0_requests", "Requests that were read.",
			func(s *stats, w *Writer) { Whole(w, s.Requests) }),
		counter("m0_requests_refused", "Requests refused as malformed or beyond a limit.",
			func(s *stats, w *Writer) { Whole(w, s.RefusedRequests) }),
		counter("m0_takeovers", "Handlers that blocked and lost the loop.",
			func(s *stats, w *Writer) { Whole(w, s.Takeovers) }),
		counter("m0_handovers",
			"Requests that left the loop: their answer is streamed, or their route is often late.",
			func(s *stats, w *Writer) {
				Whole(w, s.Detached, "cause", "stream")
				Whole(w, s.Pooled, "cause", "late_route")
			}),
		gauge("m0_handlers_off_loop", "Handlers that run off the loop.",
			func(s *stats) int64 { return s.OffLoop }),
		gauge("m0_handlers_waiting", "Requests that wait for a place off the loop.",
			func(s *stats) int64 { return s.Waiting }),
		gauge("m0_kept_bytes", "Answers that wait in memory for clients that do not read.",
			func(s *stats) int64 { return s.Kept }),
		counter("m0_kept_full", "Long answers that wait in their handler, since no more is kept.",
			func(s *stats, w *Writer) { Whole(w, s.KeptFull) }),
		counter("m0_panics", "Handlers that panicked.",
			func(s *stats, w *Writer) { Whole(w, s.Panics) }),
		counter("m0_drops", "What a bound refused.", func(s *stats, w *Writer) {
			Whole(w, s.DroppedConns, "cause", "max_connections")
			Whole(w, s.DroppedDescriptors, "cause", "descriptors")
			Whole(w, s.DroppedBlocking, "cause", "handler_queue")
			Whole(w, s.DroppedRequests, "cause", "requests_per_connection")
		}),
		counter("m0_timeouts", "Connections cut because a peer was too slow.",
			func(s *stats, w *Writer) {
				Whole(w, s.TimeoutsRead, "phase", "read")
				Whole(w, s.TimeoutsWrite, "phase", "write")
			}),
		{Family{Name: "m0_loop_turn_seconds", Unit: "seconds", Kind: KindHistogram,
			Help: "Turns of the loops from wait to wait, every 16th; those lost to a takeover are not."},
			turns},
	}
}

func turns(s *loop.Stats, w *Writer) {
	var bounds [loop.TurnBuckets - 1]float64
	for i := range bounds {
		bounds[i] = loop.TurnBound(i).Seconds()
	}
	w.Histogram(bounds[:], s.Turns.Buckets[:], s.Turns.Total.Seconds())
}

// A Worker is one worker's line on the page that all of them share. A
// host.WorkerStats can be converted into it.
type Worker struct {
	Index       int
	PID         int
	State       string // vacant, starting, ready or draining
	Connections int
	Handoffs    uint64 // connections it passed to a sibling
	Taken       uint64 // connections it got from one
	Drops       uint64 // events that publishers dropped for it
}

// Workers shows what every worker knows of all: each by its index, and all together.
// While one is replaced its successor has the same index: they count as one.
func Workers(r *Registry, workers func() []Worker) {
	show := func(f Family, all string, value func(*Worker) float64) {
		sum := f
		sum.Name = all
		r.Collect(f, func(w *Writer) {
			indexes, values := byIndex(workers(), value)
			for i, index := range indexes {
				w.Sample(values[i], "worker", strconv.Itoa(index))
			}
		})
		sum.Help += " All workers together."
		r.Collect(sum, func(w *Writer) {
			total := 0.0
			for _, one := range workers() {
				total += value(&one)
			}
			w.Sample(total)
		})
	}
	show(Family{Name: "m0_worker_processes", Kind: KindGauge,
		Help: "Processes that serve; two while one replaces the other."}, "m0_service_processes",
		func(*Worker) float64 { return 1 })
	show(Family{Name: "m0_worker_connections", Kind: KindGauge, Help: "Open connections."},
		"m0_service_connections", func(one *Worker) float64 { return float64(one.Connections) })
	show(Family{Name: "m0_worker_handoffs", Kind: KindCounter,
		Help: "Connections passed to a sibling."}, "m0_service_handoffs",
		func(one *Worker) float64 { return float64(one.Handoffs) })
	show(Family{Name: "m0_worker_taken", Kind: KindCounter,
		Help: "Connections got from a sibling."}, "m0_service_taken",
		func(one *Worker) float64 { return float64(one.Taken) })
	show(Family{Name: "m0_worker_bus_drops", Kind: KindCounter,
		Help: "Events that publishers dropped for the worker."}, "m0_service_bus_drops",
		func(one *Worker) float64 { return float64(one.Drops) })
}

// byIndex adds the values of equal indexes up. The workers come in order.
func byIndex(workers []Worker, value func(*Worker) float64) (indexes []int, values []float64) {
	for i := range workers {
		v := value(&workers[i])
		if n := len(indexes); n > 0 && indexes[n-1] == workers[i].Index {
			values[n-1] += v
			continue
		}
		indexes, values = append(indexes, workers[i].Index), append(values, v)
	}
	return indexes, values
}
