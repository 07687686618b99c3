// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"m0serve.dev/http/internal/sys"
)

// waiting is a reading end in which so many frames without an id wait, and where so
// many came in damaged.
type waiting struct{ frames, damaged int }

func (w *waiting) recv(time.Time) (Frame, error) { return Frame{}, os.ErrDeadlineExceeded }

func (w *waiting) try() (Frame, error) {
	if w.frames == 0 {
		return Frame{}, sys.ErrBusEmpty
	}
	w.frames--
	return Frame{Channel: "c"}, nil
}

func (w *waiting) damages() uint64 { return uint64(w.damaged) }
func (w *waiting) close()          {}

// TestBacklogIsBounded: a channel that is filled again while it is drained does not hold
// up the start.
func TestBacklogIsBounded(t *testing.T) {
	w := &waiting{frames: backlogMax + 3}
	b := newBus(&Config{}, localPage())
	b.join(0, w)
	delivered := 0
	if n := b.Backlog(func(Frame) { delivered++ }); n != backlogMax || delivered != backlogMax {
		t.Errorf("Backlog = %d, delivered %d; want %d", n, delivered, backlogMax)
	}
	if w.frames != 3 {
		t.Errorf("%d frames are left to Receive, want 3", w.frames)
	}
}

// TestLostIsToldOnce: each spell of lost frames is told of with its own number, dropped
// ones and damaged ones.
func TestLostIsToldOnce(t *testing.T) {
	var told []uint64
	w := &waiting{}
	b := newBus(&Config{Lost: func(n uint64) { told = append(told, n) }}, localPage())
	b.join(0, w)
	for _, spell := range []struct{ drops, damaged int }{{3, 0}, {0, 2}, {0, 0}, {4, 1}} {
		b.line.addDrops(uint64(spell.drops))
		w.damaged += spell.damaged
		if _, err := b.next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if want := []uint64{3, 2, 5}; !slices.Equal(told, want) {
		t.Errorf("told of %v lost frames, want %v", told, want)
	}
}

// broken is a system whose channel answers as the test says.
type broken struct {
	sys.BusKernel
	answers []error // nil: a datagram
	asked   int
}

func (b *broken) Recv(int, []byte) (n, pass int, err error) {
	err = b.answers[min(b.asked, len(b.answers)-1)]
	b.asked++
	return 0, -1, err
}

func (b *broken) Reader(int) (sys.BusReader, error) { return atOnce{}, nil }

// atOnce is a reader to whom there always is something to read.
type atOnce struct{}

func (atOnce) Read(try func(fd uintptr) bool) error { try(0); return nil }
func (atOnce) SetReadDeadline(time.Time) error      { return nil }
func (atOnce) Close() error                         { return nil }

// TestReceptionEndsAfterErrorsInARow: so many errors of the system end the reception, and
// a datagram in between begins the count anew.
func TestReceptionEndsAfterErrorsInARow(t *testing.T) {
	bad := errors.New("the descriptor is another's")
	k := &broken{answers: slices.Repeat([]error{bad}, socketErrorsMax-1)}
	k.answers = append(k.answers, nil, bad)
	r, err := newSocketReceiver(k, 0, localPage().Worker(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.try(); err != errDamaged || k.asked != socketErrorsMax {
		t.Fatalf("try = %v after %d reads; want a datagram that is none after %d",
			err, k.asked, socketErrorsMax)
	}
	k.asked = socketErrorsMax
	if _, err := r.try(); !errors.Is(err, bad) || k.asked != 2*socketErrorsMax {
		t.Errorf("try = %v after %d reads; want the system's error after %d",
			err, k.asked-socketErrorsMax, socketErrorsMax)
	}
}

// TestNamesAreBounded: the strings that are kept for reuse never are more than a bound.
func TestNamesAreBounded(t *testing.T) {
	var n names
	for i := range 3 * namesMax {
		for range 2 { // once new, once kept
			if name := strconv.Itoa(i); n.get([]byte(name)) != name {
				t.Fatalf("get(%q) is another name", name)
			}
		}
		if want := i%namesMax + 1; len(n) != want {
			t.Fatalf("%d names are kept after %d, want %d", len(n), i+1, want)
		}
	}
}

// TestPacketsWeighMoreThanTheirBodies: frames without a body fill a queue as well.
func TestPacketsWeighMoreThanTheirBodies(t *testing.T) {
	for _, size := range []int{0, 1000, inlineBody} { // the longest one needs no file yet
		f := &Frame{Channel: "c", Body: make([]byte, size)}
		p, err := newPacket(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		local := newLocalPacket(f)
		if want := size + packetCost; p.cost != want || local.cost != want {
			t.Errorf("a body of %d weighs %d and %d, want %d", size, p.cost, local.cost, want)
		}
		p.release()
	}
}

// asleep is a reading end where so many frames arrived while the process did not run. One
// without a channel came in damaged.
type asleep struct {
	waiting
	arrived []Frame
}

func (a *asleep) try() (Frame, error) {
	if len(a.arrived) == 0 {
		return Frame{}, sys.ErrBusEmpty
	}
	f := a.arrived[0]
	a.arrived = a.arrived[1:]
	if f.Channel == "" {
		return Frame{}, errDamaged
	}
	return f, nil
}

// TestExpireLooksFirst: what arrived while the process was stopped is not given up for
// missing.
func TestExpireLooksFirst(t *testing.T) {
	b := newBus(&Config{Window: time.Nanosecond}, localPage())
	a := &asleep{}
	b.join(0, a)
	var got []uint64
	b.order.emit = func(f Frame) { got = append(got, f.ID-b.base) }
	b.take(Frame{ID: b.base + 3, Channel: "c"})
	a.arrived = []Frame{{}, {ID: b.base + 2, Channel: "c"}, {ID: b.base + 1, Channel: "c"}}
	if b.expire(); !slices.Equal(got, []uint64{1, 2, 3}) || b.order.late != 0 {
		t.Errorf("delivered %v, %d of them late; want 1 2 3", got, b.order.late)
	}
}

func TestStatsOfTheOrder(t *testing.T) {
	b := newBus(&Config{}, localPage())
	b.order.late, b.order.forced, b.order.held = 2, 3, make([]heldFrame, 4)
	b.count()
	if s := b.Stats(); s.Late != 2 || s.Forced != 3 || s.Held != 4 {
		t.Errorf("late %d, forced %d, held %d; want 2, 3, 4", s.Late, s.Forced, s.Held)
	}
}

// TestMemoryTakesOneWhateverItWeighs: a frame above the bound passes an empty channel, and
// the next one waits.
func TestMemoryTakesOneWhateverItWeighs(t *testing.T) {
	m, p := newMemory(packetCost/2), newLocalPacket(&Frame{Channel: "c"})
	if err := m.send(p); err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := m.send(p); err != sys.ErrBusFull {
		t.Errorf("the second: %v, want it full", err)
	}
	if _, err := m.try(); err != nil || m.send(p) != nil {
		t.Errorf("behind the first nothing passes: %v", err)
	}
}
