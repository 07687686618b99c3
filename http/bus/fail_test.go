// SPDX-License-Identifier: MIT

package bus

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/internal/fakebus"
	"m0serve.dev/http/internal/sys"
)

// failures are the errors of each call that the bus hears of.
var failures = map[string][]error{
	"Reader": {syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM},
	"Send": {sys.ErrBusFull, sys.ErrBusShort, syscall.EPIPE, syscall.ECONNRESET,
		syscall.ECONNREFUSED},
	"Recv":       {syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNRESET, sys.ErrBusCut},
	"Sealed":     {syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM},
	"ReadSealed": {syscall.ENOMEM, syscall.EIO},
}

// A failRun is one run of the scenario: two workers that publish to both.
type failRun struct {
	k         *fakebus.Kernel
	n, choice int // the call that fails, and how
	more      bool
	hit       string
	err       error

	mu     sync.Mutex // guards what stands below
	calls  int
	got    [2][]uint64
	told   [2]bool // of lost frames
	buses  [2]*Bus
	wanted [2][]uint64 // published and not refused
}

func (r *failRun) before(call string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls != r.n {
		return nil
	}
	// Of calls at one moment it is not told which comes first.
	errs := failures[call]
	r.hit, r.more = call, r.choice+1 < len(errs)
	r.err = errs[r.choice%len(errs)]
	return r.err
}

// open brings both workers up; false: the failure has met that.
func (r *failRun) open(t *testing.T) bool {
	page := initPage(make([]atomic.Uint64, headWords+2*lineWords), 2)
	read, write := r.k.Ends()
	for i := range r.buses {
		kernel := r.k.Process(i)
		kernel.Before = r.before
		b, err := Open(Config{
			Kernel: kernel, Page: page, Read: read[i], Write: write, Index: i,
			Lost: func(uint64) { r.mu.Lock(); r.told[i] = true; r.mu.Unlock() },
		})
		if err != nil {
			if r.hit != "Reader" {
				t.Errorf("Open: %v", err)
			}
			return false
		}
		r.buses[i] = b
		b.Receive(func(f Frame) { r.mu.Lock(); r.got[i] = append(r.got[i], f.ID); r.mu.Unlock() })
	}
	return true
}

// publish sends small frames and large ones, and notes whom they have to reach.
func (r *failRun) publish() {
	for i := range 8 {
		b := r.buses[i%2]
		f := Frame{ID: b.NextID(), Channel: "c", Body: make([]byte, 10+i/3%2*inlineBody)}
		err := b.Publish(f)
		refused, isRefused := err.(*RefusedError)
		for to := range r.wanted {
			if err == nil || isRefused && !slices.Contains(refused.Channels, to) {
				r.wanted[to] = append(r.wanted[to], f.ID)
			}
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (r *failRun) run(t *testing.T) {
	r.k = fakebus.New(2, 2)
	opened := r.open(t)
	if opened {
		r.publish()
	}
	for _, b := range r.buses {
		if b != nil {
			b.Close()
		}
	}
	for i := range r.got {
		if !slices.IsSorted(r.got[i]) {
			t.Errorf("worker %d got %v, want ids that increase", i, r.got[i])
		}
		if opened && !r.told[i] && !slices.Equal(r.got[i], r.wanted[i]) {
			t.Errorf("worker %d got %v, want %v, or to be told", i, r.got[i], r.wanted[i])
		}
	}
	if n := r.k.Files(); n != 0 {
		t.Errorf("%d descriptors are left open", n)
	}
}

// TestFailAtEveryCall lets the n-th system call of a bus fail, for every n and each
// of its errors: no frame is lost in silence, and no descriptor is kept.
func TestFailAtEveryCall(t *testing.T) {
	runs, seen := 0, map[string]bool{}
	for n := 1; ; n++ {
		hit := ""
		for choice, more := 0, true; more; choice++ {
			r := &failRun{n: n, choice: choice}
			t.Run("", func(t *testing.T) { synctest.Test(t, r.run) })
			hit, more = r.hit, r.more
			seen[hit] = true
			runs++
			if t.Failed() {
				t.Fatalf("call %d (%s) failed with %v", n, hit, r.err)
			}
		}
		if hit == "" {
			break
		}
	}
	for call := range failures {
		if !seen[call] {
			t.Errorf("%s was never called", call)
		}
	}
	t.Logf("%d runs", runs)
}
