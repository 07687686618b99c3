// SPDX-License-Identifier: MIT

package fanout

// Names of sides that the rules about figures know.
const (
	ours     = "m0serve" // published by m0pub's socket
	oursGRIP = "m0serve-grip"
	oursGo   = "sse" // a Go program with a hub of ours
	floor    = "floor"
	nchan    = "nchan"
	nethttp  = "nethttp"
	fasthttp = "fasthttp"
	pushpin  = "pushpin"
	daphne   = "daphne"
)

// Sides of ours alone: what one server does in two conditions.
const (
	idle    = "idle"
	busy    = "busy"
	all     = "all run"
	stopped = "one stopped"
)

// Kind is what is done to the sides.
type Kind string

// Kinds of workloads.
const (
	Fanout  Kind = "fanout"  // events to all streams: memory, CPU, latency
	Streams Kind = "streams" // the same, of Go programs
	Stalled Kind = "stalled" // events to one stream beside others that nobody reads
	Busy    Kind = "busy"    // events to all while views compute, and while none do
	Sibling Kind = "sibling" // publishes of a view beside a worker that is stopped
)

// Workload is one kind of load on some sides.
type Workload struct {
	Kind    Kind
	What    string
	Sides   []string // the first is ours
	Streams int      // that are read
	Deaf    int      // more streams, which are not
	Times   int      // publishes
	Bytes   int      // of each
	GapMs   int      // at least, between two
}

// Workloads returns all, small ones for a quick look.
func Workloads(quick bool) []Workload {
	pick := func(usual, small int) int {
		if quick {
			return small
		}
		return usual
	}
	hubs := []string{ours, oursGRIP, nchan, pushpin, nethttp, "r3labs", "gosse", "mercure",
		daphne}
	return []Workload{
		{Kind: Fanout, What: "one event to all streams, server and crowd on a core each",
			Sides: append([]string{ours, floor}, hubs[1:]...), Streams: pick(5000, 1000),
			Times: pick(40, 20), Bytes: 100},
		{Kind: Stalled, What: "a stream that is read beside 5 that are not",
			Sides: hubs, Streams: 1, Deaf: 5, Times: pick(1500, 600), Bytes: 20 << 10},
		{Kind: Busy, What: "one event to all streams beside views of 50 ms CPU, 6 a second",
			Sides: []string{idle, busy}, Streams: pick(10000, 1000), Times: pick(100, 20),
			Bytes: 100, GapMs: 80},
		{Kind: Sibling, What: "publishes of a view, two workers",
			Sides: []string{stopped, all}, Times: pick(4000, 1000), Bytes: 4 << 10},
	}
}

// StreamsWorkloads returns what is measured of Go programs, which need no Python.
func StreamsWorkloads(quick bool) []Workload {
	w := Workload{Kind: Streams, What: "one event to all streams of a Go program, a core each",
		Sides:   []string{oursGo, floor, nethttp, fasthttp, nchan, "gosse", "r3labs", "mercure"},
		Streams: 10000, Times: 40, Bytes: 200}
	if quick {
		w.Streams, w.Times = 1000, 20
	}
	return []Workload{w}
}

// isOurs reports whether a side cannot be left out.
func isOurs(side string) bool { return side == ours || side == oursGRIP || side == oursGo }

// CanDrop reports whether a side may be left out of a workload.
func (w Workload) CanDrop(side string) bool {
	return !w.isPair() && !isOurs(side)
}
