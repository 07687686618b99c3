// SPDX-License-Identifier: MIT

package contest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/proc"
)

// Bounds of what a side may take beyond the length of its load.
const (
	probeTime = 5 * time.Second
	loadGrace = time.Minute
)

// Runner measures workloads.
type Runner struct {
	House  House
	Rounds int
	Length time.Duration // of one load
	Warm   time.Duration // of the load before it; 0: none
	Say    func(what string)
}

// Run measures a workload: each round starts every side once. A side that fails
// is left out from then on, with the reason in its row.
func (r Runner) Run(ctx context.Context, w Workload) ([]Row, error) {
	rows := make([]Row, len(w.Sides))
	for i, side := range w.Sides {
		rows[i] = Row{Workload: w.Name, Side: side, Why: r.House.missing(entries[side].name, w)}
	}
	for round := range r.Rounds {
		for i := range rows {
			if rows[i].Why != "" {
				continue
			}
			r.Say(fmt.Sprintf("%s: %s, round %d of %d", w.Name, rows[i].Side, round+1, r.Rounds))
			got, err := r.round(ctx, w, entries[rows[i].Side])
			if ctx.Err() != nil {
				return rows, ctx.Err()
			}
			if err != nil {
				rows[i].Why = err.Error()
				continue
			}
			rows[i].add(got)
		}
	}
	return rows, nil
}

func (h House) missing(side string, w Workload) string {
	if why := h.Missing[side]; why != "" {
		return why
	}
	if w.WebSocket {
		return h.Missing["wsecho"]
	}
	return ""
}

// round starts a side, loads it and ends it.
func (r Runner) round(ctx context.Context, w Workload, e entry) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Length+r.Warm+loadGrace)
	defer cancel()
	if e.name == ceiling {
		return r.ceiling(ctx, w)
	}
	s, err := r.start(ctx, w, e)
	if err != nil {
		return Row{}, err
	}
	defer s.Stop()
	var row Row
	if !w.Idle {
		if row, err = r.load(ctx, s, w, e); err != nil {
			return Row{}, err
		}
	}
	row.Memory, row.Worker = s.Memory()
	return row, nil
}

// start starts a side and waits until it answers rightly.
func (r Runner) start(ctx context.Context, w Workload, e entry) (*bench.Server, error) {
	if e.name == bare {
		return bench.Start(ctx, r.House.Python, "-c", "import time\n"+
			"print('listening on http://nothing ', flush=True)\ntime.sleep(3600)")
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s, err := bench.Launch(ctx, bench.Program{
		Args: r.House.command(e, w, port), Dir: r.House.Apps, Free: w.Free,
		// The folder of the applications is in the tree: nothing is written there.
		Env:  []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + r.House.Apps},
		Addr: "127.0.0.1:" + strconv.Itoa(port),
	})
	if err != nil {
		return nil, err
	}
	if err := s.Wait(ctx, func() (bool, error) { return w.probe(ctx, s.Addr) }); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// probe asks once, as the load will, and looks at the answer. It is done when there
// is one, right or wrong.
func (w Workload) probe(ctx context.Context, addr string) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if w.Post > 0 {
		method, body = http.MethodPost, bytes.NewReader(make([]byte, w.Post))
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+w.path(), body)
	if err != nil {
		return true, fmt.Errorf("contest: %w", err)
	}
	req.Close = true
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || n != int64(w.Answer) {
		return true, fmt.Errorf("contest: %s %s = %s, %d bytes, %v, want 200, %d", method, w.path(),
			answer.Status, n, err, w.Answer)
	}
	return true, nil
}

func (w Workload) path() string {
	if w.Path == "" {
		return "/"
	}
	return w.Path
}

func (r Runner) load(ctx context.Context, s *bench.Server, w Workload, e entry) (Row, error) {
	if r.Warm > 0 {
		if _, err := r.once(ctx, s, w, e, r.Warm); err != nil {
			return Row{}, err
		}
	}
	return r.once(ctx, s, w, e, r.Length)
}

// once loads a server for some time.
func (r Runner) once(ctx context.Context, s *bench.Server, w Workload, e entry,
	length time.Duration) (Row, error) {
	if w.WebSocket {
		l, err := bench.Echo(ctx, s, r.House.Echo, w.Conns, length)
		return rowFrom(l), err
	}
	quick := bench.Wrk{Conns: w.Conns, Path: w.path(), Headers: w.Headers, Length: length,
		Free: w.Free}
	if w.Post > 0 {
		quick.Script = filepath.Join(r.House.Apps, "post1m.lua")
	}
	if w.Slow == 0 || e.alone {
		l, err := quick.Run(ctx, s)
		l.Full = l.Full && !w.Free
		return rowFrom(l), err
	}
	slow := bench.Wrk{Conns: w.Slow, Path: "/slow", Length: length}
	var (
		both     sync.WaitGroup
		slowLoad bench.Load
		slowErr  error
	)
	both.Go(func() { slowLoad, slowErr = slow.Run(ctx, s) })
	l, err := quick.Run(ctx, s)
	both.Wait()
	row := rowFrom(l)
	row.Slow = slowLoad.Rate
	return row, errors.Join(err, slowErr)
}

func rowFrom(l bench.Load) Row {
	return Row{Rate: l.Rate, CPU: float64(l.CPU.Nanoseconds()) / 1000, P50: l.P50, P99: l.P99,
		Full: l.Full, Trouble: l.Trouble}
}

// ceiling calls the application in a loop.
func (r Runner) ceiling(ctx context.Context, w Workload) (Row, error) {
	out, err := proc.Run(ctx, proc.Cmd{
		Dir: r.House.Apps, Env: []string{"PYTHONDONTWRITEBYTECODE=1"},
		Args: bench.Pin(0, r.House.Python, "ceiling.py", string(w.Kind), w.App, w.path(),
			strconv.Itoa(w.Post), fmt.Sprint(r.Length.Seconds())),
	})
	if err != nil {
		return Row{}, fmt.Errorf("contest: %w", err)
	}
	var got struct {
		Rate  float64 `json:"rate"`
		CPU   float64 `json:"cpu_us"`
		Bytes int     `json:"bytes"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		return Row{}, fmt.Errorf("contest: ceiling printed %q: %w", out, err)
	}
	if got.Bytes != w.Answer {
		return Row{}, fmt.Errorf("contest: %s answers %d bytes, want %d", w.App, got.Bytes, w.Answer)
	}
	return Row{Rate: got.Rate, CPU: got.CPU}, nil
}

// freePort returns a port on which nothing listens now.
func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("contest: %w", err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}
