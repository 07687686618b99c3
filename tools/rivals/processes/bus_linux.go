// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"errors"
	"runtime"
	"syscall"
	"time"

	"m0serve.dev/http/bus"
)

const idleFrames = 1000

// openService makes what a supervisor makes for a number of workers.
func openService(workers int) (page *bus.Page, pageFD int, ch *bus.Channels, err error) {
	if page, pageFD, err = bus.NewPage(workers); err != nil {
		return nil, 0, nil, err
	}
	ch, err = bus.NewChannels(workers)
	return page, pageFD, ch, err
}

// busOurs publishes to a worker in another process.
func busOurs() (said, error) {
	page, pageFD, ch, err := openService(1)
	if err != nil {
		return said{}, err
	}
	reader, err := start("bus", pageFD, ch.Read[0], ch.Write[0])
	if err != nil {
		return said{}, err
	}
	defer reader.stop()
	b, err := bus.Open(bus.Config{Page: page, Read: -1, Write: ch.Write})
	if err != nil {
		return said{}, err
	}
	defer b.Close()
	return measure(reader, func(body []byte) error { return publish(b, body) })
}

// busFloor sends the same bytes over a pair of sockets and nothing else.
func busFloor() (said, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return said{}, err
	}
	reader, err := start("dgram", pair[0])
	if err != nil {
		return said{}, err
	}
	defer reader.stop()
	return measure(reader, func(body []byte) error {
		_, err := syscall.Write(pair[1], body)
		return err
	})
}

// measure sends as fast as it can, and then to a reader that sleeps. The reader is
// told how many frames it is due, and answers at the last with how long that was under
// way.
func measure(reader *child, send func(body []byte) error) (said, error) {
	if err := reader.in.Encode(*frames); err != nil {
		return said{}, err
	}
	begin := time.Now()
	for range *frames {
		if err := send(stamped()); err != nil {
			return said{}, err
		}
	}
	var took int64
	if err := reader.out.Decode(&took); err != nil {
		return said{}, err
	}
	s := said{Rate: float64(*frames) / time.Since(begin).Seconds()}
	var all []int64
	for range idleFrames {
		if err := reader.in.Encode(1); err != nil {
			return s, err
		}
		time.Sleep(restTime)
		if err := send(stamped()); err != nil {
			return s, err
		}
		if err := reader.out.Decode(&took); err != nil {
			return s, err
		}
		all = append(all, took)
	}
	s.OneWayUs = median(all)
	return s, nil
}

// stamped is a body with the time in it, on the clock that all processes have.
func stamped() []byte {
	body := make([]byte, frameBytes)
	binary.LittleEndian.PutUint64(body, uint64(bus.Uptime()))
	return body
}

func age(body []byte) int64 {
	return int64(bus.Uptime()) - int64(binary.LittleEndian.Uint64(body))
}

// publish tries again while the queue is full.
func publish(b *bus.Bus, body []byte) error {
	for f := (bus.Frame{ID: b.NextID(), Channel: "news", Body: body}); ; runtime.Gosched() {
		if err := b.Publish(f); !errors.Is(err, bus.ErrRefused) {
			return err
		}
	}
}

// readBus is a worker that counts.
func readBus() error {
	b, err := join(3, 4, 5, 0)
	if err != nil {
		return err
	}
	due, left := orders(), 0
	b.Receive(func(f bus.Frame) {
		if left == 0 {
			left = <-due
		}
		if left--; left == 0 {
			_ = tell(age(f.Body)) // nobody listens: this process is about to be ended
		}
	})
	if err := tell(0); err != nil {
		return err
	}
	select {}
}

// join opens the bus as worker 0.
func join(page, read, write int, window time.Duration) (*bus.Bus, error) {
	p, err := bus.OpenPage(page)
	if err != nil {
		return nil, err
	}
	return bus.Open(bus.Config{Page: p, Read: read, Write: []int{write}, Window: window})
}

// readDgram is readBus without a bus.
func readDgram() error {
	if err := tell(0); err != nil {
		return err
	}
	due, buf := orders(), make([]byte, 2*frameBytes)
	for left := 0; ; {
		n, err := syscall.Read(3, buf)
		if err != nil {
			return err
		}
		if left == 0 {
			left = <-due
		}
		if left--; left == 0 {
			if err := tell(age(buf[:n])); err != nil {
				return err
			}
		}
	}
}
