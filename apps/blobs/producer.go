// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

const (
	channel     = "board" // every stream's
	wakeChannel = "wake"  // the producer's: somebody looks
)

// lookAgain bounds a rest: should the word that somebody looks be lost on its way,
// the producer sees it by itself.
const lookAgain = 20 * time.Second

// A producer moves the board, one frame a step, while anybody watches.
type producer struct {
	board  *board
	period time.Duration
	woken  waker
	buf    []byte
}

// A waker holds a token when somebody has begun to look. It is what the slot of
// the wake channel feeds: the frames there have no body, so nothing waits in it.
type waker chan struct{}

// Wake is called when a frame has come.
func (w waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Close is called at the end of the service, which the producer hears otherwise.
func (w waker) Close(loop.Ending) {}

// newProducer builds the producer, which may happen before that of the old worker 0
// has ended: it reads the board, and writes nothing before its first step.
func (r *rate) newProducer(c *host.Context) (host.Producer, error) {
	p := &producer{board: openBoard(c), period: r.period(), woken: make(waker, 1)}
	slot, err := c.Hub.Attach(sse.HoldOptions{Channels: []string{wakeChannel}, Quiet: true})
	if err != nil {
		return nil, err
	}
	slot.Park(p.woken, false)
	return p, nil
}

// A rate is how fast the board moves.
type rate struct{ millis int } // from step to step

func (r *rate) settings() []config.Setting {
	return []config.Setting{{
		Flag: "period", Env: "M0_BLOBS_PERIOD_MS", Value: "MS", Default: "100",
		Help: "milliseconds from step to step", Set: config.Number(&r.millis, 1, 10_000),
	}}
}

func (r *rate) period() time.Duration { return time.Duration(r.millis) * time.Millisecond }

// Step moves the board and tells every stream, or rests until somebody looks. A
// worker that does not take the frame costs its own streams a step, and is counted.
func (p *producer) Step(out *host.Publisher) (time.Duration, error) {
	viewers := p.board.viewers()
	if viewers == 0 {
		p.rest(out)
		return 0, nil // look again, at once
	}
	p.board.words[wordResting].Store(0)
	n, blobs := p.board.step()
	f := frame{step: n, viewers: viewers, period: p.period, blobs: blobs}
	p.buf = f.append(p.buf[:0])
	id, err := out.PublishEvent(channel, sse.Event{Name: "step", Data: string(p.buf)})
	if err != nil && !errors.Is(err, bus.ErrRefused) {
		return 0, err
	}
	p.board.words[wordLastID].Store(id)
	return p.period, nil
}

// rest waits for a viewer. See board.join for why none is overlooked.
func (p *producer) rest(out *host.Publisher) {
	resting := &p.board.words[wordResting]
	resting.Store(1)
	if p.board.viewers() > 0 {
		return
	}
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-p.woken:
	case <-out.Stopping():
	case <-again.C:
	}
}
