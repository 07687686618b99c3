// SPDX-License-Identifier: MIT

// Command openloop sends requests to an httpd at a fixed rate, whatever the
// answers do, and reports how late the quick ones came: an answer is timed from
// the moment its request was due, so a server that falls behind shows it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const body = "Hello, world!"

// A result is what a run has to say, for programs.
type result struct {
	Sent   int     `json:"sent"`
	Failed int     `json:"failed"`
	P50    float64 `json:"quick_p50_ms"`
	P99    float64 `json:"quick_p99_ms"`
	P999   float64 `json:"quick_p999_ms"`
	Late   float64 `json:"generator_p99_ms"` // of the generator itself: how late it sent
}

// A mix says what is asked for.
type mix struct {
	sleepShare, spinShare float64
	ms                    int
	same                  bool // slow requests on the quick route, by query
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the httpd")
	rate := flag.Int("rate", 3000, "requests a second")
	conns := flag.Int("conns", 256, "connections; a request waits for an idle one")
	seconds := flag.Int("seconds", 5, "length of the run")
	var m mix
	flag.Float64Var(&m.sleepShare, "sleep", 0.01, "share of requests that sleep")
	flag.Float64Var(&m.spinShare, "spin", 0.001, "share of requests that compute")
	flag.IntVar(&m.ms, "ms", 50, "for how many milliseconds")
	flag.BoolVar(&m.same, "same", false, "slow requests on the quick route, by query")
	flag.Parse()
	r, err := run(*addr, *rate, *conns, time.Duration(*seconds)*time.Second, m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "openloop:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
}

// A job is one request and when it is due.
type job struct {
	due   time.Time
	late  time.Duration // of the generator, whatever the server does
	path  string
	quick bool
}

// A sample is one answer.
type sample struct {
	quick, failed bool
	took, late    time.Duration
}

func run(addr string, rate, conns int, length time.Duration, m mix) (result, error) {
	jobs := make(chan job, rate)
	samples := make(chan sample, rate)
	var workers sync.WaitGroup
	for range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return result{}, err
		}
		workers.Go(func() { serveJobs(c, addr, jobs, samples) })
	}
	go func() {
		generate(jobs, rate, length, m)
		workers.Wait()
		close(samples)
	}()
	return collect(samples), nil
}

// generate hands out jobs when they are due and ends after length.
func generate(jobs chan<- job, rate int, length time.Duration, m mix) {
	defer close(jobs)
	rnd := rand.New(rand.NewPCG(1, 1))
	step := time.Second / time.Duration(rate)
	start := time.Now()
	for due := start; due.Sub(start) < length; due = due.Add(step) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		j := m.job(due, rnd.Float64())
		j.late = time.Since(due)
		jobs <- j
	}
}

func (m *mix) job(due time.Time, at float64) job {
	route := "/slow"
	if m.same {
		route = "/"
	}
	switch {
	case at < m.sleepShare:
		return job{due: due, path: fmt.Sprintf("%s?sleep=%d", route, m.ms)}
	case at < m.sleepShare+m.spinShare:
		return job{due: due, path: fmt.Sprintf("%s?spin=%d", route, m.ms)}
	}
	return job{due: due, path: "/", quick: true}
}

// serveJobs works through jobs on one connection, which it renews when it broke.
func serveJobs(c net.Conn, addr string, jobs <-chan job, samples chan<- sample) {
	buf := make([]byte, 4096)
	for j := range jobs {
		s := sample{quick: j.quick, late: j.late}
		if err := ask(c, j.path, buf); err != nil {
			s.failed = true
			c.Close()
			if c, err = net.Dial("tcp", addr); err != nil {
				samples <- s
				return
			}
		}
		s.took = time.Since(j.due)
		samples <- s
	}
	c.Close()
}

func ask(c net.Conn, path string, buf []byte) error {
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return err
	}
	for n := 0; ; {
		more, err := c.Read(buf[n:])
		if err != nil {
			return err
		}
		if n += more; bytes.HasSuffix(buf[:n], []byte("\r\n\r\n"+body)) {
			if !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200 ") {
				return fmt.Errorf("answer %.20q", buf[:n])
			}
			return nil
		}
	}
}

func collect(samples <-chan sample) result {
	var r result
	var quick, late []time.Duration
	for s := range samples {
		r.Sent++
		if s.failed {
			r.Failed++
			continue
		}
		late = append(late, s.late)
		if s.quick {
			quick = append(quick, s.took)
		}
	}
	slices.Sort(quick)
	slices.Sort(late)
	r.P50, r.P99, r.P999 = at(quick, 0.5), at(quick, 0.99), at(quick, 0.999)
	r.Late = at(late, 0.99)
	return r
}

// at is a quantile in milliseconds.
func at(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i].Microseconds()) / 1000
}
