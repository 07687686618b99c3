// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/ws"
)

// BenchmarkParser takes masked text messages apart.
func BenchmarkParser(b *testing.B) {
	for _, n := range []int{32, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			input := frame(0x81, bytes.Repeat([]byte("x"), n))
			head := len(input) - n
			payload := bytes.Clone(input[head:])
			var p ws.Parser
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				copy(input[head:], payload) // it was unmasked in place
				if _, piece, ok, err := p.Next(input); !ok || !piece.Last || err != nil {
					b.Fatalf("Next = %v, %v, %v", piece, ok, err)
				}
			}
		})
	}
}

// BenchmarkConn is what an echo costs without a socket: the loop's calls.
func BenchmarkConn(b *testing.B) {
	for _, n := range []int{32, 4 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, held := parked(echoHandler, &ws.Options{})
			payload := bytes.Repeat([]byte("x"), n)
			input := frame(0x81, payload)
			fresh := bytes.Clone(input)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				copy(input, fresh)
				c.Received(input)
				for c.Next() != nil {
				}
			}
			_ = held
		})
	}
}

var echoHandler = ws.Handler{Message: func(c *ws.Conn, op ws.Op, data []byte) {
	_ = c.Send(op, data)
}}

// BenchmarkEcho is one socket after the other on the loop, client included.
func BenchmarkEcho(b *testing.B) {
	for _, conns := range []int{1, 64} {
		b.Run(fmt.Sprint(conns), func(b *testing.B) {
			addr := both.Loop(b, echo(&ws.Options{}))
			var peers []*peer
			for range conns {
				p := dial(b, addr, "/")
				p.patience(time.Hour)
				peers = append(peers, p)
			}
			input := frame(0x82, bytes.Repeat([]byte("x"), 32))
			output := make([]byte, 34)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += conns {
				for _, p := range peers {
					p.raw(input)
				}
				for _, p := range peers {
					if _, err := io.ReadFull(p.in, output); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// parked makes a connection on a loop that is not there.
func parked(h ws.Handler, o *ws.Options) (*ws.Conn, *fakeHeld) {
	held := &fakeHeld{}
	return ws.Parked(o, h, held), held
}

// parkedWith is the same for a client that offered extensions.
func parkedWith(h ws.Handler, o *ws.Options, offers string) (*ws.Conn, *fakeHeld) {
	held := &fakeHeld{}
	return ws.ParkedWith(o, h, held, offers), held
}

// heap is what is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// A fakeHeld stands for the loop.
type fakeHeld struct {
	wakes  int
	ending []loop.Ending
	alarms []time.Duration
}

func (f *fakeHeld) Wake()                 { f.wakes++ }
func (f *fakeHeld) Close(how loop.Ending) { f.ending = append(f.ending, how) }
func (f *fakeHeld) Alarm(d time.Duration) { f.alarms = append(f.alarms, d) }
