// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// RecycleConfig says when a worker has lived long enough. All limits are off by
// default.
type RecycleConfig struct {
	Requests int // answered; 0: no limit
	// Jitter is the most requests that a worker gets beyond the limit, by chance,
	// so that workers that started together do not leave together.
	Jitter int
	Memory int64         // resident bytes; 0: no limit
	Every  time.Duration // between two looks at the memory; 0: 1 s
	// Ask asks for the replacement, once: Inherited.Replace.
	Ask func() error
	Log *slog.Logger // nil: slog.Default
}

// A Recycler asks for the replacement of its worker when a limit is reached. The
// worker goes on serving until its supervisor tells it to drain. Count may be
// called from any goroutine; a nil Recycler counts nothing.
type Recycler struct {
	cfg   RecycleConfig
	limit int64 // of requests; 0: none
	count atomic.Int64
	asked sync.Once
	stop  chan struct{}
	done  chan struct{} // closed when nobody looks at the memory any more
	once  sync.Once
}

// NewRecycler begins to watch; nil when no limit is set. Stop ends it.
func NewRecycler(cfg RecycleConfig) *Recycler { return newRecycler(cfg, rand.IntN, Resident) }

func newRecycler(
	cfg RecycleConfig, random func(int) int, resident func() (int64, error),
) *Recycler {
	if cfg.Requests <= 0 && cfg.Memory <= 0 {
		return nil
	}
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	r := &Recycler{cfg: cfg, stop: make(chan struct{}), done: make(chan struct{})}
	if cfg.Requests > 0 {
		r.limit = int64(cfg.Requests)
		if cfg.Jitter > 0 {
			r.limit += int64(random(cfg.Jitter + 1))
		}
	}
	if cfg.Memory > 0 {
		go r.watchMemory(resident)
	} else {
		close(r.done)
	}
	return r
}

// Count counts an answered request.
func (r *Recycler) Count() {
	if r == nil || r.limit == 0 {
		return
	}
	if n := r.count.Add(1); n == r.limit {
		// The limit is met by one goroutine, which need not wait for a log.
		go r.ask("requests", n)
	}
}

// Stop ends the look at the memory and waits for the one under way.
func (r *Recycler) Stop() {
	if r == nil {
		return
	}
	r.once.Do(func() { close(r.stop) })
	<-r.done
}

func (r *Recycler) watchMemory(resident func() (int64, error)) {
	defer close(r.done)
	ticker := time.NewTicker(r.cfg.Every)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
		}
		bytes, err := resident()
		if err != nil {
			r.cfg.Log.Error("worker: the memory limit is not watched", "err", err)
			return
		}
		if bytes > r.cfg.Memory {
			r.ask("memory", bytes)
			return
		}
	}
}

func (r *Recycler) ask(limit string, value int64) {
	r.asked.Do(func() {
		r.cfg.Log.Info("worker: a limit is reached, to be replaced", "limit", limit, "value", value)
		if err := r.cfg.Ask(); err != nil {
			r.cfg.Log.Error("worker: not replaced", "err", err)
		}
	})
}

// Resident is the memory of this process that is in RAM, in bytes, as Linux
// counts it: shared pages included.
func Resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("worker: resident memory: %w", err)
	}
	return parseStatm(string(text), int64(os.Getpagesize()))
}

func parseStatm(text string, pageBytes int64) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0, errors.New("worker: resident memory: /proc/self/statm has no second field")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("worker: resident memory: %w", err)
	}
	return pages * pageBytes, nil
}
