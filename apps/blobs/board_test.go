// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// newTestBoard is a board of its own for so many workers, of which pids are alive.
func newTestBoard(workers int, pids ...int) *board {
	alive := make(map[int]bool)
	for _, pid := range pids {
		alive[pid] = true
	}
	return &board{
		words: make([]atomic.Uint64, boardWords(workers)), pid: pids[0],
		alive: func() map[int]bool { return alive },
	}
}

// as is the board as another process sees it.
func (b *board) as(pid int) *board { return &board{words: b.words, pid: pid, alive: b.alive} }

func TestDropIsOneWord(t *testing.T) {
	for _, c := range []struct {
		doc  string
		want blob
	}{
		{`{"x":0,"y":1,"vx":-1,"vy":1,"hue":359,"size":1}`,
			blob{x: 0, y: 1, vx: -speedMost, vy: speedMost, hue: 359, r: radiusMost}},
		{`{"x":0.5,"y":0.25,"vx":0,"vy":0.5,"hue":0,"size":0}`,
			blob{x: 0.5, y: 0.25, vx: 0, vy: speedMost / 2, hue: 0, r: radiusLeast}},
	} {
		word, err := parseDrop([]byte(c.doc))
		if err != nil {
			t.Fatalf("parseDrop(%s) = %v", c.doc, err)
		}
		got := unpackDrop(word)
		near := func(x, y, by float32) bool { return math.Abs(float64(x-y)) <= float64(by) }
		if word&dropMark == 0 || got.hue != c.want.hue || !near(got.x, c.want.x, 1e-4) ||
			!near(got.y, c.want.y, 1e-4) || !near(got.vx, c.want.vx, 2e-4) ||
			!near(got.vy, c.want.vy, 2e-4) || !near(got.r, c.want.r, 1e-3) {
			t.Errorf("parseDrop(%s) = %#x, a blob %+v; want %+v", c.doc, word, got, c.want)
		}
	}
}

func TestBoxTakesManyAtOnceAndIsBounded(t *testing.T) {
	b := newTestBoard(2, 1)
	var took, full atomic.Int64
	var wg sync.WaitGroup
	for range 2 * boxWords {
		wg.Go(func() {
			if b.put(dropMark | 1) {
				took.Add(1)
			} else {
				full.Add(1)
			}
		})
	}
	wg.Wait()
	if took.Load() != boxWords || full.Load() != boxWords {
		t.Errorf("the box took %d of %d drops, want %d", took.Load(), 2*boxWords, boxWords)
	}
	if n := len(b.take()); n != boxWords {
		t.Errorf("%d drops were in the box, want %d", n, boxWords)
	}
	if n := len(b.take()); n != 0 {
		t.Errorf("%d drops were left in it, want 0", n)
	}
}

