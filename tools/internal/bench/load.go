// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"m0serve.dev/tools/internal/proc"
)

// fullCore is the share of a core above which who runs on it counts as having no
// more to give; the start of a generator takes some of its time.
const fullCore = 0.95

// Load is what one run of load against a server gave.
type Load struct {
	Rate     float64       // requests a second
	CPU      time.Duration // of the server, for each request
	P50, P99 float64       // milliseconds
	Trouble  string        // what wrk counted as errors
	Busy     string        // how busy each core was
	Full     bool          // the load had no more to give, and the server had
}

// Measure runs load, which returns how many requests it made and fills in the rest
// of its Load, and adds what that took of the server and the cores.
func Measure(s *Server, load func() (Load, int64, error)) (Load, error) {
	before, err := s.CPU()
	if err != nil {
		return Load{}, err
	}
	cores := readCores(readText("/proc/stat"))
	start, asked := time.Now(), endedCPU()
	l, requests, err := load()
	if err != nil {
		return Load{}, err
	}
	wall, asking := time.Since(start), endedCPU()-asked
	now := readCores(readText("/proc/stat"))
	after, err := s.CPU()
	if err != nil {
		return Load{}, err
	}
	l.CPU = (after - before) / time.Duration(max(requests, 1))
	l.Busy = busySince(cores, now)
	l.Full = isFull(wall, asking, after-before)
	return l, nil
}

// isFull reports whether a generator that took that much of a core was what held a
// run up, and not the server.
func isFull(wall, generator, server time.Duration) bool {
	full := time.Duration(fullCore * float64(wall))
	return generator > full && server < full
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
	CPU       float64 `json:"-"`                // of the server, us for each request
}

// OpenLoop runs the generator program against a server; more are flags of it.
func OpenLoop(ctx context.Context, s *Server, program string, length time.Duration,
	more ...string) (Open, error) {
	var o Open
	l, err := Measure(s, func() (Load, int64, error) {
		args := append([]string{"-addr", s.Addr, "-seconds", seconds(length)}, more...)
		err := generate(ctx, &o, program, args...)
		return Load{}, int64(o.Sent), err
	})
	if err != nil {
		return Open{}, err
	}
	if o.Failed > 0 || o.Sent == 0 {
		return Open{}, fmt.Errorf("bench: %d of %d requests failed", o.Failed, o.Sent)
	}
	o.CPU = float64(l.CPU.Nanoseconds()) / 1000
	return o, nil
}

// Echo sends WebSocket messages and waits for them to come back, with our own
// generator; a rate is of messages.
func Echo(ctx context.Context, s *Server, program string, conns int,
	length time.Duration) (Load, error) {
	return Measure(s, func() (Load, int64, error) {
		var r struct {
			Messages int64   `json:"messages"`
			Rate     float64 `json:"rate"`
			P50      float64 `json:"p50_ms"`
			P99      float64 `json:"p99_ms"`
		}
		err := generate(ctx, &r, program, "-addr", s.Addr, "-conns", strconv.Itoa(conns),
			"-seconds", seconds(length))
		if err == nil && r.Messages == 0 {
			err = fmt.Errorf("bench: no message came back")
		}
		return Load{Rate: r.Rate, P50: r.P50, P99: r.P99}, r.Messages, err
	})
}

// Idle opens WebSockets with the same generator and returns what each takes of the
// server's memory, in bytes.
func Idle(ctx context.Context, s *Server, program string, sockets int) (float64, error) {
	var r struct {
		Bytes float64 `json:"bytes"`
	}
	err := generate(ctx, &r, program, "-addr", s.Addr, "-idle", strconv.Itoa(sockets))
	return r.Bytes, err
}

// Asked is what one client gave.
type Asked struct {
	Answers int64   `json:"answers"`
	Rate    float64 `json:"rate"`
	CPU     float64 `json:"cpu_us"` // of the client, for each request
}

// Ask lets one of the clients of the asker program ask a server for answers of
// so many bytes.
func Ask(ctx context.Context, s *Server, program, side string, conns, bytes int,
	length time.Duration) (Asked, error) {
	var a Asked
	err := generate(ctx, &a, program, "-side", side, "-addr", s.Addr, "-conns",
		strconv.Itoa(conns), "-bytes", strconv.Itoa(bytes), "-seconds", seconds(length))
	if err == nil && a.Answers == 0 {
		err = fmt.Errorf("bench: no answer came")
	}
	return a, err
}

// generate runs a generator and reads the JSON it prints.
func generate(ctx context.Context, into any, program string, args ...string) error {
	out, err := proc.Run(ctx, proc.Cmd{Args: Pin(1, append([]string{program}, args...)...)})
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("bench: %s printed %q: %w", program, out, err)
	}
	return nil
}
