// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/tools/internal/proc"
)

// Load is what one run of load against a server gave.
type Load struct {
	Rate float64       // requests a second
	CPU  time.Duration // of the server, for each request
	Busy string        // how busy each core was
}

// Saturate asks a server for its best with wrk, which must be installed.
func Saturate(ctx context.Context, s *Server, conns int, length time.Duration) (Load, error) {
	before, err := s.CPU()
	if err != nil {
		return Load{}, err
	}
	cores := readCores(readText("/proc/stat"))
	out, err := proc.Run(ctx, proc.Cmd{Args: pin(1, "wrk", "-t1", "-c"+strconv.Itoa(conns),
		"-d"+seconds(length)+"s", "http://"+s.Addr+"/")})
	if err != nil {
		return Load{}, fmt.Errorf("bench: %w", err)
	}
	busy := busySince(cores, readCores(readText("/proc/stat")))
	after, err := s.CPU()
	if err != nil {
		return Load{}, err
	}
	rate, requests, err := parseWrk(out)
	if err != nil {
		return Load{}, err
	}
	return Load{Rate: rate, CPU: (after - before) / time.Duration(requests), Busy: busy}, nil
}

var (
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	wrkRequests = regexp.MustCompile(`(?m)^\s+(\d+) requests in `)
	wrkTrouble  = regexp.MustCompile(`(?m)^\s+(Socket errors: .*|Non-2xx or 3xx responses: .*)$`)
)

// parseWrk reads the rate and the number of requests; a run with errors is none.
func parseWrk(out string) (rate float64, requests int64, err error) {
	if bad := wrkTrouble.FindStringSubmatch(out); bad != nil {
		return 0, 0, fmt.Errorf("bench: wrk: %s", bad[1])
	}
	r, n := wrkRate.FindStringSubmatch(out), wrkRequests.FindStringSubmatch(out)
	if r == nil || n == nil {
		return 0, 0, fmt.Errorf("bench: wrk printed no rate:\n%s", out)
	}
	rate, err = strconv.ParseFloat(r[1], 64)
	if err == nil {
		requests, err = strconv.ParseInt(n[1], 10, 64)
	}
	if err != nil || requests == 0 {
		return 0, 0, fmt.Errorf("bench: wrk printed %q, %q", r[1], n[1])
	}
	return rate, requests, nil
}

// Open is what one run at a fixed rate gave, in milliseconds from the moment a
// request was due.
type Open struct {
	Sent      int     `json:"sent"`
	Failed    int     `json:"failed"`
	P50       float64 `json:"quick_p50_ms"`
	P99       float64 `json:"quick_p99_ms"`
	P999      float64 `json:"quick_p999_ms"`
	Generator float64 `json:"generator_p99_ms"` // how late the generator itself was
}

// OpenLoop runs the generator program against a server.
func OpenLoop(ctx context.Context, s *Server, program string, length time.Duration) (Open, error) {
	out, err := proc.Run(ctx, proc.Cmd{
		Args: pin(1, program, "-addr", s.Addr, "-seconds", seconds(length)),
	})
	if err != nil {
		return Open{}, fmt.Errorf("bench: %w", err)
	}
	var o Open
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		return Open{}, fmt.Errorf("bench: %s printed %q: %w", program, out, err)
	}
	if o.Failed > 0 || o.Sent == 0 {
		return Open{}, fmt.Errorf("bench: %d of %d requests failed", o.Failed, o.Sent)
	}
	return o, nil
}

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
