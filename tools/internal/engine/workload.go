// SPDX-License-Identifier: MIT

package engine

import (
	"runtime"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/bench"
)

// Sides, by the name that their figures have.
const (
	native     = "native"
	std        = "std"
	nativeOff  = "native, no watchdog"
	stdOff     = "std, no watchdog"
	nativePool = "native, all pooled"
	stdPool    = "std, all pooled"
	twoLoops   = "native, 2 loops"
	nethttp    = "nethttp"
	fasthttp   = "fasthttp"
	gnet       = "gnet"
)

// flags are those of httpd for each side; gnet has a program of its own.
var flags = map[string][]string{
	native:     {"-engine", "native"},
	std:        {"-engine", "std"},
	nativeOff:  {"-engine", "native", "-takeover", "1h"}, // longer than any run
	stdOff:     {"-engine", "std", "-takeover", "1h"},
	nativePool: {"-engine", "native", "-takeover", "-1ns"},
	stdPool:    {"-engine", "std", "-takeover", "-1ns"},
	twoLoops:   {"-engine", "native", "-loops", "2"},
	nethttp:    {"-engine", "nethttp"},
	fasthttp:   {"-engine", "fasthttp"},
	gnet:       {},
}

// Kind is what is done to the sides.
type Kind string

// Kinds of workloads.
const (
	Saturated Kind = "saturated" // by wrk, which asks as fast as it is answered
	Steady    Kind = "steady"    // at a fixed rate, whatever the answers do
	Still     Kind = "still"     // connections that say nothing
)

// Workload is one kind of load on some sides.
type Workload struct {
	Bench   string // that it is of
	Name    string
	What    string
	Kind    Kind
	Sides   []string
	Load    bench.Wrk // of Saturated; its script lies beside httpd
	Procs   int       // GOMAXPROCS of the rivals; 0: their default
	Slow    bool      // Steady: some requests sleep or compute
	Held    int       // streams that are open meanwhile
	Free    bool      // server and load on any core
	Targets []Target
}

// Target is what was promised of one of ours beside a rival; what is zero has no bound.
type Target struct {
	Ours, Rival string
	Rate        float64 // the least share of the rival's requests a second
	CPU         float64 // the most, of its processor time a request
	P99         float64 // the most, of its 99th percentile
	P99Ms       float64 // the most that ours may be, whatever the rival's is
	Takeovers   float64 // the most, of the one route; it has no rival
	Still       bool    // no second with a wake-up; it has no rival
	Cores       int     // with fewer the rate has no bound
}

// beside is a bound on the rate, and on the processor time of a request that follows.
func beside(ours, rival string, rate float64) Target {
	return Target{Ours: ours, Rival: rival, Rate: rate, CPU: 1 / rate}
}

// Bounds and sizes of what is promised.
const (
	conns       = 64
	manyConns   = 256
	heldStreams = 15000
	heldP99Ms   = 1
	quickP99Ms  = 5
	loopsCores  = 4 // two for the loops, two for the load
)

// browser are the fields of a browser beside Host, twelve in all.
var browser = []string{
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
		"Chrome/142.0.0.0 Safari/537.36",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp," +
		"image/apng,*/*;q=0.8",
	"Accept-Language: en-GB,en;q=0.9,de;q=0.8",
	"Accept-Encoding: gzip, deflate, br, zstd",
	"Cache-Control: max-age=0",
	"Upgrade-Insecure-Requests: 1",
	"Sec-Fetch-Dest: document",
	"Sec-Fetch-Mode: navigate",
	"Sec-Fetch-Site: same-origin",
	"Referer: https://example.org/some/page?of=this&site=1",
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=1",
}

