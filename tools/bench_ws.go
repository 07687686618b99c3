// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
)

const (
	wsRounds = 5
	wsTime   = 3 * time.Second
	wsConns  = 64
	wsIdle   = 2000

	// wsIdleBytes is what an idle socket may take of user memory (contract row H10).
	wsIdleBytes = 1536
)

// wsEngines are ours and the rival, in turns.
var wsEngines = []string{"native", "gws"}

// benchWS has messages of 64 bytes sent back, and sockets held that say nothing.
func (e *env) benchWS(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	programs, err := e.buildRivals(s, "wsd", "wsecho")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	rounds, length := o.rounds(wsRounds), o.length(wsTime)
	rate, cpu, idle := map[string]*bench.Best{}, map[string]*bench.Best{}, map[string]*bench.Best{}
	for round := range rounds {
		for _, engine := range wsEngines {
			s.Doing(fmt.Sprintf("%s, round %d of %d", engine, round+1, rounds))
			load, bytes, err := e.roundWS(programs, engine, length)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", engine, err)
			}
			if round == 0 {
				rate[engine] = &bench.Best{More: true}
				cpu[engine], idle[engine] = &bench.Best{}, &bench.Best{}
				s.Printf("%-7s %8.0f messages/s  p99 %.2f ms  %5.0f bytes idle  %s",
					engine, load.Rate, load.P99, bytes, load.Busy)
			}
			rate[engine].Add(load.Rate)
			cpu[engine].Add(float64(load.CPU.Nanoseconds()) / 1000)
			idle[engine].Add(bytes)
		}
	}
	figure := func(unit string, of map[string]*bench.Best) bench.Figure {
		return bench.Figure{Name: "ws", Unit: unit, Rival: "gws",
			Ours: of["native"].Value(), Other: of["gws"].Value(), Ratio: 1}
	}
	rates, memory := figure("messages/s", rate), figure("bytes an idle socket", idle)
	rates.MoreIsBetter, memory.Limit = true, wsIdleBytes
	return []bench.Figure{rates, figure("CPU us/message", cpu), memory}, nil
}

// roundWS measures one engine, echo and idle sockets each on a server of its own.
func (e *env) roundWS(programs rivals, engine string, length time.Duration) (
	load bench.Load, bytes float64, err error) {
	program, echo := programs.program("wsd"), programs.program("wsecho")
	server, err := bench.Start(e.ctx, program, "-engine", engine)
	if err != nil {
		return load, 0, err
	}
	load, err = bench.Echo(e.ctx, server, echo, wsConns, length)
	server.Stop()
	if err != nil {
		return load, 0, err
	}
	if server, err = bench.Start(e.ctx, program, "-engine", engine); err != nil {
		return load, 0, err
	}
	defer server.Stop()
	bytes, err = bench.Idle(e.ctx, server, echo, wsIdle)
	return load, bytes, err
}
