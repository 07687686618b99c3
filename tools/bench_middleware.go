// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// Lengths of the measurements: many short rounds, so that some of each side are not
// disturbed.
const (
	middlewareRounds = 20
	middlewareTime   = "40ms"
)

// sameCoder bounds ours beside a rival that codes with the same package: all but some
// hundred nanoseconds is that package's, and two runs of it differ by as much.
const sameCoder = 1.01

// A middlewarePair is ours and the best-known of its kind.
type middlewarePair struct{ load, rival string }

// most is the bound on ours divided by the rival's.
func (p middlewarePair) most() float64 {
	if p.rival == "gzhttp" {
		return sameCoder
	}
	return 1
}

var middlewarePairs = []middlewarePair{
	{"Auth/basic/guard", "chi"}, {"Auth/basic/user", "chi"},
	{"Auth/bearer/guard", "chi"}, {"Auth/bearer/user", "chi"},
	{"RequestID", "chi"},
	{"CORS/none", "rs"}, {"CORS/simple", "rs"}, {"CORS/preflight", "rs"},
	{"Negotiate/one", "goautoneg"}, {"Negotiate/one", "contenttype"},
	{"Negotiate/browser", "goautoneg"}, {"Negotiate/browser", "contenttype"},
	{"ETag/200/1KB", "fiber"}, {"ETag/304/1KB", "fiber"},
	{"ETag/200/50KB", "fiber"}, {"ETag/304/50KB", "fiber"},
	{"Cache/hit", "gin"}, {"Cache/hit", "fiber"}, {"Cache/miss", "gin"},
	{"Compress/gzip/1KB", "gzhttp"}, {"Compress/gzip/1KB", "httpcompression"},
	{"Compress/zstd/1KB", "gzhttp"}, {"Compress/zstd/1KB", "httpcompression"},
	{"Compress/gzip/50KB", "gzhttp"}, {"Compress/gzip/50KB", "httpcompression"},
	{"Compress/zstd/50KB", "gzhttp"}, {"Compress/zstd/50KB", "httpcompression"},
}

// A costLine is what one benchmark of a round says: nanoseconds of the processor, and
// allocations.
var costLine = regexp.MustCompile(
	`(?m)^Benchmark(\S*?)(?:-\d+)?\s.*?([\d.e+]+) cpu-ns/op.*?(\d+) allocs/op`)

// A cost is the best of all rounds.
type cost struct{ ns, allocs bench.Best }

// benchMiddleware asks what stands between server and application, without a server:
// the time of the processor, which other work on the machine does not count in, and
// allocations, of which ours may have no more.
func (e *env) benchMiddleware(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	dir := filepath.Join(e.top, "tools", "rivals", "middleware")
	costs := map[string]*cost{}
	rounds := o.rounds(middlewareRounds)
	for round := range rounds {
		s.Doing(fmt.Sprintf("round %d of %d", round+1, rounds))
		out, err := proc.Run(e.ctx, proc.Cmd{Dir: dir, Args: []string{
			"go", "test", "-run", "^$", "-bench", ".", "-benchtime", middlewareTime, "."}})
		if err != nil {
			return nil, err
		}
		addCosts(costs, out)
	}
	return middlewareFigures(costs)
}

func addCosts(costs map[string]*cost, out string) {
	for _, m := range costLine.FindAllStringSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		allocs, err2 := strconv.ParseFloat(m[3], 64)
		if err != nil || err2 != nil {
			continue
		}
		if costs[m[1]] == nil {
			costs[m[1]] = &cost{}
		}
		costs[m[1]].ns.Add(ns)
		costs[m[1]].allocs.Add(allocs)
	}
}

// middlewareFigures are one for each pair. The error names those of ours that allocate
// more than the rival.
func middlewareFigures(costs map[string]*cost) (figures []bench.Figure, err error) {
	var more []string
	for _, p := range middlewarePairs {
		ours, rival := costs[p.load+"/ours"], costs[p.load+"/"+p.rival]
		if ours == nil || rival == nil {
			return nil, fmt.Errorf("bench: no benchmark of %s beside %s", p.load, p.rival)
		}
		figures = append(figures, bench.Figure{
			Name: strings.ToLower(p.load), Unit: "CPU ns", Rival: p.rival, Ratio: p.most(),
			Ours: ours.ns.Value(), Other: rival.ns.Value(),
			Why: fmt.Sprintf("%.0f and %.0f allocations", ours.allocs.Value(), rival.allocs.Value()),
		})
		if ours.allocs.Value() > rival.allocs.Value() {
			more = append(more, p.load+" than "+p.rival)
		}
	}
	if more != nil {
		err = fmt.Errorf("bench: more allocations in %s", strings.Join(more, ", "))
	}
	return figures, err
}
