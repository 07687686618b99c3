// SPDX-License-Identifier: MIT

package bench

import (
	"regexp"
	"strconv"
	"strings"
)

// goBench matches a line of "go test -bench": the name without the number of
// cores, and the time.
var goBench = regexp.MustCompile(`(?m)^(Benchmark[^\s]*?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// ParseGoBench returns the best time in nanoseconds of every benchmark.
func ParseGoBench(out string) map[string]float64 {
	best := map[string]float64{}
	for _, m := range goBench.FindAllStringSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		name := strings.TrimPrefix(m[1], "Benchmark")
		if was, ok := best[name]; err == nil && (!ok || ns < was) {
			best[name] = ns
		}
	}
	return best
}

// goAllocs matches the allocations at the end of such a line.
var goAllocs = regexp.MustCompile(
	`(?m)^Benchmark([^\s]*?)(?:-\d+)?\s.*?(\d+) allocs/op`)

// ParseGoAllocs returns the least allocations of every benchmark that counts them.
func ParseGoAllocs(out string) map[string]float64 {
	least := map[string]float64{}
	for _, m := range goAllocs.FindAllStringSubmatch(out, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if was, ok := least[m[1]]; err == nil && (!ok || n < was) {
			least[m[1]] = n
		}
	}
	return least
}