// Workloads returns what "bench hello" measures, small ones for a quick look.
func Workloads(quick bool) []Workload {
	held := heldStreams
	if quick {
		held /= 10
	}
	all := []Workload{
		{Name: "plain", What: "13 bytes, 64 connections", Load: bench.Wrk{Conns: conns},
			Sides: []string{native, std, nethttp, fasthttp, gnet},
			Targets: []Target{{Ours: native, Rival: nethttp, Rate: 1.6, CPU: 0.6},
				{Ours: std, Rival: nethttp, Rate: 1.5, CPU: 0.7},
				beside(native, fasthttp, 1), beside(native, gnet, 0.95)}},
		{Name: "headers", What: "the same, asked with the 12 fields of a browser",
			Load:    bench.Wrk{Conns: conns, Headers: browser},
			Sides:   []string{native, nethttp, fasthttp, gnet}, // gnet looks at no field
			Targets: []Target{beside(native, nethttp, 1.9), beside(native, fasthttp, 1.1)}},
		{Name: "pipelined", What: "16 requests in one write",
			Load:    bench.Wrk{Conns: conns, Script: "pipelined.lua"},
			Sides:   []string{native, nethttp, fasthttp, gnet},
			Targets: []Target{beside(native, nethttp, 10), beside(native, fasthttp, 1)}},
		{Name: "close", What: "a connection for each request",
			Load:  bench.Wrk{Conns: conns, Headers: []string{"Connection: close"}},
			Sides: []string{native, std, nethttp}, Targets: []Target{beside(native, nethttp, 1)}},
		{Name: "storm", What: "every handler sleeps 5 ms, 256 connections", Procs: 4,
			Load: bench.Wrk{Conns: manyConns, Path: "/?sleep=5"}, Sides: []string{native, std, nethttp},
			Targets: []Target{{Ours: native, Rival: nethttp, Rate: 0.95, CPU: 0.9},
				{Ours: std, Rival: nethttp, Rate: 0.95, CPU: 0.9},
				{Ours: native, Takeovers: 5}, {Ours: std, Takeovers: 5}}},
		{Name: "guard", What: "the watchdog on, and a step of an hour", Load: bench.Wrk{Conns: conns},
			Sides: []string{native, nativeOff, std, stdOff},
			Targets: []Target{{Ours: native, Rival: nativeOff, Rate: 0.98, CPU: 1.04},
				{Ours: std, Rival: stdOff, Rate: 0.96, CPU: 1.04}}},
		{Name: "loops", What: "two loops and one, server and load on any core", Free: true,
			Load: bench.Wrk{Conns: conns, Free: true, Threads: 2}, Sides: []string{twoLoops, native},
			Targets: []Target{{Ours: twoLoops, Rival: native, Rate: 1.7, CPU: 1 / 1.7 * 2,
				Cores: loopsCores}}},
		{Name: "held", What: "3,000 requests a second beside held streams", Kind: Steady, Held: held,
			Sides:   []string{native, nethttp},
			Targets: []Target{{Ours: native, Rival: nethttp, CPU: 1, P99: 1, P99Ms: heldP99Ms}}},
		{Name: "still", What: "64 connections that say nothing", Kind: Still,
			Sides:   []string{native, std, nethttp},
			Targets: []Target{{Ours: native, Still: true}, {Ours: std, Still: true}}},
	}
	return of("hello", all)
}

// BlockingWorkloads returns what "bench blocking" measures. The rivals get as many
// threads as ours, so that computing does not stop them.
func BlockingWorkloads() []Workload {
	mixed := func(name, what, path string) Workload {
		return Workload{Name: name, What: what, Procs: 4,
			Load:  bench.Wrk{Conns: conns, Path: path, Script: "mix.lua"},
			Sides: []string{native, nativePool, std, stdPool, nethttp},
			Targets: []Target{beside(native, nethttp, 1.3), beside(std, nethttp, 1.3),
				beside(native, nativePool, 0.95), beside(std, stdPool, 0.95)}}
	}
	return of("blocking", []Workload{
		{Name: "rate", Kind: Steady, Slow: true, Procs: 4, Sides: []string{native, std, nethttp},
			What: "3,000 requests a second; 1 % sleep and 0.1 % compute for 50 ms",
			Targets: []Target{{Ours: native, Rival: nethttp, CPU: 1, P99: 1, P99Ms: quickP99Ms},
				{Ours: std, Rival: nethttp, CPU: 1, P99: 1, P99Ms: quickP99Ms}}},
		mixed("mix", "64 connections, 1 % sleep for 50 ms on a route of their own",
			"/slow?sleep=50"),
		mixed("one", "the same on the route of the others", "/?sleep=50"),
	})
}

func of(name string, all []Workload) []Workload {
	for i := range all {
		all[i].Bench = name
		if all[i].Kind == "" {
			all[i].Kind = Saturated
		}
	}
	return all
}

// CanDrop reports whether a side may be left out of a workload: it is not ours.
func CanDrop(side string) bool {
	return !strings.HasPrefix(side, native) && !strings.HasPrefix(side, std)
}

// enough reports whether the machine has the cores that a bound on the rate needs.
func (t Target) enough() bool { return runtime.NumCPU() >= t.Cores }

// has reports whether the workload has a side.
func (w Workload) has(side string) bool { return slices.Contains(w.Sides, side) }
