// SPDX-License-Identifier: MIT

// Package fakebus is a kernel for the bus of a whole service within one test, in
// which processes are stopped and killed, channels are full, and calls fail. It
// waits on channels and timers alone, so it lives in a bubble of testing/synctest.
//
// A run is the same every time although its goroutines are not: each pair of
// processes has a latency of its own, so that of what happens at one moment nothing
// depends on who came first, and each sender has room of its own in a channel.
package fakebus

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"m0serve.dev/http/internal/sys"
)

// A Kernel has the channels of a service. Its methods may be called from any
// goroutine; mu guards everything of it and of its processes.
type Kernel struct {
	mu       sync.Mutex
	capacity int // datagrams of one sender in a channel
	channels []*channel
	files    map[int]*file
	nextFD   int
}

type channel struct {
	waiting []datagram    // in the order in which they arrive
	stopped bool          // its reader stands still
	filled  chan struct{} // a token: there may be something to read
}

// A lane is one process's way into a channel.
type lane struct {
	waiting int
	drained chan struct{} // a token: there may be room
	fail    []error       // of the next sends
}

type datagram struct {
	due  time.Time // of its arrival
	from *lane
	data []byte
	body []byte // of the descriptor that travels with it; nil: none
}

// A file is a sealed one, as one process has it.
type file struct {
	body  []byte
	owner *Process
}

const firstFile = 1 << 16

// New makes a service with so many channels that hold so many datagrams of each
// sender.
func New(channels, capacity int) *Kernel {
	k := &Kernel{capacity: capacity, files: map[int]*file{}, nextFD: firstFile}
	for range channels {
		k.channels = append(k.channels, &channel{filled: make(chan struct{}, 1)})
	}
	return k
}

// Ends are the descriptors of the channels.
func (k *Kernel) Ends() (read, write []int) {
	for i := range k.channels {
		read, write = append(read, 2*i), append(write, 2*i+1)
	}
	return read, write
}

// Files is how many descriptors of sealed files are open.
func (k *Kernel) Files() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.files)
}

// Stop lets the reader of a channel stand still, as SIGSTOP does, or go on.
func (k *Kernel) Stop(index int, stopped bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.channels[index].stopped = stopped
	signal(k.channels[index].filled)
}

func signal(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// A Process is the kernel as one process sees it: a sys.BusKernel.
type Process struct {
	k     *Kernel
	index int
	lanes []*lane // by channel
	// Before is asked before every call of that name; an error is the call's.
	Before func(call string) error

	dead    bool
	vain    int // sends since then
	dieIn   int // sends; 0: it lives on
	readers []*reader
}

// Process starts one. Of those with one index only one lives at a time.
func (k *Kernel) Process(index int) *Process {
	p := &Process{k: k, index: index}
	for range k.channels {
		p.lanes = append(p.lanes, &lane{drained: make(chan struct{}, 1)})
	}
	return p
}

// Fail lets the next sends to a channel fail.
func (p *Process) Fail(index int, errs ...error) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.lanes[index].fail = append(p.lanes[index].fail, errs...)
}

// latency is unlike that of every other pair.
func (p *Process) latency(index int) time.Duration {
	return time.Duration(1+p.index*len(p.k.channels)+index) * time.Microsecond
}

// Kill ends the process: nothing that it still does has any effect.
func (p *Process) Kill() {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.killLocked()
}

// KillIn ends the process in the middle of its work: before so many sends more.
func (p *Process) KillIn(sends int) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.dieIn = sends
}

// Dead reports whether the process was killed.
func (p *Process) Dead() bool {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.dead
}

// Vain is how many sends of a dead process had no effect: what it would have sent.
func (p *Process) Vain() int {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.vain
}

func (p *Process) killLocked() {
	p.dead = true
	for fd, f := range p.k.files {
		if f.owner == p {
			delete(p.k.files, fd)
		}
	}
	for _, r := range p.readers {
		r.closeLocked()
	}
}

func (p *Process) before(call string) error {
	if p.Before == nil {
		return nil
	}
	return p.Before(call)
}

// Check implements sys.BusKernel.
func (p *Process) Check(fd int) error {
	if fd < 0 || fd >= 2*len(p.k.channels) {
		return errors.New("fakebus: no channel")
	}
	return nil
}

