// SPDX-License-Identifier: MIT

package bus

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
)

// Config says which channels a process has. The descriptors stay their
// owner's: they must be open until Close returns and are not closed by it.
type Config struct {
	Page  *Page // the shared page; required
	Read  int   // read end of this worker's channel; -1: this process only publishes
	Write []int // write ends of all channels, in index order; required
	Index int   // this worker's index; not used when Read is -1

	Kernel sys.BusKernel // nil: this system's

	QueueBytes  int           // retry queue of one full channel; 0: 8 MiB
	QueueFrames int           // same, in frames; 0: 8192
	LargeBytes  int           // large bodies waiting in one channel, all senders; 0: 64 MiB
	Window      time.Duration // longest wait for a lower id; 0: 20 ms; negative: none

	// Lost is called on the receiving goroutine, between frames, when frames for
	// this channel were lost: publishers dropped them, or they came in damaged, as
	// large ones do in a process without a free descriptor. Time to ask a sibling.
	// May be nil.
	Lost func(frames uint64)
	Log  *slog.Logger // begin and end of a spell of drops; nil: silence
}

const (
	queueBytesDefault  = 8 << 20
	queueFramesDefault = 8192
	largeBytesDefault  = 64 << 20
	windowDefault      = 20 * time.Millisecond
)

func (c *Config) queueBytes() int  { return orDefault(c.QueueBytes, queueBytesDefault) }
func (c *Config) queueFrames() int { return orDefault(c.QueueFrames, queueFramesDefault) }
func (c *Config) largeBytes() int  { return orDefault(c.LargeBytes, largeBytesDefault) }

func (c *Config) kernel() sys.BusKernel {
	if c.Kernel == nil {
		return sys.SystemBus{}
	}
	return c.Kernel
}

func (c *Config) window() time.Duration {
	if c.Window == 0 {
		return windowDefault
	}
	return c.Window
}

func (c *Config) logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// A Bus is one process's access to the channels of its service. Publish, Broadcast,
// SendTo, the ids and Stats may be called from any goroutine; the receiving
// goroutine owns the order of what arrives.
type Bus struct {
	kernel sys.BusKernel
	page   *Page
	index  int // -1: only publishes
	origin uint32
	line   *Line // this worker's; nil when it only publishes
	local  bool
	outs   []*outlet
	in     receiver // nil when it only publishes
	log    *slog.Logger
	stop   chan struct{} // closed by Close

	flushers sync.WaitGroup
	readers  sync.WaitGroup
	closing  sync.Once
	closed   atomic.Bool

	// Owned by the receiving goroutine, and by the caller of Backlog before it.
	order    order
	base     uint64 // the last id when the bus was opened
	drained  bool   // the backlog was read
	fresh    *Frame // first frame behind the backlog
	lost     func(uint64)
	lostSeen uint64

	receiving atomic.Bool
	published atomic.Uint64
	tooLarge  atomic.Uint64
	received  atomic.Uint64
	late      atomic.Uint64
	forced    atomic.Uint64
	held      atomic.Int64
}

// Open joins the channels that were made before the process started. An error
// means that a descriptor is not what its name says: the process leaves with
// 78 and touches none of them.
func Open(c Config) (*Bus, error) {
	if c.Page == nil {
		return nil, fmt.Errorf("%w: none", ErrPage)
	}
	if len(c.Write) == 0 || len(c.Write) > c.Page.Workers() {
		return nil, fmt.Errorf("bus: %d channels on a page for %d", len(c.Write), c.Page.Workers())
	}
	for i, fd := range c.Write {
		if err := c.kernel().Check(fd); err != nil {
			return nil, fmt.Errorf("bus: channel %d: write descriptor %d: %w", i, fd, err)
		}
	}
	b := newBus(&c, c.Page)
	if c.Read >= 0 {
		if err := b.openRead(c.Read, c.Index, len(c.Write)); err != nil {
			return nil, err
		}
	}
	for i, fd := range c.Write {
		line := c.Page.Worker(i)
		b.addOutlet(&c, &socketSender{
			kernel: b.kernel, fd: fd, line: line, largeMax: c.largeBytes(),
		})
	}
	return b, nil
}

func (b *Bus) openRead(fd, index, channels int) error {
	if index < 0 || index >= channels {
		return fmt.Errorf("bus: index %d of %d channels", index, channels)
	}
	if err := b.kernel.Check(fd); err != nil {
		return fmt.Errorf("bus: channel %d: read descriptor %d: %w", index, fd, err)
	}
	line := b.page.Worker(index)
	in, err := newSocketReceiver(b.kernel, fd, line)
	if err != nil {
		return fmt.Errorf("bus: channel %d: read descriptor %d: %w", index, fd, err)
	}
	b.join(index, in)
	return nil
}

// Local returns a bus for a program that is one process, on any system. It
// differs from an opened one in nothing that a caller can see, except that
// bodies are not copied.
func Local() *Bus { return newLocal(Config{}) }

func newLocal(c Config) *Bus {
	b := newBus(&c, localPage())
	b.local = true
	m := newMemory(c.queueBytes())
	b.join(0, m)
	b.addOutlet(&c, m)
	return b
}

func newBus(c *Config, page *Page) *Bus {
	return &Bus{
		kernel: c.kernel(), page: page, index: -1, origin: NoOrigin,
		log: c.logger(), lost: c.Lost, stop: make(chan struct{}),
		order: order{window: c.window()},
	}
}

