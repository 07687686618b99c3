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
	"m0serve.dev/http/config"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

const (
	channel = "sim"
	period  = 250 * time.Millisecond
)

// An arm is which of the two makes the steps: a producer, or the server's tick.
type arm struct{ onLoop bool }

func (m *arm) settings() []config.Setting {
	return []config.Setting{{
		Flag: "on-loop", Env: "M0_SIM_ON_LOOP", Help: "steps on the server's loop, not in a producer",
		Set: config.Switch(&m.onLoop),
	}}
}

// step makes a step and tells every stream. A worker that does not take it costs its
// own streams the step.
func step(s *sim, out *host.Publisher) error {
	n, now := s.step()
	data := fmt.Appendf(nil, `{"n":%d,"at":%d,"pid":%d,`, n, time.Now().UnixMilli(), os.Getpid())
	data = append(appendState(data, now), '}')
	_, err := out.PublishEvent(channel, sse.Event{Name: "step", Data: string(data)})
	if errors.Is(err, bus.ErrRefused) {
		return nil
	}
	return err
}

func appendState(dst []byte, s state) []byte {
	dst = strconv.AppendFloat(append(dst, `"hares":`...), s.hares, 'f', 4, 64)
	return strconv.AppendFloat(append(dst, `,"foxes":`...), s.foxes, 'f', 4, 64)
}

// A producer is the one arm: a goroutine of the host steps it.
type producer struct {
	sim    *sim
	onLoop bool
}

func (m *arm) newProducer(c *host.Context) (host.Producer, error) {
	return &producer{sim: &sim{c.Page}, onLoop: m.onLoop}, nil
}

// Wanted says that the other arm makes the steps, when it does.
func (p *producer) Wanted() bool { return !p.onLoop }

// Step makes one step of a fixed rate.
func (p *producer) Step(out *host.Publisher) (time.Duration, error) {
	return period, step(p.sim, out)
}

// tick is the other arm: the server's first loop makes the steps, between requests. The
// host lets only worker 0 tick.
func (m *arm) tick(c *host.Context, cfg *server.Config) {
	if !m.onLoop {
		return
	}
	s := &sim{c.Page}
	cfg.TickEvery = period
	cfg.Tick = func() {
		if err := step(s, c.Publisher); err != nil {
			c.Log.Error("sim_loop: a step was not published", "err", err)
		}
	}
}
