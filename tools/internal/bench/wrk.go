// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"m0serve.dev/tools/internal/proc"
)

// wrkTimeout is how long wrk waits for an answer before it counts an error: a
// server that lets connections wait for their turn is slow, not broken.
const wrkTimeout = "30s"

// Wrk is load by wrk: each connection sends its next request when the answer to
// the last has come.
type Wrk struct {
	Conns   int
	Path    string   // "/" when empty
	Headers []string // "Name: value"
	Script  string   // Lua file, "" without
	Length  time.Duration
	Threads int  // 1 when 0
	Free    bool // on any core, not on core 1
}

// Run loads a server. What wrk counts as errors is in Load.Trouble; answers of
// another status than 2xx or 3xx are an error of the run.
func (w Wrk) Run(ctx context.Context, s *Server) (Load, error) {
	return Measure(s, func() (Load, int64, error) {
		out, err := proc.Run(ctx, proc.Cmd{Args: w.args(s.Addr)})
		if err != nil {
			return Load{}, 0, fmt.Errorf("bench: %w", err)
		}
		return parseWrk(out)
	})
}

func (w Wrk) args(addr string) []string {
	args := []string{"wrk", "--latency", "--timeout", wrkTimeout,
		"-t" + strconv.Itoa(max(1, w.Threads)), "-c" + strconv.Itoa(w.Conns),
		"-d" + seconds(w.Length) + "s"}
	for _, h := range w.Headers {
		args = append(args, "-H", h)
	}
	if w.Script != "" {
		args = append(args, "-s", w.Script)
	}
	path := w.Path
	if path == "" {
		path = "/"
	}
	args = append(args, "http://"+addr+path)
	if w.Free {
		return args
	}
	return Pin(1, args...)
}

var (
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	wrkRequests = regexp.MustCompile(`(?m)^\s+(\d+) requests in `)
	wrkTrouble  = regexp.MustCompile(`(?m)^\s+Socket errors: (.*)$`)
	wrkStatus   = regexp.MustCompile(`(?m)^\s+(Non-2xx or 3xx responses: .*)$`)
	wrkLatency  = regexp.MustCompile(`(?m)^\s+(50|99)%\s+([\d.]+[a-z]+) *$`)
)

// parseWrk reads rate, latencies, errors and the number of requests.
func parseWrk(out string) (l Load, requests int64, err error) {
	if bad := wrkStatus.FindStringSubmatch(out); bad != nil {
		return Load{}, 0, fmt.Errorf("bench: wrk: %s", bad[1])
	}
	if trouble := wrkTrouble.FindStringSubmatch(out); trouble != nil {
		l.Trouble = trouble[1]
	}
	r, n := wrkRate.FindStringSubmatch(out), wrkRequests.FindStringSubmatch(out)
	if r == nil || n == nil {
		return Load{}, 0, fmt.Errorf("bench: wrk printed no rate:\n%s", out)
	}
	l.Rate, err = strconv.ParseFloat(r[1], 64)
	if err == nil {
		requests, err = strconv.ParseInt(n[1], 10, 64)
	}
	if err != nil || requests == 0 {
		return Load{}, 0, fmt.Errorf("bench: wrk printed %q, %q", r[1], n[1])
	}
	for _, m := range wrkLatency.FindAllStringSubmatch(out, -1) {
		d, err := time.ParseDuration(m[2])
		if err != nil {
			continue
		}
		if ms := float64(d.Nanoseconds()) / 1e6; m[1] == "50" {
			l.P50 = ms
		} else {
			l.P99 = ms
		}
	}
	return l, requests, nil
}
