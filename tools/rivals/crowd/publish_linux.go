// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	lastWait  = 20 * time.Second // for an event to reach all
	quietTime = 3 * time.Second  // after a flood nothing more comes
	ackWait   = 10 * time.Second // for a publish to be answered
	timeouts  = 3                // of a flood; then it is over
)

// payload is the data of an event: as long as asked, with its number and the mark at
// the end.
func payload(number, size int) []byte {
	end := fmt.Sprintf("#%07d%c", number, mark)
	return append(bytes.Repeat([]byte{'x'}, max(0, size-len(end))), end...)
}

// An ack is the server's answer to a publish.
type ack struct {
	took time.Duration
	err  error
}

// publish publishes one event after the other, each when the last one has reached
// all streams.
func (c *crowd) publish(times, size int, gap time.Duration) (answer, error) {
	var a answer
	door, err := c.pub.dial()
	if err != nil {
		return a, err
	}
	defer door.Close()
	numbers, acks := make(chan int), make(chan ack, 1)
	defer close(numbers)
	go func() {
		for n := range numbers {
			start := time.Now()
			err := c.pub.send(door, payload(n, size))
			acks <- ack{time.Since(start), err}
		}
	}()
	for n := range times {
		missing := len(c.streams)
		for i := range c.streams {
			c.streams[i].count = 0
		}
		c.seen = func(i int, p []byte) {
			s := &c.streams[i]
			before := s.count
			if s.count += bytes.Count(p, []byte{mark}); before == 0 && s.count > 0 {
				missing--
			}
		}
		start := time.Now()
		numbers <- n
		for missing > 0 && time.Since(start) < lastWait {
			if _, err := c.wait(lastWait - time.Since(start)); err != nil {
				return a, err
			}
		}
		took := time.Since(start)
		got := <-acks
		if got.err != nil {
			return a, fmt.Errorf("publish: %w", got.err)
		}
		a.Lost += missing
		a.LastMs, a.AckMs = append(a.LastMs, ms(took)), append(a.AckMs, ms(got.took))
		if missing > 0 {
			return a, nil // each more would be waited for as long, and nothing is measured
		}
		if err := c.rest(gap); err != nil {
			return a, err
		}
	}
	return a, nil
}

// rest waits for gap and up to as much again; what comes is not counted.
func (c *crowd) rest(gap time.Duration) error {
	if gap <= 0 {
		return nil
	}
	c.seen = func(int, []byte) {}
	for end := time.Now().Add(gap + rand.N(gap)); time.Now().Before(end); {
		if _, err := c.wait(time.Until(end)); err != nil {
			return err
		}
	}
	return nil
}

// flood publishes without waiting for the stream, which is the only one that is
// read, and counts what came on it.
func (c *crowd) flood(times, size int) (answer, error) {
	a := answer{InOrder: true}
	done := make(chan flooded, 1)
	go func() { done <- c.pub.flood(times, size) }()
	r := ordered{}
	c.seen = func(_ int, p []byte) { r.read(p) }
	over := false
	for last := time.Now(); !over || r.got < times && time.Since(last) < quietTime; {
		some, err := c.wait(100 * time.Millisecond)
		if err != nil {
			a.Ended = err.Error() // what came before counts
			break
		}
		if some {
			last = time.Now()
		}
		select {
		case f := <-done:
			over, last = true, time.Now()
			a.Published, a.Timeouts, a.AckMs = f.answered, f.timeouts, f.took
			if f.err != nil {
				return a, fmt.Errorf("publish: %w", f.err)
			}
		default:
		}
	}
	a.Got, a.InOrder = r.got, r.got > 0 && !r.mixed
	return a, nil
}

// An ordered reads a stream of numbered events.
type ordered struct {
	got   int
	mixed bool // a number did not come after a smaller one
	last  int
	tail  []byte // the end of what came before
}

func (r *ordered) read(p []byte) {
	const numberLen = 7
	text := append(r.tail, p...)
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], mark)
		if i < 0 {
			break
		}
		at += i + 1
		number := -1
		if start := at - 1 - numberLen; start >= 0 {
			_, _ = fmt.Sscanf(string(text[start:at-1]), "%d", &number)
		}
		r.mixed = r.mixed || number < 0 || r.got > 0 && number <= r.last
		r.got, r.last = r.got+1, number
	}
	// A number of the next event may begin here; its mark comes later.
	r.tail = append(r.tail[:0], text[max(0, len(text)-numberLen):]...)
	r.tail = bytes.ReplaceAll(r.tail, []byte{mark}, []byte{' '})
}
