// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// channel is what every stream of this application listens to.
const channel = "beat"

// beats publishes a numbered beat with the pid of the process that made it, so
// that two producers cannot pass for one.
type beats struct {
	period time.Duration
	work   time.Duration // inside each step
	n      int
}

// newBeats reads the knobs of the smoke: M0_HOSTCHECK_PRODUCER_RAISES makes it
// fail, M0_HOSTCHECK_PERIOD_MS (50) and M0_HOSTCHECK_STEP_MS (0) set the times.
func newBeats(c *host.Context) (host.Producer, error) {
	const knob = "M0_HOSTCHECK_PRODUCER_RAISES"
	if os.Getenv(knob) != "" {
		return nil, errors.New(knob + " is set")
	}
	period, err := millis("M0_HOSTCHECK_PERIOD_MS", 50)
	if err != nil {
		return nil, err
	}
	work, err := millis("M0_HOSTCHECK_STEP_MS", 0)
	if err != nil {
		return nil, err
	}
	return &beats{period: period, work: work}, nil
}

func millis(name string, fallback int) (time.Duration, error) {
	n := fallback
	if v := os.Getenv(name); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 0 {
			return 0, fmt.Errorf("%s=%q: set it to milliseconds", name, v)
		}
	}
	return time.Duration(n) * time.Millisecond, nil
}

// Step publishes one beat. A worker that does not take it costs its own streams
// a beat and is counted; the others have it.
func (b *beats) Step(out *host.Publisher) (time.Duration, error) {
	b.n++
	data := fmt.Sprintf(`{"n":%d,"pid":%d}`, b.n, os.Getpid())
	if _, err := out.PublishEvent(channel, sse.Event{Name: "beat", Data: data}); err != nil &&
		!errors.Is(err, bus.ErrRefused) {
		return 0, err
	}
	time.Sleep(b.work)
	return b.period, nil
}
