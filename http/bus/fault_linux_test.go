// SPDX-License-Identifier: MIT

package bus

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Row B3: a stopped peer costs the publisher a bounded queue and nothing else,
// every drop is counted where it belongs, and the peer goes on afterwards.
func TestStopped(t *testing.T) {
	f := newFleet(t, 2)
	running := f.start(t, peerConfig{Index: 0})
	stopped := f.start(t, peerConfig{Index: 1})
	publisher := f.start(t, peerConfig{Index: -1, QueueBytes: 256 << 10})
	signalPeer(t, stopped, syscall.SIGSTOP)

	const batch = 250
	published, refused := 0, 0
	publish := func() answer {
		// A publisher that waited for the peer would be late with every frame; the
		// last tenth belongs to the scheduler of a busy machine.
		a := publisher.ask(t, command{Do: "publish", Count: batch, Size: 1000})
		published += batch
		refused += a.Refused
		if a.RefusedBy[1] != a.Refused || a.RefusedBy[0] != 0 {
			t.Fatalf("%d frames refused by channels %v, want all by channel 1",
				a.Refused, a.RefusedBy)
		}
		if a.SlowUs > 1000 {
			t.Errorf("publish beside a stopped peer: p90 %d µs, want at most 1000", a.SlowUs)
		}
		got := running.ask(t, command{Do: "await", Count: published})
		if len(got.IDs) != published {
			t.Fatalf("the running peer received %d frames, want %d", len(got.IDs), published)
		}
		return a
	}
	a := publish()
	for refused < 3*batch {
		a = publish()
	}
	sent := a.Stats.Channels
	if sent[0].Dropped != 0 || sent[1].Dropped != uint64(refused) {
		t.Errorf("dropped %d for the running and %d for the stopped peer, want 0 and %d",
			sent[0].Dropped, sent[1].Dropped, refused)
	}
	if sent[1].QueuedBytes > 256<<10 || sent[1].Queued == 0 {
		t.Errorf("%d frames of %d bytes queued for the stopped peer, want some, at most %d bytes",
			sent[1].Queued, sent[1].QueuedBytes, 256<<10)
	}
	if drops := f.page.Worker(1).Drops(); drops != uint64(refused) {
		t.Errorf("the page counts %d drops, want %d", drops, refused)
	}

	signalPeer(t, stopped, syscall.SIGCONT)
	stopped.ask(t, command{Do: "await", Count: published - refused})
	again := publisher.ask(t, command{Do: "publish", Size: 1}).IDs[0]
	got := stopped.ask(t, command{
		Do: "await", Count: published - refused + 1, Lost: uint64(refused),
	})
	if len(got.IDs) != published-refused+1 || got.IDs[len(got.IDs)-1] != again || got.Bad != 0 {
		t.Errorf("the peer received %d frames, the last %d, bad %d; want %d, %d, 0",
			len(got.IDs), got.IDs[len(got.IDs)-1], got.Bad, published-refused+1, again)
	}
	if !slices.IsSorted(got.IDs) {
		t.Error("the frames of one publisher lost their order")
	}
	if got.Lost != uint64(refused) {
		t.Errorf("the peer was told of %d lost frames, want %d", got.Lost, refused)
	}
}

func signalPeer(t *testing.T, r *remote, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// A writer that is killed in the middle of it leaves no half frame.
func TestCrashedWriter(t *testing.T) {
	f := newFleet(t, 1)
	reader := f.start(t, peerConfig{Index: 0, Window: time.Millisecond})
	rnd := rand.New(rand.NewPCG(1, 3))
	received := 0
	for range 8 {
		writer := f.start(t, peerConfig{Index: -1})
		writer.ask(t, command{Do: "flood"})
		got := reader.ask(t, command{Do: "await", Count: received + 100 + rnd.IntN(100)})
		writer.kill()
		received = len(got.IDs)
		if got.Bad != 0 || got.Stats.Damaged != 0 {
			t.Fatalf("after %d frames: %d bad, %d damaged; want none",
				received, got.Bad, got.Stats.Damaged)
		}
	}
	last := f.start(t, peerConfig{Index: -1}).ask(t, command{Do: "publish", Size: 10}).IDs[0]
	for n := received + 1; ; n++ {
		got := reader.ask(t, command{Do: "await", Count: n})
		if got.Bad != 0 || got.Stats.Damaged != 0 {
			t.Fatalf("%d bad, %d damaged; want none", got.Bad, got.Stats.Damaged)
		}
		if slices.Contains(got.IDs, last) {
			return
		}
		n = len(got.IDs)
	}
}

// Row B2: a worker that dies is followed by one at its index, which takes over
// what waited in the channel, apart from what is new.
func TestBacklog(t *testing.T) {
	f := newFleet(t, 2)
	sibling := f.start(t, peerConfig{Index: 0})
	dead := f.start(t, peerConfig{Index: 1})
	dead.kill()
	first := sibling.ask(t, command{Do: "take", Count: 1}).IDs[0]
	want := sibling.ask(t, command{Do: "publish", Count: 5, Size: 10}).IDs
	sibling.ask(t, command{Do: "publish", ID: first, Size: 10})
	want = append([]uint64{first}, want...)

	successor := f.start(t, peerConfig{Index: 1, Backlog: true})
	if got := successor.first.Backlog; !slices.Equal(got, want) {
		t.Errorf("Backlog: ids %v, want %v", got, want)
	}
	fresh := sibling.ask(t, command{Do: "publish", Size: 10}).IDs
	got := successor.ask(t, command{Do: "await", Count: 1})
	if !slices.Equal(got.IDs, fresh) {
		t.Errorf("received ids %v, want only the new %v", got.IDs, fresh)
	}
}

// Fault F18: a worker that writes garbage into its line hurts nobody, and its
// successor has a line again.
func TestDamagedLine(t *testing.T) {
	f := newFleet(t, 2)
	broken, sibling := f.start(t, peerConfig{Index: 0}), f.start(t, peerConfig{Index: 1})
	broken.ask(t, command{Do: "damage"})
	for _, p := range []*remote{broken, sibling} {
		if got := p.ask(t, command{Do: "lines"}).Connected; !slices.Equal(got, []int{connsMax, 0}) {
			t.Errorf("connections read as %v, want %v", got, []int{connsMax, 0})
		}
	}
	ids := sibling.ask(t, command{Do: "publish", Count: 10, Size: 100}).IDs
	for i, p := range []*remote{broken, sibling} {
		if got := p.ask(t, command{Do: "await", Count: 10}).IDs; !slices.Equal(got, ids) {
			t.Errorf("worker %d received ids %v, want %v", i, got, ids)
		}
	}
	broken.kill()
	successor := f.start(t, peerConfig{Index: 0})
	large := sibling.ask(t, command{Do: "publish", Size: 1 << 20})
	got := successor.ask(t, command{Do: "await", Count: 1})
	if large.Refused != 0 || !slices.Equal(got.IDs, large.IDs) || got.Bad != 0 {
		t.Errorf("the successor received ids %v, bad %d; want %v", got.IDs, got.Bad, large.IDs)
	}
}