// Send implements sys.BusKernel.
func (p *Process) Send(fd int, data []byte, pass int) error {
	if err := p.before("Send"); err != nil {
		return err
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	c, lane := p.k.channels[fd/2], p.lanes[fd/2]
	if p.dieIn > 0 {
		if p.dieIn--; p.dieIn == 0 {
			p.killLocked()
		}
	}
	switch {
	case p.dead:
		p.vain++
		return nil
	case len(lane.fail) > 0:
		err := lane.fail[0]
		lane.fail = lane.fail[1:]
		return err
	case lane.waiting >= p.k.capacity:
		return sys.ErrBusFull
	}
	d := datagram{data: append([]byte(nil), data...), from: lane}
	d.due = time.Now().Add(p.latency(fd / 2))
	if pass >= 0 {
		d.body = p.k.files[pass].body
	}
	at := len(c.waiting)
	for at > 0 && c.waiting[at-1].due.After(d.due) {
		at--
	}
	c.waiting = slices.Insert(c.waiting, at, d)
	lane.waiting++
	signal(c.filled)
	return nil
}

// Recv implements sys.BusKernel.
func (p *Process) Recv(fd int, buf []byte) (n, pass int, err error) {
	err = p.before("Recv")
	if err != nil && err != sys.ErrBusCut {
		return 0, -1, err
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	c := p.k.channels[fd/2]
	if len(c.waiting) == 0 || c.waiting[0].due.After(time.Now()) {
		return 0, -1, sys.ErrBusEmpty
	}
	d := c.waiting[0]
	c.waiting = c.waiting[1:]
	d.from.waiting--
	signal(d.from.drained)
	n, pass = copy(buf, d.data), -1
	if d.body != nil && err == nil {
		pass = p.openLocked(d.body)
	}
	return n, pass, err
}

// Writable implements sys.BusKernel.
func (p *Process) Writable(fd int, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.lanes[fd/2].drained:
		return true
	case <-timer.C:
		return false
	}
}

func (p *Process) openLocked(body []byte) int {
	p.k.nextFD++
	p.k.files[p.k.nextFD] = &file{body, p}
	return p.k.nextFD
}

// Sealed implements sys.BusKernel.
func (p *Process) Sealed(body []byte) (int, error) {
	if err := p.before("Sealed"); err != nil {
		return -1, err
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.openLocked(append([]byte{}, body...)), nil
}

// ReadSealed implements sys.BusKernel.
func (p *Process) ReadSealed(fd, n int) ([]byte, error) {
	if err := p.before("ReadSealed"); err != nil {
		return nil, err
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	f := p.k.files[fd]
	if f == nil || len(f.body) != n {
		return nil, errors.New("fakebus: no such file")
	}
	return f.body, nil
}

// Close implements sys.BusKernel.
func (p *Process) Close(fd int) error {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if p.k.files[fd] == nil && !p.dead {
		panic("fakebus: close of what is not open")
	}
	delete(p.k.files, fd)
	return nil
}

// Reader implements sys.BusKernel.
func (p *Process) Reader(fd int) (sys.BusReader, error) {
	if err := p.before("Reader"); err != nil {
		return nil, err
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	r := &reader{p: p, fd: fd, channel: p.k.channels[fd/2], gone: make(chan struct{})}
	p.readers = append(p.readers, r)
	return r, nil
}

type reader struct {
	p       *Process
	fd      int
	channel *channel
	due     time.Time
	closed  bool
	gone    chan struct{} // closed with it
}

func (r *reader) Read(try func(fd uintptr) bool) error {
	for {
		stopped, wakeAt, err := r.look()
		if err != nil {
			return err
		}
		if !stopped && try(uintptr(r.fd)) {
			return nil
		}
		r.wait(wakeAt)
	}
}

// wait ends when something was sent, at a moment unless that is zero, and with r.
func (r *reader) wait(wakeAt time.Time) {
	var late <-chan time.Time
	if !wakeAt.IsZero() {
		timer := time.NewTimer(time.Until(wakeAt))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.channel.filled:
	case <-late:
	case <-r.gone:
	}
}

// look says what r waits for: the next arrival, or its deadline.
func (r *reader) look() (stopped bool, wakeAt time.Time, err error) {
	r.p.k.mu.Lock()
	defer r.p.k.mu.Unlock()
	switch stopped, wakeAt = r.channel.stopped, r.due; {
	case r.closed:
		return stopped, wakeAt, os.ErrClosed
	case stopped:
		return stopped, time.Time{}, nil
	case !r.due.IsZero() && !time.Now().Before(r.due):
		return stopped, wakeAt, os.ErrDeadlineExceeded
	}
	if w := r.channel.waiting; len(w) > 0 && (wakeAt.IsZero() || w[0].due.Before(wakeAt)) {
		wakeAt = w[0].due
	}
	return stopped, wakeAt, nil
}

func (r *reader) SetReadDeadline(due time.Time) error {
	r.p.k.mu.Lock()
	defer r.p.k.mu.Unlock()
	r.due = due
	return nil
}

func (r *reader) Close() error {
	r.p.k.mu.Lock()
	defer r.p.k.mu.Unlock()
	r.closeLocked()
	return nil
}

func (r *reader) closeLocked() {
	if !r.closed {
		r.closed = true
		close(r.gone)
	}
}
