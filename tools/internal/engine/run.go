// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/fanout"
)

const (
	hello     = "Hello, world!"
	probeTime = 10 * time.Second

	// generatorLateMs is how late the load may be at its 99th percentile; above it
	// the round says more about the machine than about the server.
	generatorLateMs = 2

	// Of Still: how long a server may take to come to rest, and is watched then.
	restSeconds  = 2
	watchSeconds = 5
)

// House is where the programs of tools/rivals are.
type House struct {
	Httpd, Gnetd, Openloop, Crowd string
	Scripts                       string // folder of the scripts for wrk
}

// Runner measures workloads.
type Runner struct {
	House  House
	Rounds int
	Length time.Duration // of one load
	Second time.Duration // of Still; a second when 0
	Say    func(what string)
}

// Run measures a workload. A side that fails is left out from then on, with the reason
// in its row.
func (r Runner) Run(ctx context.Context, w Workload) ([]Row, error) {
	rows := make([]Row, len(w.Sides))
	turns := make([]*Row, len(w.Sides))
	for i, side := range w.Sides {
		rows[i] = Row{Workload: w.Name, Side: side}
		turns[i] = &rows[i]
	}
	for round := range r.Rounds {
		for _, row := range turns {
			if row.Why != "" {
				continue
			}
			r.Say(fmt.Sprintf("%s: %s, round %d of %d", w.Name, row.Side, round+1, r.Rounds))
			got, err := r.round(ctx, w, row.Side)
			if ctx.Err() != nil {
				return rows, ctx.Err()
			}
			if err != nil {
				row.Why = err.Error()
				continue
			}
			row.add(got)
		}
		slices.Reverse(turns)
	}
	return rows, nil
}

// round starts a side, loads it and ends it.
func (r Runner) round(ctx context.Context, w Workload, side string) (Row, error) {
	args := append([]string{r.House.Httpd}, flags[side]...)
	if side == gnet {
		args = []string{r.House.Gnetd}
	} else if w.Procs > 0 {
		args = append(args, "-procs", strconv.Itoa(w.Procs))
	}
	s, err := bench.StartProgram(ctx, bench.Program{Args: args, Free: w.Free})
	if err != nil {
		return Row{}, err
	}
	defer s.Stop()
	if got, err := ask(ctx, s.Addr, "/"); err != nil || got != hello {
		return Row{}, fmt.Errorf("engine: GET / = %.40q, %v, want %q", got, err, hello)
	}
	if w.Held > 0 {
		release, err := fanout.Hold(ctx, r.House.Crowd, s, w.Held)
		if err != nil {
			return Row{}, err
		}
		defer release()
	}
	switch w.Kind {
	case Steady:
		return r.steady(ctx, s, w)
	case Still:
		return r.watch(ctx, s)
	}
	return r.saturate(ctx, s, w)
}

func (r Runner) saturate(ctx context.Context, s *bench.Server, w Workload) (Row, error) {
	load := w.Load
	load.Length = r.Length
	if load.Script != "" {
		load.Script = filepath.Join(r.House.Scripts, load.Script)
	}
	l, err := load.Run(ctx, s)
	if err == nil && l.Trouble != "" {
		err = fmt.Errorf("engine: wrk: %s", l.Trouble)
	}
	if err != nil {
		return Row{}, err
	}
	row := Row{Rate: l.Rate, CPU: float64(l.CPU.Nanoseconds()) / 1000, P50: l.P50, P99: l.P99,
		Full: l.Full && !w.Free, Busy: l.Busy}
	if !slices.ContainsFunc(w.Targets, func(t Target) bool { return t.Takeovers > 0 }) {
		return row, nil
	}
	// The rivals answer hello, which is no number: they have no loop to lose.
	if said, err := ask(ctx, s.Addr, "/takeovers"); err != nil {
		return row, err
	} else if n, err := strconv.ParseFloat(said, 64); err == nil {
		row.Takeovers = n
	}
	return row, nil
}

func (r Runner) steady(ctx context.Context, s *bench.Server, w Workload) (Row, error) {
	var args []string
	if !w.Slow {
		args = []string{"-sleep", "0", "-spin", "0"}
	}
	o, err := bench.OpenLoop(ctx, s, r.House.Openloop, r.Length, args...)
	if err != nil {
		return Row{}, err
	}
	return Row{CPU: o.CPU, P50: o.P50, P99: o.P99, P999: o.P999, Generator: o.Generator}, nil
}

// watch opens connections, lets the server come to rest, and counts the seconds in which
// none of its threads ran.
func (r Runner) watch(ctx context.Context, s *bench.Server) (Row, error) {
	for range conns {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return Row{}, fmt.Errorf("engine: %w", err)
		}
		defer c.Close() // all stay open until the end
		if err := askOn(c); err != nil {
			return Row{}, err
		}
	}
	second := cmp.Or(r.Second, time.Second)
	if err := pause(ctx, restSeconds*second); err != nil {
		return Row{}, err
	}
	var row Row
	for range watchSeconds {
		before := s.Switches()
		if err := pause(ctx, second); err != nil {
			return Row{}, err
		}
		n := s.Switches() - before
		row.Woken += n
		row.Watched++
		if n == 0 {
			row.Still++
		}
	}
	return row, nil
}

// askOn asks on an open connection, and leaves it open.
func askOn(c net.Conn) error {
	err := c.SetDeadline(time.Now().Add(probeTime))
	if err == nil {
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	var answer []byte
	for buf := make([]byte, 1024); err == nil && !bytes.HasSuffix(answer, []byte(hello)); {
		var n int
		n, err = c.Read(buf)
		answer = append(answer, buf[:n]...)
	}
	if err != nil {
		return fmt.Errorf("engine: ask: %w", err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// ask returns the body of a good answer.
func ask(ctx context.Context, addr, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	req.Close = true
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("engine: GET %s: %s", path, answer.Status)
	}
	return string(text), err
}
