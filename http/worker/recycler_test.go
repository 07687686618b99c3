// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestRecyclerAsksOnceAtItsLimitAndJitter(t *testing.T) {
	for _, tc := range []struct{ jitter, drawn, want int }{{0, 0, 100}, {50, 0, 100}, {50, 50, 150}} {
		synctest.Test(t, func(t *testing.T) {
			asks, at := 0, 0
			count := 0
			r := newRecycler(RecycleConfig{
				Requests: 100, Jitter: tc.jitter, Log: quiet,
				Ask: func() error { asks++; at = count; return nil },
			}, func(n int) int {
				if n != tc.jitter+1 {
					t.Errorf("jitter drawn below %d, want %d", n, tc.jitter+1)
				}
				return tc.drawn
			}, nil)
			for count < 500 {
				count++
				r.Count()
				synctest.Wait()
			}
			r.Stop()
			if asks != 1 || at != tc.want {
				t.Errorf("jitter %d of %d: asked %d times, at request %d; want once at %d",
					tc.drawn, tc.jitter, asks, at, tc.want)
			}
		})
	}
}

func TestRecyclerCountsFromManyGoroutines(t *testing.T) {
	asked := make(chan struct{}, 8)
	r := NewRecycler(RecycleConfig{Requests: 1000, Log: quiet, Ask: func() error {
		asked <- struct{}{}
		return nil
	}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				r.Count()
			}
		})
	}
	all.Wait()
	<-asked
	r.Stop()
	if len(asked) > 0 {
		t.Error("asked more than once")
	}
}

func TestRecyclerWatchesTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked time.Duration
		began := time.Now()
		r := newRecycler(RecycleConfig{
			Memory: 1000, Every: time.Second, Log: quiet,
			Ask: func() error { asked = time.Since(began); return errors.New("line closed") },
		}, nil, func() (int64, error) { return int64(time.Since(began) / time.Millisecond / 5), nil })
		time.Sleep(time.Minute)
		r.Stop()
		if asked != 6*time.Second {
			t.Errorf("asked after %v, want 6s, at the first look above the limit", asked)
		}
	})
}

func TestRecyclerGivesUpWhereMemoryCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		r := newRecycler(RecycleConfig{Memory: 1, Log: quiet}, nil,
			func() (int64, error) { looks++; return 0, errors.ErrUnsupported })
		time.Sleep(time.Minute)
		r.Stop()
		if looks != 1 {
			t.Errorf("%d looks, want 1", looks)
		}
	})
}

func TestNoLimitIsNoRecycler(t *testing.T) {
	r := NewRecycler(RecycleConfig{Jitter: 10})
	if r != nil {
		t.Errorf("NewRecycler without limit = %v, want nil", r)
	}
	r.Count()
	r.Stop()
}

func TestResident(t *testing.T) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("no /proc here")
	}
	before, err := Resident()
	if err != nil || before < 1<<20 || before > 1<<36 {
		t.Fatalf("Resident() = %d, %v; want some megabytes", before, err)
	}
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after, err := Resident()
	if err != nil || after-before < 60<<20 {
		t.Errorf("Resident() = %d, %v after 64 MiB more than %d", after, err, before)
	}
	runtime.KeepAlive(block)
	if _, err := parseStatm("1 x 2", 4096); err == nil || !strings.Contains(err.Error(), "worker:") {
		t.Errorf("parseStatm of garbage = %v, want an error", err)
	}
	if _, err := parseStatm("", 4096); err == nil {
		t.Error("parseStatm of nothing = nil, want an error")
	}
}
