// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
)

const (
	clientRounds = 7
	clientTime   = time.Second
	clientBytes  = 1024
)

// clientConns are the connections, each with a goroutine that asks again and
// again.
var clientConns = []int{1, 16, 64}

// clientSides take turns. bare writes and reads without looking: what a client
// on the runtime's poller cannot undercut.
var clientSides = []string{"ours", "nethttp", "fasthttp", "bare"}

// benchClient asks one server, ours, for 1 KiB with several clients.
func (e *env) benchClient(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	programs, err := e.buildRivals(s, "httpd", "asker")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	server, err := bench.Start(e.ctx, programs.program("httpd"), "-bytes", fmt.Sprint(clientBytes))
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	var figures []bench.Figure
	for _, conns := range clientConns {
		rate, cpu := map[string]*bench.Best{}, map[string]*bench.Best{}
		for _, side := range clientSides {
			rate[side], cpu[side] = &bench.Best{More: true}, &bench.Best{}
		}
		rounds := o.rounds(clientRounds)
		for round := range rounds {
			for _, side := range clientSides {
				s.Doing(fmt.Sprintf("%d connections, %s, round %d of %d", conns, side, round+1, rounds))
				asked, err := bench.Ask(e.ctx, server, programs.program("asker"), side, conns,
					clientBytes, o.length(clientTime))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", side, err)
				}
				rate[side].Add(asked.Rate)
				cpu[side].Add(asked.CPU)
			}
		}
		for _, side := range clientSides {
			s.Printf("%2d connections  %-9s %8.0f requests/s  %5.1f CPU us", conns, side,
				rate[side].Value(), cpu[side].Value())
		}
		name := fmt.Sprintf("client, %d conns", conns)
		figures = append(figures,
			bench.Figure{Name: name, Unit: "requests/s", Ours: rate["ours"].Value(),
				Other: rate["nethttp"].Value(), Rival: "nethttp", Ratio: 1.5, MoreIsBetter: true},
			bench.Figure{Name: name, Unit: "CPU us/request", Ours: cpu["ours"].Value(),
				Other: cpu["nethttp"].Value(), Rival: "nethttp", Ratio: 0.67})
	}
	return figures, nil
}
