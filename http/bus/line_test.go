// SPDX-License-Identifier: MIT

package bus

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	l := localPage().Worker(0)
	if l.State() != Vacant || l.PID() != 0 || l.Silence(time.Hour) != never {
		t.Fatalf("a new line: state %v, pid %d, silence %v",
			l.State(), l.PID(), l.Silence(time.Hour))
	}
	l.AddConnections(5)
	l.AddHandoff()
	l.AddTaken()
	l.addDrops(3)
	l.Beat(time.Hour)
	l.Claim(4711)
	if l.State() != Starting || l.PID() != 4711 || l.Connections() != 0 {
		t.Errorf("claimed: state %v, pid %d, connections %d; want starting, 4711, 0",
			l.State(), l.PID(), l.Connections())
	}
	if l.Silence(time.Hour) != never {
		t.Errorf("claimed: silence %v, want for ever: the beat was the predecessor's",
			l.Silence(time.Hour))
	}
	if l.Handoffs() != 1 || l.Taken() != 1 || l.Drops() != 3 {
		t.Errorf("claimed: handoffs %d, taken %d, drops %d; want 1, 1, 3",
			l.Handoffs(), l.Taken(), l.Drops())
	}
	if got := l.AddConnections(2); got != 2 {
		t.Errorf("AddConnections(2) = %d, want 2", got)
	}
	if got := l.AddConnections(-3); got != 0 {
		t.Errorf("AddConnections(-3) of 2 = %d, want 0", got)
	}
	l.Beat(time.Minute)
	for _, tc := range []struct{ now, want time.Duration }{
		{time.Minute, 0},
		{time.Minute + 1500*time.Millisecond, 1500 * time.Millisecond},
		{time.Minute - 900*time.Millisecond, 0}, // another process read the clock earlier
		{30 * time.Second, never},
	} {
		if got := l.Silence(tc.now); got != tc.want {
			t.Errorf("Silence(%v) after a beat at %v = %v, want %v",
				tc.now, time.Minute, got, tc.want)
		}
	}
}

// A line full of garbage reads as a worker that nobody hands a connection to,
// and is whole again once its successor claims it (fault F18).
func TestLineDamaged(t *testing.T) {
	for _, garbage := range []uint64{math.MaxUint64, 1 << 63, 1 << 62, 0xdeadbeefdeadbeef} {
		l := localPage().Worker(0)
		for i := range l.words {
			l.words[i].Store(garbage)
		}
		if got := l.Connections(); got != connsMax {
			t.Errorf("%#x: Connections() = %d, want %d", garbage, got, connsMax)
		}
		if got := l.State(); got != Starting {
			t.Errorf("%#x: State() = %v, want starting", garbage, got)
		}
		if got := l.PID(); got != 0 {
			t.Errorf("%#x: PID() = %d, want 0", garbage, got)
		}
		if got := l.Silence(time.Hour); got != never {
			t.Errorf("%#x: Silence() = %v, want for ever", garbage, got)
		}
		if l.takeLarge(1, 1000) {
			t.Errorf("%#x: takeLarge = true, want no room", garbage)
		}
		if got := l.AddConnections(1); got != 1 {
			t.Errorf("%#x: AddConnections(1) = %d, want 1", garbage, got)
		}
		l.Claim(1)
		l.resetLarge()
		if l.Connections() != 0 || l.PID() != 1 || !l.takeLarge(1000, 1000) {
			t.Errorf("%#x: a successor finds connections %d, pid %d",
				garbage, l.Connections(), l.PID())
		}
	}
}

func TestLineKeepsItsIndex(t *testing.T) {
	l := localPage().Worker(0)
	l.Assign(5)
	if l.Index() != 5 || l.PID() != 0 {
		t.Errorf("assigned: index %d, pid %d; want 5, 0", l.Index(), l.PID())
	}
	l.Claim(4711)
	l.Claim(4712)
	if l.Index() != 5 || l.PID() != 4712 {
		t.Errorf("claimed: index %d, pid %d; want 5, 4712", l.Index(), l.PID())
	}
}

