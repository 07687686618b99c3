// SPDX-License-Identifier: MIT

package fanout

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	roundTime  = 5 * time.Minute
	settleTime = 500 * time.Millisecond // for a server to come to rest, before memory is read
	warmTimes  = 2                      // publishes that are not counted
	memoryTime = 20 * time.Second       // for a collection beside thousands of streams
)

// Runner runs workloads.
type Runner struct {
	House  House
	Rounds int
	Say    func(string) // what is going on
}

// Run measures all sides of a workload in turns. A side that fails is left out from
// then on, with the reason in its row.
func (r Runner) Run(ctx context.Context, w Workload) ([]Row, error) {
	rows := make([]Row, len(w.Sides))
	for i, side := range w.Sides {
		rows[i] = Row{Workload: w.Kind, Side: side}
	}
	for round := range r.Rounds {
		for i := range rows {
			if rows[i].Why != "" || w.isPair() && i > 0 {
				continue
			}
			r.Say(fmt.Sprintf("%s: %s, round %d of %d", w.Kind, rows[i].Side, round+1, r.Rounds))
			got, err := r.round(ctx, w, rows[i].Side)
			if ctx.Err() != nil {
				return rows, ctx.Err()
			}
			if err != nil {
				rows[i].Why = err.Error()
				continue
			}
			for k := range got {
				rows[i+k].add(got[k])
			}
		}
	}
	return rows, nil
}

// isPair reports whether one server gives the rows of all sides.
func (w Workload) isPair() bool { return w.Kind == Busy || w.Kind == Sibling }

// round starts a side, does what the workload says and ends it.
func (r Runner) round(ctx context.Context, w Workload, side string) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	o := option{workers: 1, free: w.isPair()}
	if w.isPair() {
		side = ours
	}
	if w.Kind == Sibling {
		o.workers = 2
	}
	s, err := r.House.start(ctx, side, o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if w.Kind == Streams {
		if s.empty, err = inUse(ctx, s); err != nil {
			return nil, err
		}
	}
	if w.Kind == Sibling {
		return besideSibling(ctx, s, w)
	}
	c, err := startCrowd(ctx, r.House.Crowd, s, o.free)
	if err != nil {
		return nil, err
	}
	defer c.close()
	switch w.Kind {
	case Stalled:
		return besideStalled(ctx, c, s, w)
	case Busy:
		return besideBusy(ctx, c, s, w)
	}
	row, err := toAll(ctx, c, s, w)
	return []Row{row}, err
}

// hold opens the streams and reads what they take.
func hold(ctx context.Context, c *crowd, s *served, w Workload) (row Row, empty float64,
	err error) {
	settle(ctx)
	memory, _ := s.Memory()
	empty = memory.Pss
	opened, err := c.do("open %d %d", w.Streams, s.inflight)
	if err != nil {
		return row, 0, err
	}
	settle(ctx)
	row = Row{Streams: opened.Held, OpenMs: opened.OpenMs, Again: opened.Again,
		IdleKB: perStream(s, empty, w)}
	return row, empty, nil
}

// perStream is what each stream adds to an empty server, in KB.
func perStream(s *served, empty float64, w Workload) float64 {
	memory, _ := s.Memory()
	return (memory.Pss - empty) * 1024 / float64(w.Streams)
}

// toAll publishes to all streams.
func toAll(ctx context.Context, c *crowd, s *served, w Workload) (Row, error) {
	row, empty, err := hold(ctx, c, s, w)
	if err != nil {
		return row, err
	}
	if _, err := c.do("publish %d %d %d", warmTimes, w.Bytes, w.GapMs); err != nil {
		return row, err
	}
	if err := row.publish(c, s, w); err != nil {
		return row, err
	}
	settle(ctx)
	row.AfterKB = perStream(s, empty, w)
	if w.Kind == Streams {
		err = row.lookInside(ctx, s, w)
	}
	return row, err
}

// lookInside asks a Go program what it says of itself. It comes last, because a
// collection changes what is measured from outside.
func (r *Row) lookInside(ctx context.Context, s *served, w Workload) error {
	if s.side == oursGo {
		client := &http.Client{Timeout: memoryTime}
		defer client.CloseIdleConnections()
		turn, err := number(ctx, client, s.Addr, "/turn")
		if err != nil {
			return err
		}
		r.TurnMs = turn
	}
	live, err := inUse(ctx, s)
	r.LiveKB = (live - s.empty) / 1024 / float64(w.Streams)
	return err
}

// inUse is what a Go program has in use after a collection; of others it is nothing.
func inUse(ctx context.Context, s *served) (float64, error) {
	if s.side == floor || s.side == nchan {
		return 0, nil
	}
	client := &http.Client{Timeout: memoryTime}
	defer client.CloseIdleConnections()
	return number(ctx, client, s.Addr, "/memory")
}

// number asks for one.
func number(ctx context.Context, c *http.Client, addr, path string) (float64, error) {
	body, err := get(ctx, c, addr, path)
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(string(body), 64)
	if err != nil {
		return 0, fmt.Errorf("fanout: %s said %.40q", path, body)
	}
	return x, nil
}

// publish publishes and fills in what it took.
func (r *Row) publish(c *crowd, s *served, w Workload) error {
	before, err := s.CPU()
	if err != nil {
		return err
	}
	got, err := c.do("publish %d %d %d", w.Times, w.Bytes, w.GapMs)
	if err != nil {
		return err
	}
	after, err := s.CPU()
	if err != nil {
		return err
	}
	r.CPU = float64((after - before).Microseconds()) / float64(w.Times*w.Streams)
	r.P50, r.P99, r.Lost = percentile(got.LastMs, 50), percentile(got.LastMs, 99), got.Lost
	r.Ack = slices.Max(got.AckMs)
	return nil
}

// besideStalled counts what a stream gets while others are not read.
func besideStalled(ctx context.Context, c *crowd, s *served, w Workload) ([]Row, error) {
	settle(ctx)
	if _, err := c.do("stall %d", w.Deaf); err != nil {
		return nil, err
	}
	if _, err := c.do("open %d %d", w.Streams, s.inflight); err != nil {
		return nil, err
	}
	got, err := c.do("flood %d %d", w.Times, w.Bytes)
	if err != nil {
		return nil, err
	}
	row := Row{Streams: w.Streams, Wanted: w.Times, Got: got.Got, Mixed: got.Got > 0 && !got.InOrder,
		Timeouts: got.Timeouts, Ended: got.Ended}
	if len(got.AckMs) > 0 {
		row.Ack = slices.Max(got.AckMs)
	}
	return []Row{row}, nil
}

func settle(ctx context.Context) { pause(ctx, settleTime) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
