// SPDX-License-Identifier: MIT

package bus

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
)

// sendBufferBytes is asked for each channel: about 6,500 frames of 300 bytes
// before a publisher has to queue.
const sendBufferBytes = 4 << 20

// Channels are the socket pairs of a service, one per worker and spare, made
// by the process that starts the workers. They are plain descriptors, closed
// on exec: an os.File around one would close it when it is collected, and the
// number would soon mean something else.
type Channels struct {
	Read  []int // Read[i] goes to worker i
	Write []int // all of them go to every worker
}

// NewChannels makes n channels.
func NewChannels(n int) (*Channels, error) {
	if n < 1 || n > MaxWorkers {
		return nil, fmt.Errorf("bus: %d channels, want 1 to %d", n, MaxWorkers)
	}
	c := &Channels{}
	for range n {
		read, write, err := sys.BusPair()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bus: new channel: %w", err), c.Close())
		}
		sys.BusSendBuffer(write, sendBufferBytes)
		c.Read = append(c.Read, read)
		c.Write = append(c.Write, write)
	}
	return c, nil
}

// Close closes the descriptors of this process.
func (c *Channels) Close() error {
	var errs []error
	for _, fd := range append(c.Read, c.Write...) {
		errs = append(errs, sys.BusClose(fd))
	}
	c.Read, c.Write = nil, nil
	return errors.Join(errs...)
}

// Discard throws away what waits in channel i and returns how many frames that
// was: the last ones to a worker that was given up. Whoever gets the channel next
// would take them for history that goes on with its own first frame. Only the
// process that made the channels calls it, while the line is vacant.
func (c *Channels) Discard(i int) (frames int) {
	var buf [1]byte // the rest of a frame goes with it
	for {
		_, fd, err := sys.BusRecv(c.Read[i], buf[:])
		if fd >= 0 {
			_ = sys.BusClose(fd)
		}
		if err != nil && err != sys.ErrBusCut {
			return frames
		}
		frames++
	}
}

// A socketSender writes to an inherited descriptor, which stays its owner's.
type socketSender struct {
	kernel   sys.BusKernel
	fd       int
	line     *Line
	largeMax int
}

func (s *socketSender) send(p *packet) error {
	if p.large == nil {
		return s.kernel.Send(s.fd, p.data, -1)
	}
	if !s.line.takeLarge(p.body, s.largeMax) {
		return sys.ErrBusShort
	}
	err := s.kernel.Send(s.fd, p.data, p.large.fd)
	if err != nil {
		s.line.freeLarge(p.body)
	}
	return err
}

func (s *socketSender) wait(limit time.Duration) bool { return s.kernel.Writable(s.fd, limit) }

// socketErrorsMax is how many system errors in a row end the reception: the
// descriptor is not what it was.
const socketErrorsMax = 16

// A socketReceiver reads a channel. The receiving goroutine owns it; close may
// come from any.
type socketReceiver struct {
	kernel  sys.BusKernel
	reader  sys.BusReader
	line    *Line
	due     time.Time // the deadline that reader has
	buf     []byte
	names   names
	damaged atomic.Uint64

	read readResult // of the last call of tryRead
	fail int        // system errors in a row
	wait func(fd uintptr) bool
	peek func(fd uintptr) bool
}

type readResult struct {
	n, pass int
	err     error
}

func newSocketReceiver(kernel sys.BusKernel, fd int, line *Line) (*socketReceiver, error) {
	reader, err := kernel.Reader(fd)
	if err != nil {
		return nil, err
	}
	r := &socketReceiver{
		kernel: kernel, reader: reader, line: line, buf: make([]byte, datagramBytes),
	}
	r.wait = r.tryRead
	r.peek = func(fd uintptr) bool { r.tryRead(fd); return true }
	return r, nil
}

func (r *socketReceiver) tryRead(fd uintptr) bool {
	r.read.n, r.read.pass, r.read.err = r.kernel.Recv(int(fd), r.buf)
	return r.read.err != sys.ErrBusEmpty
}

// recv waits for the next frame, until due unless that is zero.
func (r *socketReceiver) recv(due time.Time) (Frame, error) {
	if !due.Equal(r.due) {
		if err := r.reader.SetReadDeadline(due); err != nil {
			return Frame{}, err
		}
		r.due = due
	}
	return r.next(r.wait)
}

// try returns the next frame if one waits, else sys.ErrBusEmpty.
func (r *socketReceiver) try() (Frame, error) {
	if !r.due.IsZero() {
		if err := r.reader.SetReadDeadline(time.Time{}); err != nil {
			return Frame{}, err
		}
		r.due = time.Time{}
	}
	return r.next(r.peek)
}

// errDamaged says that a datagram was no frame: whatever it was is lost.
var errDamaged = errors.New("bus: damaged datagram")

// next reads a datagram.
func (r *socketReceiver) next(read func(fd uintptr) bool) (Frame, error) {
	for {
		if err := r.reader.Read(read); err != nil {
			return Frame{}, err // closed, or due
		}
		if r.read.err == sys.ErrBusEmpty {
			return Frame{}, sys.ErrBusEmpty
		}
		if r.read.err != nil && r.read.err != sys.ErrBusCut {
			r.fail++
			if r.fail >= socketErrorsMax {
				return Frame{}, fmt.Errorf("bus: receive: %w", r.read.err)
			}
			continue
		}
		r.fail = 0
		f, ok := r.frame()
		if !ok {
			r.damaged.Add(1)
			return Frame{}, errDamaged
		}
		return f, nil
	}
}

// frame makes a frame of the datagram just read and closes its descriptor.
func (r *socketReceiver) frame() (Frame, bool) {
	if r.read.pass >= 0 {
		defer func() { _ = r.kernel.Close(r.read.pass) }()
	}
	v, err := decode(r.buf[:r.read.n])
	if err != nil {
		return Frame{}, false
	}
	if v.large {
		r.line.freeLarge(v.bytes)
	}
	if r.read.err != nil || v.large != (r.read.pass >= 0) {
		return Frame{}, false
	}
	f := Frame{
		ID: v.id, Origin: v.origin,
		Channel: r.names.get(v.channel), Kind: r.names.get(v.kind),
	}
	if !v.large {
		f.Body = bytes.Clone(v.body)
		return f, true
	}
	f.Body, err = r.kernel.ReadSealed(r.read.pass, v.bytes)
	return f, err == nil
}

func (r *socketReceiver) damages() uint64 { return r.damaged.Load() }

func (r *socketReceiver) close() { _ = r.reader.Close() }

// namesMax bounds the strings kept for reuse.
const namesMax = 1024

// names keeps the strings of recent channels and kinds, so that a busy channel
// does not allocate its name for each frame.
type names map[string]string

func (n *names) get(b []byte) string {
	if s, ok := (*n)[string(b)]; ok {
		return s
	}
	if *n == nil || len(*n) >= namesMax {
		*n = make(names)
	}
	s := string(b)
	(*n)[s] = s
	return s
}