func TestLineLarge(t *testing.T) {
	l := localPage().Worker(0)
	if !l.takeLarge(60, 100) || l.takeLarge(41, 100) || !l.takeLarge(40, 100) {
		t.Fatal("takeLarge 60, 41, 40 of 100: want true, false, true")
	}
	l.freeLarge(100)
	l.freeLarge(100)
	if !l.takeLarge(100, 100) || l.takeLarge(1, 100) {
		t.Fatal("freeLarge below 0 made room that is not there")
	}
}

// An offer either comes before the leaving, and is counted, or is refused.
func TestOfferSeesTheLeaving(t *testing.T) {
	l := localPage().Worker(0)
	for _, s := range []State{Vacant, Starting, Draining} {
		if l.SetState(s); l.Offer() || l.Offers() != 0 {
			t.Errorf("%v: an offer was taken, offers = %d", s, l.Offers())
		}
	}
	l.SetState(Ready)
	first, second := l.Offer(), l.Offer()
	if !first || !second || l.Offers() != 2 || l.State() != Ready {
		t.Errorf("two offers while ready: offers = %d, state %v", l.Offers(), l.State())
	}
	l.SetState(Draining)
	l.Claim(1) // a successor finds the channel as it was
	if l.Offers() != 2 || l.State() != Starting {
		t.Errorf("claimed: offers = %d, state %v; want 2, starting", l.Offers(), l.State())
	}
	l.Settle(1)
	l.Settle(5)
	if l.Offers() != 0 {
		t.Errorf("settled below none: offers = %d, want 0", l.Offers())
	}
}

// However senders and the leaving meet, no offer is taken once it was seen that
// there is none.
func TestOffersMeetTheLeaving(t *testing.T) {
	for range 200 {
		l := localPage().Worker(0)
		l.SetState(Ready)
		var gone atomic.Bool
		var senders sync.WaitGroup
		for range 4 {
			senders.Add(1)
			go func() {
				defer senders.Done()
				for l.Offer() {
					if gone.Load() {
						t.Error("an offer was taken behind the end of the last one")
					}
					l.Settle(1)
				}
			}()
		}
		l.SetState(Draining)
		for l.Offers() > 0 {
			runtime.Gosched()
		}
		gone.Store(true)
		senders.Wait()
	}
}

// TestLineBounds: the largest believable numbers are believed, and none above.
func TestLineBounds(t *testing.T) {
	l := localPage().Worker(0)
	if l.Claim(math.MaxInt32); l.PID() != math.MaxInt32 {
		t.Errorf("PID() = %d, want %d", l.PID(), math.MaxInt32)
	}
	l.words[lineState].Store(uint64(Ready) + (offersMax-1)*offerUnit)
	if !l.Offer() || l.Offer() || l.Offers() != offersMax || l.State() != Ready {
		t.Errorf("two offers with room for one: offers %d, state %v", l.Offers(), l.State())
	}
	l.words[lineState].Store(uint64(Ready) + (offersMax+1)*offerUnit)
	if l.Offers() != 0 || l.State() != Starting {
		t.Errorf("too many: offers %d, state %v; want 0, starting", l.Offers(), l.State())
	}
	l.Claim(1)
	l.words[lineConns].Store(connsMax - 1)
	if got := l.AddConnections(-1); got != connsMax-2 {
		t.Errorf("AddConnections(-1) below the largest = %d, want %d", got, connsMax-2)
	}
	l.words[lineConns].Store(connsMax) // which is how damage reads
	if got := l.AddConnections(1); got != 1 {
		t.Errorf("AddConnections(1) of damage = %d, want 1", got)
	}
	l.Beat(0) // the first millisecond is a beat too
	if got := l.Silence(time.Second); got != 999*time.Millisecond {
		t.Errorf("Silence(1s) after a beat at 0 = %v, want 999ms", got)
	}
	l.Beat(2 * time.Second)
	if got := l.Silence(time.Second); got != 0 {
		t.Errorf("Silence of a beat 1 s ahead = %v, want 0", got)
	}
	if got := l.Silence(time.Second - time.Millisecond); got != never {
		t.Errorf("Silence of a beat 1.001 s ahead = %v, want for ever", got)
	}
}

func TestStateNames(t *testing.T) {
	for s, want := range map[State]string{Vacant: "vacant", Starting: "starting",
		Ready: "ready", Draining: "draining", Draining + 1: "damaged", 200: "damaged"} {
		if got := s.String(); got != want {
			t.Errorf("State(%d) = %q, want %q", s, got, want)
		}
	}
}
