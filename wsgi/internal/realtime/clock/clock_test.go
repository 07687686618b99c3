// SPDX-License-Identifier: MIT

package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A woken notes when it was woken.
type woken struct {
	sleeper Sleeper
	at      []time.Time
}

func (w *woken) Wake(now time.Time) { w.at = append(w.at, now) }

func newWoken() *woken {
	w := &woken{}
	w.sleeper.Waker = w
	return w
}

func TestClockWakesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		defer c.timer.Stop()
		began := time.Now()
		all := map[time.Duration]*woken{}
		for _, d := range []time.Duration{5 * time.Second, time.Second, 20 * time.Second, 0} {
			all[d] = newWoken()
			c.Set(&all[d].sleeper, began.Add(d))
		}
		stopped, moved := newWoken(), newWoken()
		c.Set(&stopped.sleeper, began.Add(2*time.Second))
		c.Set(&moved.sleeper, began.Add(-time.Second)) // ahead of all
		c.Stop(&stopped.sleeper)
		c.Stop(&stopped.sleeper)
		c.Set(&moved.sleeper, began.Add(7*time.Second))
		all[7*time.Second] = moved
		time.Sleep(time.Minute)
		synctest.Wait()
		for want, w := range all {
			if len(w.at) != 1 || w.at[0].Sub(began) < want || w.at[0].Sub(began) > want+tick {
				t.Errorf("woken %v after the start, want once, %v to %v", w.at, want, want+tick)
			}
		}
		if len(stopped.at) != 0 || len(c.queue) != 0 {
			t.Errorf("who was stopped is woken %v, %d wait", stopped.at, len(c.queue))
		}
	})
}