// join makes b the bus of a worker. Its line is marked first: from here on
// publishers send, and the base divides backlog and new frames.
func (b *Bus) join(index int, in receiver) {
	b.index, b.origin, b.in = index, uint32(index), in
	b.line = b.page.Worker(index)
	b.line.expect()
	b.base = b.page.CurrentID()
	b.order.last = b.base
	b.lostSeen = b.line.Drops()
}

func (b *Bus) addOutlet(c *Config, s sender) {
	b.outs = append(b.outs, &outlet{
		index: len(b.outs), line: b.page.Worker(len(b.outs)), sender: s,
		bytesMax: c.queueBytes(), framesMax: c.queueFrames(),
		log: b.log, stop: b.stop, flushers: &b.flushers,
	})
}

// Page is the shared page.
func (b *Bus) Page() *Page { return b.page }

// Index is this worker's index, or -1 for a process that only publishes.
func (b *Bus) Index() int { return b.index }

// Channels is the number of channels, spares included.
func (b *Bus) Channels() int { return len(b.outs) }

// NextID takes the next event id; see Page.NextID.
func (b *Bus) NextID() uint64 { return b.page.NextID() }

// CurrentID is the last id given out in the service. Its frame may be on its way, or not
// sent yet.
func (b *Bus) CurrentID() uint64 { return b.page.CurrentID() }

// RaiseID makes every later id greater than min; see Page.RaiseID.
func (b *Bus) RaiseID(min uint64) { b.page.RaiseID(min) }

// Publish sends f to every worker, this one included. It does not wait: a
// channel that is full gets the frame from a bounded queue later. The error is
// ErrReserved, ErrName, ErrKind or ErrTooLarge when f went to nobody, and a
// *RefusedError (ErrRefused) when some channels dropped it.
func (b *Bus) Publish(f Frame) error {
	if err := CheckName(f.Channel); err != nil {
		return err
	}
	return b.publish(&f)
}

// Broadcast is Publish for the server's own frames, whose channel names are reserved.
// Like SendTo it is never reachable from an untrusted name.
func (b *Bus) Broadcast(f Frame) error {
	if err := checkReserved(f.Channel); err != nil {
		return err
	}
	return b.publish(&f)
}

func (b *Bus) publish(f *Frame) error {
	p, err := b.pack(f)
	if err != nil {
		return err
	}
	defer p.release()
	b.published.Add(1)
	var refused []int
	for i, out := range b.outs {
		if !out.push(p) {
			refused = append(refused, i)
		}
	}
	if refused != nil {
		return &RefusedError{Channels: refused}
	}
	return nil
}

// SendTo sends one of the server's own frames to one worker; its channel name
// is reserved. Such frames have no id and stand outside the order. It is never
// reachable from an untrusted name. A vacant channel is a RefusedError.
func (b *Bus) SendTo(index int, f Frame) error {
	f.ID = 0
	if err := checkReserved(f.Channel); err != nil {
		return err
	}
	if index < 0 || index >= len(b.outs) {
		return fmt.Errorf("bus: send to channel %d of %d", index, len(b.outs))
	}
	p, err := b.pack(&f)
	if err != nil {
		return err
	}
	defer p.release()
	out := b.outs[index]
	if out.line.State() == Vacant || !out.push(p) {
		return &RefusedError{Channels: []int{index}}
	}
	return nil
}

// pack checks what Publish and SendTo have in common and encodes f.
func (b *Bus) pack(f *Frame) (*packet, error) {
	if b.closed.Load() {
		return nil, ErrClosed
	}
	if err := CheckKind(f.Kind); err != nil {
		return nil, err
	}
	if len(f.Body) > MaxBody {
		b.tooLarge.Add(1)
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(f.Body), MaxBody)
	}
	f.Origin = b.origin
	if b.local {
		return newLocalPacket(f), nil
	}
	return newPacket(b.kernel, f)
}

// Close ends the reception, gives queued frames a last try and returns when
// the bus's goroutines have ended. The descriptors stay open.
func (b *Bus) Close() {
	b.closing.Do(func() {
		b.closed.Store(true)
		for _, out := range b.outs {
			out.close()
		}
		close(b.stop)
		b.flushers.Wait()
		for _, out := range b.outs {
			out.finish()
		}
		if b.in != nil {
			b.in.close()
		}
	})
	b.readers.Wait()
}

// Stats are the counters of one process's bus. Those of a channel count what
// this process sent there; Line.Drops counts the drops of all processes.
type Stats struct {
	Published uint64 // frames given to Publish or Broadcast and not refused
	TooLarge  uint64 // frames refused for their size
	Received  uint64 // frames read from this worker's channel
	Late      uint64 // of those, delivered behind a higher id
	Forced    uint64 // of those, not given their whole window
	Damaged   uint64 // datagrams that were no frame
	Held      int    // frames waiting for a lower id now

	Channels []ChannelStats // by index
}

// ChannelStats are the counters of one channel, as its sender sees it.
type ChannelStats struct {
	Sent        uint64 // frames the channel took
	Retried     uint64 // of those, out of the queue
	Dropped     uint64 // frames lost because channel and queue were full
	Queued      int    // frames in the queue now
	QueuedBytes int    // and their bytes
}

// Stats returns the counters.
func (b *Bus) Stats() Stats {
	s := Stats{
		Published: b.published.Load(),
		TooLarge:  b.tooLarge.Load(),
		Received:  b.received.Load(),
		Late:      b.late.Load(),
		Forced:    b.forced.Load(),
		Held:      int(b.held.Load()),
	}
	if b.in != nil {
		s.Damaged = b.in.damages()
	}
	for _, out := range b.outs {
		s.Channels = append(s.Channels, out.stats())
	}
	return s
}
