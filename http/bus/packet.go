// SPDX-License-Identifier: MIT

package bus

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"m0serve.dev/http/internal/sys"
)

const (
	// inlineBody is the longest body that travels inside a datagram. A longer
	// one is written once to a sealed file and passed to every channel.
	inlineBody = 64 << 10
	// packetCost is what a waiting packet weighs besides its bytes.
	packetCost = 128
	// reuseMax is the longest datagram whose memory is used again.
	reuseMax = 4 << 10
)

// A packet is a frame made ready for the channels. It is immutable, and one
// packet waits in the queues of all channels that were full. With its last holder
// its file is closed, and its memory is another frame's.
type packet struct {
	frame   Frame   // Local only: nothing is encoded there
	data    []byte  // the datagram
	large   *sealed // its body, when that is too long for a datagram
	body    int     // bytes of body
	cost    int     // bytes that it holds while it waits
	holders atomic.Int32
}

// sealed is a body in a file.
type sealed struct {
	kernel sys.BusKernel
	fd     int
}

// packets are those that nobody holds: most frames wait nowhere.
var packets = sync.Pool{New: func() any { return new(packet) }}

// newPacket encodes f. The caller holds the packet until it calls release.
func newPacket(kernel sys.BusKernel, f *Frame) (*packet, error) {
	large := (*sealed)(nil)
	if len(f.Body) > inlineBody {
		fd, err := kernel.Sealed(f.Body)
		if err != nil {
			return nil, fmt.Errorf("bus: frame of %d bytes: %w", len(f.Body), err)
		}
		large = &sealed{kernel: kernel, fd: fd}
	}
	p := packets.Get().(*packet)
	p.large, p.body, p.cost = large, len(f.Body), len(f.Body)+packetCost
	p.holders.Store(1)
	size := codecHead + len(f.Channel) + len(f.Kind)
	if large == nil {
		size += len(f.Body)
	}
	p.data = appendFrame(slices.Grow(p.data[:0], size), f, large != nil)
	return p, nil
}

func newLocalPacket(f *Frame) *packet {
	p := &packet{frame: *f, body: len(f.Body), cost: len(f.Body) + packetCost}
	p.holders.Store(2) // the publisher, and the channel, which never lets go
	return p
}

func (p *packet) hold() { p.holders.Add(1) }

func (p *packet) release() {
	if p.holders.Add(-1) != 0 {
		return
	}
	if p.large != nil {
		// Only a descriptor that is not open could fail, and this one is.
		_ = p.large.kernel.Close(p.large.fd)
		p.large = nil
	}
	if cap(p.data) <= reuseMax {
		packets.Put(p)
	}
}