func TestViewersOfTheDeadDoNotCount(t *testing.T) {
	b := newTestBoard(2, 10, 20)
	one, two := b, b.as(20)
	for _, p := range []*board{one, two} {
		if err := p.claim(); err != nil {
			t.Fatal(err)
		}
		p.join()
		p.join()
	}
	one.leave()
	if n := b.viewers(); n != 3 {
		t.Errorf("%d viewers, want 1 + 2", n)
	}
	delete(b.alive(), 20)
	if n := b.viewers(); n != 1 {
		t.Errorf("%d viewers when process 20 is dead, want 1", n)
	}
	b.alive()[30], b.alive()[40] = true, true
	for _, pid := range []int{30, 40} { // one place is free, and one is a dead process's
		if err := b.as(pid).claim(); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	if n := b.viewers(); n != 1 {
		t.Errorf("%d viewers beside two new processes, want 1", n)
	}
	b.alive()[50] = true
	if err := b.as(50).claim(); err == nil || !strings.Contains(err.Error(), "process 50") {
		t.Errorf("a claim where all lines are taken = %v, want an error", err)
	}
}

// TestPIDOfTheDead: the kernel gives numbers again.
func TestPIDOfTheDead(t *testing.T) {
	b := newTestBoard(2, 10)
	if err := b.claim(); err != nil {
		t.Fatal(err)
	}
	dead := b.as(20)
	b.alive()[20] = true
	if err := dead.claim(); err != nil {
		t.Fatal(err)
	}
	dead.join()
	delete(b.alive(), 10)
	again := b.as(20) // takes the line of 10, and has the number of its own predecessor
	if err := again.claim(); err != nil {
		t.Fatal(err)
	}
	again.join()
	if n := b.viewers(); n != 1 {
		t.Errorf("%d viewers, want the one that watches: its process had a predecessor of one number", n)
	}
}

func TestViewerOfARestingBoardIsToldOf(t *testing.T) {
	b := newTestBoard(1, 1)
	if err := b.claim(); err != nil {
		t.Fatal(err)
	}
	if b.join() {
		t.Error("join reports a rest of a board that moves")
	}
	b.words[wordResting].Store(1)
	if !b.join() {
		t.Error("join does not report the rest")
	}
}

// TestBoardStaysABoard: a full board of big, fast blobs stays within reach, whatever
// its words were.
func TestBoardStaysABoard(t *testing.T) {
	b := newTestBoard(1, 1)
	for i := range boxWords {
		word, err := parseDrop([]byte(`{"vx":1,"vy":-1,"size":1}`))
		if err != nil || !b.put(word) {
			t.Fatalf("drop %d: %v", i, err)
		}
	}
	nan := float32(math.NaN())
	for range 2000 {
		n, blobs := b.step()
		if n == 5 {
			b.store(7, &blob{id: 1, x: nan, y: nan, vx: nan, vy: nan, r: 0.05, until: 1000})
		}
		if len(blobs) > blobsMax || len(blobs) == 0 {
			t.Fatalf("step %d has %d blobs, want some, up to %d", n, len(blobs), blobsMax)
		}
		for _, p := range blobs {
			if n > 10 && !(p.x > -0.6 && p.x < 1.6 && p.y > -0.6 && p.y < 1.6) {
				t.Fatalf("step %d: blob %+v is out of sight", n, p)
			}
		}
	}
}

func TestFullBoardGivesUpTheOldest(t *testing.T) {
	b := newTestBoard(1, 1)
	for range blobsMax + 2 {
		b.add(&blob{r: 0.05, until: 1000})
	}
	_, blobs := b.all()
	oldest := uint32(math.MaxUint32)
	for _, p := range blobs {
		oldest = min(oldest, p.id)
	}
	if len(blobs) != blobsMax || oldest != 3 {
		t.Errorf("%d blobs, the oldest is %d; want %d from 3 on", len(blobs), oldest, blobsMax)
	}
}

func TestBlobEndsAndShrinksBefore(t *testing.T) {
	b := newTestBoard(1, 1)
	b.words[wordSteps].Store(100)
	b.add(&blob{x: 0.5, y: 0.5, r: 0.05, until: 100 + fadeSteps})
	last := float32(1)
	for n := uint64(101); n < 100+fadeSteps; n++ {
		_, blobs := b.step()
		if len(blobs) == 0 || blobs[0].size(n) >= last {
			t.Fatalf("step %d: blobs %+v; want the one, smaller than %v", n, blobs, last)
		}
		last = blobs[0].size(n)
	}
	_, blobs := b.step()
	for _, p := range blobs {
		if p.id == 1 {
			t.Errorf("blob %+v is still there", p)
		}
	}
}

func TestFrame(t *testing.T) {
	f := frame{step: 7, viewers: 2, period: 100e6, blobs: []blob{
		{id: 3, hue: 290, x: 0.5, y: 0.25, vx: -0.01, vy: 0.02, r: 0.05, until: 1000},
		{id: 4, hue: 22, x: 0, y: 1, r: 0.1, until: 17},
	}}
	want := `{"step":7,"viewers":2,"period":100,"blobs":[[3,290,5000,2500,-1000,2000,500],` +
		`[4,22,0,10000,0,0,500]]}`
	if got := string(f.append(nil)); got != want {
		t.Errorf("frame = %s\nwant    %s", got, want)
	}
}
