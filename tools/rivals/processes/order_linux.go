// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"time"

	"m0serve.dev/http/bus"
)

// Two publishers send a few frames and rest, so that no queue is ever full.
const (
	burstFrames = 20
	burstRest   = time.Millisecond
)

// orders are the numbers that come on the standard input.
func orders() <-chan int {
	c := make(chan int, 1)
	go func() {
		defer close(c)
		for in := json.NewDecoder(os.Stdin); ; {
			var n int
			if in.Decode(&n) != nil {
				return
			}
			c <- n
		}
	}()
	return c
}

// order lets two processes publish increments to a third, which takes a frame whose id
// is not above the last one for one that it has had, as a client that comes back does.
func order() (said, error) {
	_, pageFD, ch, err := openService(1)
	if err != nil {
		return said{}, err
	}
	reader, err := start("count", pageFD, ch.Read[0], ch.Write[0])
	if err != nil {
		return said{}, err
	}
	defer reader.stop()
	for range 2 {
		p, err := start("publish", pageFD, ch.Write[0])
		if err != nil {
			return said{}, err
		}
		defer p.stop()
		if err := p.in.Encode(*frames); err != nil {
			return said{}, err
		}
	}
	s := said{Of: 2 * *frames}
	return s, reader.out.Decode(&s.Kept)
}

// countIncrements ends when all frames have come, in whatever order.
func countIncrements() error {
	b, err := join(3, 4, 5, *window)
	if err != nil {
		return err
	}
	var last uint64
	kept, came, done := 0, 0, make(chan int)
	b.Receive(func(f bus.Frame) {
		if f.ID > last {
			last, kept = f.ID, kept+1
		}
		if came++; came == 2**frames {
			done <- kept
		}
	})
	if err := tell(0); err != nil {
		return err
	}
	return tell(int64(<-done))
}

func publishIncrements() error {
	page, err := bus.OpenPage(3)
	if err != nil {
		return err
	}
	b, err := bus.Open(bus.Config{Page: page, Read: -1, Write: []int{4}})
	if err != nil {
		return err
	}
	if err := tell(0); err != nil {
		return err
	}
	body := make([]byte, frameBytes)
	for n := range <-orders() {
		if err := publish(b, body); err != nil {
			return err
		}
		if n%burstFrames == 0 {
			time.Sleep(burstRest)
		}
	}
	select {} // what waits in a queue is still sent; who started it ends it
}
