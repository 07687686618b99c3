// SPDX-License-Identifier: MIT

package bus

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Row B1: what any process publishes reaches every worker once, in the order
// of ids, at one worker too.
func TestBroadcast(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			f := newFleet(t, workers)
			var peers []*remote
			for i := range workers {
				peers = append(peers, f.start(t, peerConfig{Index: i}))
			}
			peers = append(peers, f.start(t, peerConfig{Index: -1}))
			const each = 100
			var want []uint64
			for _, p := range peers {
				want = append(want, p.ask(t, command{Do: "publish", Count: each, Size: 300}).IDs...)
			}
			for i, p := range peers[:workers] {
				got := p.ask(t, command{Do: "await", Count: len(want)})
				if !slices.Equal(got.IDs, want) || got.Bad != 0 {
					t.Errorf("worker %d received %d frames, bad %d; want %d once, in order",
						i, len(got.IDs), got.Bad, len(want))
				}
				for origin := range workers {
					if n := got.Origins[uint32(origin)]; n != each {
						t.Errorf("worker %d received %d frames of worker %d, want %d",
							i, n, origin, each)
					}
				}
				if n := got.Origins[NoOrigin]; n != each {
					t.Errorf("worker %d received %d frames of no worker, want %d", i, n, each)
				}
			}
		})
	}
}

