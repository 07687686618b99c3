// SPDX-License-Identifier: MIT

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/wsgi/internal/metrics"
)

// The supervisor answers on --metrics. It asks each worker over an abstract unix
// socket, whose name only their common family knows, and shows one that does not
// answer in time as silent: a stuck worker does not hide the others.
const (
	// metricsWait is long for a worker and short for who scrapes: ten seconds are usual.
	metricsWait  = 2 * time.Second
	metricsBytes = 1 << 20
	// metricsTimeout bounds a scrape on the outside.
	metricsTimeout = 5 * time.Second
)

// metricsSocket is where the worker of a place answers.
func metricsSocket(supervisor, place int) string {
	return "@m0serve/" + strconv.Itoa(supervisor) + "/" + strconv.Itoa(place)
}

// A collector gathers the figures of all workers of one supervisor.
type collector struct {
	supervisor int
	page       *bus.Page
}

func (c *collector) collect(context.Context) (all []metrics.Worker, silent []int) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	for place := range c.page.Workers() {
		if c.page.Worker(place).State() == bus.Vacant {
			continue
		}
		asked.Go(func() {
			w, err := askWorker(metricsSocket(c.supervisor, place))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent = append(silent, place)
				return
			}
			all = append(all, w)
		})
	}
	asked.Wait()
	slices.Sort(silent) // not as they happened to time out
	return metrics.Merge(all), silent
}

func askWorker(socket string) (w metrics.Worker, err error) {
	conn, err := net.DialTimeout("unix", socket, metricsWait)
	if err != nil {
		return w, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(metricsWait)); err != nil {
		return w, err
	}
	err = json.NewDecoder(io.LimitReader(conn, metricsBytes)).Decode(&w)
	return w, err
}

// serveMetrics answers on ln until it is closed.
func serveMetrics(ln net.Listener, c *collector, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", &metrics.Handler{Collect: c.collect})
	srv := &http.Server{Handler: mux, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout}
	if err := srv.Serve(ln); !errors.Is(err, net.ErrClosed) {
		log.Error("m0serve: --metrics", "err", err)
	}
}

// answerMetrics gives a worker's figures to everybody who connects to ln.
func answerMetrics(ln net.Listener, figures func() metrics.Worker) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(metricsWait))
		_ = json.NewEncoder(conn).Encode(figures()) // whoever asked may be gone
		_ = conn.Close()
	}
}

// openMetrics binds --metrics, before anything else is started.
func (s *service) openMetrics() error {
	if s.o.Metrics == "" {
		return nil
	}
	ln, err := listenTCP(s.o.Metrics, "--metrics")
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	s.metrics = ln
	return nil
}
