// SPDX-License-Identifier: MIT

package bus

import (
	"fmt"
	"sync/atomic"

	"m0serve.dev/http/internal/sys"
)

const (
	// inlineBody is the longest body that travels inside a datagram. A longer
	// one is written once to a sealed file and passed to every channel.
	inlineBody = 64 << 10
	// packetCost is what a waiting packet weighs besides its bytes.
	packetCost = 128
)

// A packet is a frame made ready for the channels. It is immutable, and one
// packet waits in the queues of all channels that were full.
type packet struct {
	frame Frame   // Local only: nothing is encoded there
	data  []byte  // the datagram
	large *sealed // its body, when that is too long for a datagram
	body  int     // bytes of body
	cost  int     // bytes that it holds while it waits
}

// sealed is a body in a file, closed with its last holder.
type sealed struct {
	kernel  sys.BusKernel
	fd      int
	holders atomic.Int32
}

// newPacket encodes f. The caller holds the packet until it calls release.
func newPacket(kernel sys.BusKernel, f *Frame) (*packet, error) {
	p := &packet{body: len(f.Body), cost: len(f.Body) + packetCost}
	size := codecHead + len(f.Channel) + len(f.Kind)
	if len(f.Body) <= inlineBody {
		p.data = appendFrame(make([]byte, 0, size+len(f.Body)), f, false)
		return p, nil
	}
	fd, err := kernel.Sealed(f.Body)
	if err != nil {
		return nil, fmt.Errorf("bus: frame of %d bytes: %w", len(f.Body), err)
	}
	p.data = appendFrame(make([]byte, 0, size), f, true)
	p.large = &sealed{kernel: kernel, fd: fd}
	p.large.holders.Store(1)
	return p, nil
}

func newLocalPacket(f *Frame) *packet {
	return &packet{frame: *f, body: len(f.Body), cost: len(f.Body) + packetCost}
}

func (p *packet) hold() {
	if p.large != nil {
		p.large.holders.Add(1)
	}
}

func (p *packet) release() {
	if p.large != nil && p.large.holders.Add(-1) == 0 {
		// Only a descriptor that is not open could fail, and this one is.
		_ = p.large.kernel.Close(p.large.fd)
	}
}
