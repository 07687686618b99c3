// SPDX-License-Identifier: MIT

package fanout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Views of 50 ms at this interval take 30 % of a core.
const (
	viewCPU   = 50 * time.Millisecond
	viewEvery = viewCPU * 10 / 3
	viewWait  = 10 * time.Second // for one to be answered
)

// besideBusy publishes to all, first alone and then while views compute.
func besideBusy(ctx context.Context, c *crowd, s *served, w Workload) ([]Row, error) {
	quiet, empty, err := hold(ctx, c, s, w)
	if err != nil {
		return nil, err
	}
	if _, err := c.do("publish %d %d %d", warmTimes, w.Bytes, w.GapMs); err != nil {
		return nil, err
	}
	if err := quiet.publish(c, s, w); err != nil {
		return nil, err
	}
	loaded := Row{Streams: quiet.Streams}
	share, end := compute(ctx, s.Addr)
	err = loaded.publish(c, s, w)
	end()
	loaded.Busy = share()
	loaded.CPU = 0 // the views are in it
	if err == nil && loaded.Busy == 0 {
		err = errors.New("fanout: no view was answered")
	}
	quiet.AfterKB = perStream(s, empty, w)
	return []Row{quiet, loaded}, err
}

// compute asks for views at a fixed rate until end is called; share is how much of a
// core those took that were answered.
func compute(ctx context.Context, addr string) (share func() float64, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Timeout: viewWait}
	var answered atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	all.Go(func() {
		tick := time.NewTicker(viewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				all.Go(func() {
					if _, err := get(ctx, client, addr, "/busy"); err == nil {
						answered.Add(1)
					}
				})
			}
		}
	})
	var took time.Duration
	end = func() {
		took = time.Since(start)
		cancel()
		all.Wait()
		client.CloseIdleConnections()
	}
	share = func() float64 {
		return float64(answered.Load()) * viewCPU.Seconds() / took.Seconds()
	}
	return share, end
}

// How often a connection is made to find another worker, which may still start.
const (
	siblingTries = 100
	siblingPause = 50 * time.Millisecond
)

// besideSibling lets a view publish, first beside a worker that runs and then
// beside one that is stopped.
func besideSibling(ctx context.Context, s *served, w Workload) ([]Row, error) {
	client, other, err := twoWorkers(ctx, s.Addr)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	free, err := fromView(ctx, client, s.Addr, w)
	if err != nil {
		return nil, err
	}
	if err := stop(other); err != nil {
		return nil, err
	}
	beside, err := fromView(ctx, client, s.Addr, w)
	return []Row{beside, free}, err
}

// twoWorkers returns a client that stays on one worker, and the process of another.
func twoWorkers(ctx context.Context, addr string) (*http.Client, int, error) {
	var first *http.Client
	mine := 0
	for range siblingTries {
		c := &http.Client{Timeout: roundTime, Transport: &http.Transport{MaxConnsPerHost: 1}}
		if first == nil {
			first = c
		} else {
			defer c.CloseIdleConnections() // while it is open, another goes elsewhere
		}
		body, err := get(ctx, c, addr, "/ping")
		if err != nil {
			return nil, 0, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(body)))
		switch {
		case err != nil:
			return nil, 0, fmt.Errorf("fanout: /ping said %.40q", body)
		case mine == 0:
			mine = pid
		case pid != mine:
			return first, pid, nil
		}
		pause(ctx, siblingPause)
	}
	return nil, 0, fmt.Errorf("fanout: %d connections, and all to one worker", siblingTries)
}

// fromView lets a view publish and returns what that took.
func fromView(ctx context.Context, c *http.Client, addr string, w Workload) (Row, error) {
	body, err := get(ctx, c, addr, fmt.Sprintf("/publish?times=%d&bytes=%d", w.Times, w.Bytes))
	if err != nil {
		return Row{}, err
	}
	return parseTook(body)
}

func parseTook(body []byte) (Row, error) {
	var got struct {
		Took       []float64 `json:"took_ms"`
		Refused    int       `json:"refused"`
		Unanswered int       `json:"unanswered"`
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Took) == 0 {
		return Row{}, fmt.Errorf("fanout: /publish said %.100q", body)
	}
	return Row{P50: percentile(got.Took, 50), P99: percentile(got.Took, 99),
		Ack: percentile(got.Took, 100), Refused: got.Refused,
		Timeouts: got.Unanswered}, nil
}
