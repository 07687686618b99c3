// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/bus"
)

// stepper is a producer made of a function.
type stepper func(n int, out *Publisher) (time.Duration, error)

// counted numbers the steps of a stepper and keeps their starts.
type counted struct {
	step   stepper
	began  time.Time
	starts []time.Duration
}

func (c *counted) Step(out *Publisher) (time.Duration, error) {
	c.starts = append(c.starts, time.Since(c.began))
	return c.step(len(c.starts), out)
}

// produce runs step for so long, stops it, and returns the starts of its steps
// and what was logged.
func produce(t *testing.T, d time.Duration, step stepper) ([]time.Duration, string) {
	t.Helper()
	b := bus.Local()
	defer b.Close()
	var log bytes.Buffer
	c := &counted{step: step, began: time.Now()}
	r := startRunner("app", c, newPublisher(b), slog.New(slog.NewTextHandler(&log, nil)), nil)
	time.Sleep(d)
	asked := time.Now()
	r.stop()
	<-r.done
	if took := time.Since(asked); took > 50*time.Millisecond {
		t.Errorf("the stop was noticed after %v, want at most 50ms", took)
	}
	return c.starts, log.String()
}

func millis(starts []time.Duration) string {
	var text []string
	for _, d := range starts {
		text = append(text, fmt.Sprint(d.Milliseconds()))
	}
	return strings.Join(text, " ")
}

func TestStepsKeepAFixedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, _ := produce(t, 450*time.Millisecond, func(int, *Publisher) (time.Duration, error) {
			time.Sleep(30 * time.Millisecond) // the work is inside the period
			return 100 * time.Millisecond, nil
		})
		if got, want := millis(starts), "0 100 200 300 400"; got != want {
			t.Errorf("steps of 30 ms each began at %s ms, want %s", got, want)
		}
	})
}

func TestOverrunIsNeverCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// One overrun, then free steps: a schedule that catches up runs the
		// missed ones back to back.
		starts, _ := produce(t, 850*time.Millisecond, func(n int, _ *Publisher) (time.Duration, error) {
			if n == 2 {
				time.Sleep(450 * time.Millisecond)
			}
			return 100 * time.Millisecond, nil
		})
		if got, want := millis(starts), "0 100 550 650 750 850"; got != want {
			t.Errorf("with an overrun of 450 ms in step 2, steps began at %s ms, want %s", got, want)
		}
	})
}

func TestPeriodMayChangeFromStepToStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, _ := produce(t, 700*time.Millisecond, func(n int, _ *Publisher) (time.Duration, error) {
			return time.Duration(n) * 100 * time.Millisecond, nil
		})
		if got, want := millis(starts), "0 100 300 600"; got != want {
			t.Errorf("steps began at %s ms, want %s", got, want)
		}
	})
}

func TestStopIsPromptInALongPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, _ := produce(t, time.Second, func(int, *Publisher) (time.Duration, error) {
			return time.Minute, nil
		})
		if len(starts) != 1 {
			t.Errorf("%d steps in a second of a 60 s period, want 1", len(starts))
		}
	})
}

func TestLongStepHearsTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		produce(t, time.Second, func(_ int, out *Publisher) (time.Duration, error) {
			<-out.Stopping()
			return 0, nil
		})
	})
}

func TestFailingStepEndsTheProducerByName(t *testing.T) {
	for name, step := range map[string]stepper{
		"error": func(int, *Publisher) (time.Duration, error) { return 0, errors.New("no ink") },
		"panic": func(int, *Publisher) (time.Duration, error) { panic("no ink") },
	} {
		synctest.Test(t, func(t *testing.T) {
			starts, log := produce(t, time.Second, step)
			if len(starts) != 1 || !strings.Contains(log, "no ink") ||
				!strings.Contains(log, "app=app") {
				t.Errorf("%s: %d steps, log %q; want 1, and the reason with the name",
					name, len(starts), log)
			}
		})
	}
}

// idler wants nothing.
type idler struct{ t *testing.T }

func (idler) Wanted() bool { return false }
func (i idler) Step(*Publisher) (time.Duration, error) {
	i.t.Error("a producer that is not wanted was stepped")
	return time.Hour, nil
}

func TestProducerThatIsNotWantedGetsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.Local()
		defer b.Close()
		r := startRunner("app", idler{t}, newPublisher(b), slog.Default(), nil)
		select {
		case <-r.done:
		default:
			t.Error("the runner has not ended, want it never started")
		}
		synctest.Wait()
		r.stop()
	})
}

func TestPublisherReachesEveryChannelInOrder(t *testing.T) {
	const workers, events = 3, 200
	page, _, err := bus.NewPage(workers)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := bus.NewChannels(workers)
	if err != nil {
		t.Fatal(err)
	}
	defer channels.Close()
	var mu sync.Mutex
	got := make([][]uint64, workers)
	var all sync.WaitGroup
	all.Add(workers * events)
	var first *bus.Bus
	for i := range workers {
		b, err := bus.Open(bus.Config{
			Page: page, Read: channels.Read[i], Write: channels.Write, Index: i})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		b.Receive(func(f bus.Frame) {
			mu.Lock()
			got[i] = append(got[i], f.ID)
			mu.Unlock()
			all.Done()
		})
		if i == 0 {
			first = b
		}
	}
	published := make(chan struct{})
	step := func(n int, out *Publisher) (time.Duration, error) {
		if n > events {
			close(published)
			return time.Hour, nil
		}
		return 0, out.Publish("beat", "", out.NextID(), []byte("x"))
	}
	r := startRunner("app", &counted{step: step}, newPublisher(first), slog.Default(), nil)
	defer func() { r.stop(); <-r.done }()
	all.Wait()
	<-published // an event may come ahead of the return of its Publish
	for i, ids := range got {
		for n := 1; n < len(ids); n++ {
			if ids[n] != ids[n-1]+1 {
				t.Fatalf("channel %d: id %d after %d, want every id in order", i, ids[n], ids[n-1])
			}
		}
	}
	if r.out.Refused() != 0 || r.out.LastID() != got[0][events-1] {
		t.Errorf("refused %d, last id %d; want 0, %d",
			r.out.Refused(), r.out.LastID(), got[0][events-1])
	}
}

func TestRefusalIsCountedAndReported(t *testing.T) {
	b := bus.Local()
	defer b.Close()
	out := newPublisher(b)
	id := out.NextID()
	if err := out.Publish("\x01slot", "", id, nil); !errors.Is(err, bus.ErrReserved) {
		t.Errorf("Publish on a reserved channel = %v, want ErrReserved", err)
	}
	big := make([]byte, bus.MaxBody+1)
	if err := out.Publish("big", "", id, big); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("Publish of too large a body = %v, want ErrTooLarge", err)
	}
	if out.Refused() != 2 || out.LastID() != 0 {
		t.Errorf("refused %d, last id %d; want 2, 0", out.Refused(), out.LastID())
	}
	if next := out.NextID(); next != id+1 {
		t.Errorf("NextID = %d after %d, want one more", next, id)
	}
}
