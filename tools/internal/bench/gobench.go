// SPDX-License-Identifier: MIT

package bench

import (
	"regexp"
	"strconv"
)

// A line of "go test -bench" has the name, without the number of cores, and metrics, each
// a number before its unit.
var (
	goTime   = regexp.MustCompile(`(?m)^Benchmark([^\s]*?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)
	goCPU    = regexp.MustCompile(`(?m)^Benchmark([^\s]*?)(?:-\d+)?\s.*?([\d.e+]+) cpu-ns/op`)
	goAllocs = regexp.MustCompile(`(?m)^Benchmark([^\s]*?)(?:-\d+)?\s.*?(\d+) allocs/op`)
)

// ParseGoBench returns the best time in nanoseconds of every benchmark.
func ParseGoBench(out string) map[string]float64 { return least(goTime, out) }

// ParseGoCPU returns the least time of the processor, in nanoseconds, of every benchmark
// that says it.
func ParseGoCPU(out string) map[string]float64 { return least(goCPU, out) }

// ParseGoAllocs returns the least allocations of every benchmark that counts them.
func ParseGoAllocs(out string) map[string]float64 { return least(goAllocs, out) }

func least(metric *regexp.Regexp, out string) map[string]float64 {
	got := map[string]float64{}
	for _, m := range metric.FindAllStringSubmatch(out, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if was, ok := got[m[1]]; err == nil && (!ok || n < was) {
			got[m[1]] = n
		}
	}
	return got
}
