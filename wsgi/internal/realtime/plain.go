// SPDX-License-Identifier: MIT

package realtime

import (
	"sync"

	"m0serve.dev/http/sse"
)

// A plainText makes the data of events, for streams that are no event streams. Ten
// thousand of them ask for the same event one after the other, so the last one is
// kept.
type plainText struct {
	mu   sync.Mutex
	of   *sse.Frame
	data *sse.Frame
}

// frame is f with the data of its event alone; nil when it has none.
func (p *plainText) frame(f *sse.Frame) *sse.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != f {
		p.of, p.data = f, nil
		if data, ok := DataOf(f.Body()); ok {
			p.data = sse.NewFrame(0, f.Channel(), f.Kind(), data)
		}
	}
	return p.data
}

// DataOf is the data of the event in an encoded block.
func DataOf(block []byte) (data []byte, ok bool) {
	var parser sse.Parser
	err := parser.Feed(block, func(e sse.Event) { data, ok = []byte(e.Data), true })
	return data, ok && err == nil
}