// Row B2: ids are unique and increasing over processes and respawns.
func TestIDs(t *testing.T) {
	const processes, each = 4, 5000
	f := newFleet(t, processes)
	base := f.page.CurrentID()
	var peers []*remote
	for i := range processes {
		peers = append(peers, f.start(t, peerConfig{Index: i}))
	}
	take := command{Do: "take", Count: each}
	for _, p := range peers {
		p.tell(t, take)
	}
	var all []uint64
	for i, p := range peers {
		ids := p.hear(t, "take").IDs
		if !slices.IsSorted(ids) || len(ids) != each {
			t.Errorf("process %d: %d ids, sorted %v; want %d, sorted",
				i, len(ids), slices.IsSorted(ids), each)
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	for i, id := range all {
		if id != base+uint64(i)+1 {
			t.Fatalf("id %d of all processes is %d, want %d", i, id, base+uint64(i)+1)
		}
	}
	peers[0].kill()
	next := f.start(t, peerConfig{Index: 0}).ask(t, command{Do: "take", Count: 1}).IDs[0]
	if next != all[len(all)-1]+1 {
		t.Fatalf("a respawned worker took id %d, want %d", next, all[len(all)-1]+1)
	}
}

// Row B6: every size up to 4 MiB crosses intact; one byte more reaches nobody.
func TestSizes(t *testing.T) {
	f := newFleet(t, 2)
	peers := []*remote{f.start(t, peerConfig{Index: 0}), f.start(t, peerConfig{Index: 1})}
	sizes := []int{0, 1, 300, 4096, inlineBody - 1, inlineBody, inlineBody + 1, 1 << 20, MaxBody}
	for n, size := range sizes {
		if n := peers[0].ask(t, command{Do: "publish", Size: size}).Refused; n != 0 {
			t.Fatalf("a body of %d bytes was refused", size)
		}
		for i, p := range peers {
			if got := p.ask(t, command{Do: "await", Count: n + 1}); got.Bad != 0 {
				t.Fatalf("worker %d: a body of %d bytes arrived changed", i, size)
			}
		}
	}
	before := openDescriptors(t, peers[0])
	for range 20 {
		peers[0].ask(t, command{Do: "publish", Size: 1 << 20})
	}
	peers[0].ask(t, command{Do: "await", Count: len(sizes) + 20})
	if after := openDescriptors(t, peers[0]); after > before {
		t.Errorf("%d descriptors after 20 large frames, want %d", after, before)
	}

	peers[0].tell(t, command{Do: "publish", Size: MaxBody + 1})
	var a answer
	if err := peers[0].answers.Decode(&a); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(a.Err, ErrTooLarge.Error()) || a.Stats.TooLarge != 1 {
		t.Errorf("publish of %d bytes = %q, counted %d; want ErrTooLarge, 1",
			MaxBody+1, a.Err, a.Stats.TooLarge)
	}
	// Behind the window after the id that was never sent, nothing but the next.
	peers[0].ask(t, command{Do: "publish", Size: 1})
	for i, p := range peers {
		got := p.ask(t, command{Do: "await", Count: len(sizes) + 21})
		if len(got.IDs) != len(sizes)+21 || got.Bad != 0 {
			t.Errorf("worker %d received %d frames, bad %d", i, len(got.IDs), got.Bad)
		}
	}
}

func openDescriptors(t *testing.T, r *remote) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Row B6: frames of two publishers that cross come out in id order.
func TestCrossing(t *testing.T) {
	f := newFleet(t, 1)
	reader := f.start(t, peerConfig{Index: 0, Window: 30 * time.Second})
	a, b := f.start(t, peerConfig{Index: -1}), f.start(t, peerConfig{Index: -1})

	// One crossing for certain: a takes the lower id and sends second.
	first := a.ask(t, command{Do: "take", Count: 1}).IDs[0]
	second := b.ask(t, command{Do: "publish", Size: 1}).IDs[0]
	a.ask(t, command{Do: "publish", ID: first, Size: 1})
	got := reader.ask(t, command{Do: "await", Count: 2})
	if want := []uint64{first, second}; !slices.Equal(got.IDs, want) {
		t.Fatalf("received ids %v, want %v", got.IDs, want)
	}

	// And many as they come.
	const each = 3000
	for _, p := range []*remote{a, b} {
		p.tell(t, command{Do: "publish", Count: each, Size: 100})
	}
	for _, p := range []*remote{a, b} {
		if n := p.hear(t, "publish").Refused; n != 0 {
			t.Fatalf("%d frames refused, want none", n)
		}
	}
	got = reader.ask(t, command{Do: "await", Count: 2 + 2*each})
	if !slices.IsSorted(got.IDs) || got.Stats.Late != 0 {
		t.Errorf("%d frames of two publishers: sorted %v, late %d; want sorted, 0",
			len(got.IDs), slices.IsSorted(got.IDs), got.Stats.Late)
	}
}

// An id that never comes holds the others back for the window only; if it does
// come, it is delivered and counted.
func TestMissing(t *testing.T) {
	f := newFleet(t, 1)
	reader := f.start(t, peerConfig{Index: 0})
	p := f.start(t, peerConfig{Index: -1})
	missing := p.ask(t, command{Do: "take", Count: 1}).IDs[0]
	next := p.ask(t, command{Do: "publish", Size: 1}).IDs[0]
	if got := reader.ask(t, command{Do: "await", Count: 1}); got.IDs[0] != next {
		t.Fatalf("received id %d, want %d", got.IDs[0], next)
	}
	p.ask(t, command{Do: "publish", ID: missing, Size: 1})
	got := reader.ask(t, command{Do: "await", Count: 2})
	if got.IDs[1] != missing || got.Stats.Late != 1 {
		t.Fatalf("received ids %v, late %d; want %d last, 1", got.IDs, got.Stats.Late, missing)
	}
}

// A publisher is not woken by what its channels' readers do.
func TestSleepingPublisher(t *testing.T) {
	f := newFleet(t, 2)
	reader, sleeper := f.start(t, peerConfig{Index: 0}), f.start(t, peerConfig{Index: 1})
	writer := f.start(t, peerConfig{Index: -1})
	sleeper.ask(t, command{Do: "publish", Size: 1})
	sleeper.ask(t, command{Do: "await", Count: 1})
	const rounds = 300
	before := switches(t, sleeper)
	for n := range rounds {
		writer.ask(t, command{Do: "send", Index: 0})
		reader.ask(t, command{Do: "await", Count: n + 2})
	}
	if woken := switches(t, sleeper) - before; woken > rounds/3 {
		t.Errorf("a publisher that does nothing woke up %d times over %d frames, want almost never",
			woken, rounds)
	}
}

// switches is how often the threads of a peer went to sleep.
func switches(t *testing.T, r *remote) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/task", r.cmd.Process.Pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, task := range tasks {
		status, err := os.ReadFile(dir + "/" + task.Name() + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		var n int
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatalf("status of a thread: %v", err)
		}
		sum += n
	}
	return sum
}
