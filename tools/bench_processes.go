// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

const (
	processesRounds = 5
	bursts          = 20 // of a round
	burstConns      = 32
	burstWait       = 20 * time.Second // for an answer

	// What is promised.
	largerShare = 18      // of a burst over two workers
	handOverUs  = 10      // of the giving worker's time
	busRate     = 200_000 // frames of 300 bytes a second
	idleUs      = 50      // from process to process, where the reader sleeps
	increments  = 20_000  // of each of two publishers
)

// benchProcesses measures what several workers share: connections, and the bus. The
// rivals are the bare race for connections and the system calls underneath.
func (e *env) benchProcesses(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	programs, err := e.buildRivals(s, "processes")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	service := programs.program("host_check")
	if err := e.goBuild(s, "apps", "-o", service, "./host_check"); err != nil {
		return nil, err
	}
	share := bench.Figure{Name: "processes larger share of 32", Unit: "connections",
		Rival: "bare race", Limit: largerShare}
	if share.Ours, err = e.worstShare(s, o, service); err == nil {
		share.Other, err = e.worstShare(s, o, service, "--no-accept-share")
	}
	if err != nil {
		return nil, err
	}
	rest, err := e.processFigures(s, o, programs.program("processes"))
	return append([]bench.Figure{share}, rest...), err
}

// worstShare is the most that one of two workers got of any burst.
func (e *env) worstShare(s *console.Step, o benchOptions, service string,
	more ...string) (float64, error) {
	socket := filepath.Join(filepath.Dir(service), "socket")
	args := append([]string{service, "--workers", "2", "--port", "0", "--publish-socket", socket},
		more...)
	server, err := bench.StartProgram(e.ctx, bench.Program{Args: args, Free: true})
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	worst := 0
	for burst := range bursts * o.rounds(1) {
		s.Doing(fmt.Sprintf("burst %d %s", burst+1, strings.Join(more, " ")))
		larger, err := oneBurst(e.ctx, server.Addr)
		if err == nil {
			err = server.Wait(e.ctx, func() (bool, error) { return isAtRest(e.ctx, server.Addr) })
		}
		if err != nil {
			return 0, err
		}
		worst = max(worst, larger)
	}
	return float64(worst), nil
}

// oneBurst opens connections at once, asks on each who has it, and closes all.
func oneBurst(ctx context.Context, addr string) (larger int, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	held := map[string]int{}
	begin := make(chan struct{})
	for range burstConns {
		client := &http.Client{Transport: &http.Transport{}, Timeout: burstWait}
		defer client.CloseIdleConnections() // all stay open until the last has answered
		all.Go(func() {
			<-begin
			worker, askErr := whoHas(ctx, client, addr)
			mu.Lock()
			defer mu.Unlock()
			if askErr != nil {
				err = askErr
			}
			held[worker]++
		})
	}
	close(begin)
	all.Wait()
	for _, n := range held {
		larger = max(larger, n)
	}
	return larger, err
}

// isAtRest asks whether the workers hold nothing but the connection that asks: what is
// left of one burst would be evened out by the next.
func isAtRest(ctx context.Context, addr string) (bool, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: burstWait}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/stats", nil)
	if err != nil {
		return true, fmt.Errorf("bench: %w", err)
	}
	answer, err := client.Do(req)
	if err != nil {
		return true, fmt.Errorf("bench: %w", err)
	}
	defer answer.Body.Close()
	var said struct{ Fleet []struct{ Connections int } }
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return true, fmt.Errorf("bench: /stats: %w", err)
	}
	open := 0
	for _, w := range said.Fleet {
		open += w.Connections
	}
	if open > 1 {
		return false, errors.New("the workers hold connections of the last burst")
	}
	return true, nil
}

// whoHas asks for the worker that has the connection, which says it in every answer.
func whoHas(ctx context.Context, c *http.Client, addr string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	answer, err := c.Do(req)
	if err != nil {
		return "", fmt.Errorf("bench: a connection of a burst: %w", err)
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	worker := answer.Header.Get("X-Worker")
	if err == nil && worker == "" {
		err = fmt.Errorf("bench: %s does not say which worker it is", addr)
	}
	return worker, err
}

// processRun is what tools/rivals/processes gives.
type processRun struct {
	Rate     float64 `json:"rate"`
	OneWayUs float64 `json:"one_way_us"`
	EachUs   float64 `json:"each_us"`
	Kept     int     `json:"kept"`
	Of       int     `json:"of"`
}

// processFigures are the best of some rounds; of increments, the worst.
func (e *env) processFigures(s *console.Step, o benchOptions,
	program string) ([]bench.Figure, error) {
	best := map[string]*bench.Best{}
	add := func(name string, more bool, x float64) {
		if best[name] == nil {
			best[name] = &bench.Best{More: more}
		}
		best[name].Add(x)
	}
	rounds := o.rounds(processesRounds)
	for round := range rounds {
		for _, side := range []string{"ours", "floor"} {
			s.Doing(fmt.Sprintf("bus and hand-overs, %s, round %d of %d", side, round+1, rounds))
			events, err := e.processRun(program, "-do", "bus", "-side", side)
			if err != nil {
				return nil, err
			}
			given, err := e.processRun(program, "-do", "handover", "-side", side)
			if err != nil {
				return nil, err
			}
			add("rate "+side, true, events.Rate)
			add("one way "+side, false, events.OneWayUs)
			add("hand-over "+side, false, given.EachUs)
		}
		for side, window := range map[string]string{"ours": "20ms", "none": "-1ns"} {
			s.Doing(fmt.Sprintf("increments, window %s, round %d of %d", window, round+1, rounds))
			got, err := e.processRun(program, "-do", "order", "-window", window,
				"-frames", strconv.Itoa(increments))
			if err != nil {
				return nil, err
			}
			add("kept "+side, false, float64(got.Kept))
		}
	}
	of := func(name string) float64 { return best[name].Value() }
	return []bench.Figure{
		{Name: "processes hand-over", Unit: "us", Ours: of("hand-over ours"),
			Other: of("hand-over floor"), Rival: "sendmsg, close", Limit: handOverUs},
		{Name: "processes bus, 300 bytes", Unit: "frames/s", Ours: of("rate ours"),
			Other: busRate, Rival: "bound", Ratio: 1, MoreIsBetter: true,
			Why: fmt.Sprintf("write, read: %s", bench.Number(of("rate floor")))},
		{Name: "processes bus at rest, one way", Unit: "p50 us", Ours: of("one way ours"),
			Other: of("one way floor"), Rival: "write, read", Limit: idleUs},
		{Name: "processes increments kept", Unit: "frames", Ours: of("kept ours"),
			Other: 2 * increments, Rival: "published", Ratio: 1, MoreIsBetter: true,
			Why: fmt.Sprintf("without the window: %.0f", of("kept none"))},
	}, nil
}

// processRun runs the program, with its processes on any core.
func (e *env) processRun(program string, args ...string) (r processRun, err error) {
	out, err := proc.Run(e.ctx, proc.Cmd{Args: append([]string{program}, args...)})
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	return r, err
}
