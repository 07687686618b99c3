// SPDX-License-Identifier: MIT

package bus

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"
)

const benchBytes = 300

// benchBus is a publisher in this process and a reader in another one.
func benchBus(b *testing.B) (*Bus, *remote) {
	b.Helper()
	f := newFleet(b, 1)
	reader := f.start(b, peerConfig{Index: 0, Clock: true})
	bus, err := Open(Config{Page: f.page, Read: -1, Write: f.channels.Write})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(bus.Close)
	return bus, reader
}

func publishTimed(b *testing.B, bus *Bus, id uint64) {
	body := make([]byte, benchBytes)
	binary.LittleEndian.PutUint64(body, uint64(Uptime()))
	for {
		err := bus.Publish(Frame{ID: id, Channel: "news", Kind: "added", Body: body})
		if err == nil {
			return
		}
		if !errors.Is(err, ErrRefused) {
			b.Fatal(err)
		}
		runtime.Gosched()
	}
}

// BenchmarkFrames is the time of one frame from process to process when the
// publisher never stops.
func BenchmarkFrames(b *testing.B) {
	bus, reader := benchBus(b)
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		publishTimed(b, bus, bus.NextID())
	}
	reader.ask(b, command{Do: "await", Count: b.N})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkIdle is the time of a frame that finds its reader asleep.
func BenchmarkIdle(b *testing.B) {
	bus, reader := benchBus(b)
	var took []int64
	for n := range b.N {
		publishTimed(b, bus, bus.NextID())
		got := reader.ask(b, command{Do: "last", Count: n + 1})
		took = append(took, got.TookNs...)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1000, "p99-µs")
}

func BenchmarkLocal(b *testing.B) {
	bus := Local()
	defer bus.Close()
	done := make(chan struct{}, 1)
	left := b.N
	bus.Receive(func(Frame) {
		if left--; left == 0 {
			done <- struct{}{}
		}
	})
	b.ReportAllocs()
	for range b.N {
		publishTimed(b, bus, bus.NextID())
	}
	<-done
}

func BenchmarkDecode(b *testing.B) {
	data := appendFrame(nil, &Frame{ID: 1, Channel: "news", Body: make([]byte, benchBytes)}, false)
	b.ReportAllocs()
	for range b.N {
		if _, err := decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
