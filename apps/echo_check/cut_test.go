// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

// TestCorpusHTTP1Cut sends each accepted case cut in two at every byte (a
// sample of them where it is long) and one byte at a time: the answers are those
// to the whole.
func TestCorpusHTTP1Cut(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: real binary, real sockets")
	}
	var cases []*scenario
	for _, c := range http1Corpus(t) {
		if c.Needs == "" && c.RawSteps == nil && (c.Expect == "accept" || c.Prefer == "accept") {
			cases = append(cases, c)
		}
	}
	eachMode(t, func(t *testing.T, k *checker) {
		cuts := make([]int, len(cases))
		found := runAll(len(cases), 16, func(i int) (f faults) {
			cuts[i] = k.checkCuts(cases[i], &f)
			return f
		})
		accepted, sum := 0, 0
		for i, c := range cases {
			report(t, c.ID, found[i])
			if sum += cuts[i]; cuts[i] > 0 {
				accepted++
			}
		}
		t.Logf("%d accepted cases, %d cuts", accepted, sum)
		if accepted < 70 || sum < 5000 {
			t.Errorf("%d accepted cases and %d cuts, want at least 70 and 5000", accepted, sum)
		}
	})
}

// gap is the pause between two parts, so that the server reads them apart.
const gap = 300 * time.Microsecond

// A result is what a connection came to.
type result struct {
	status  []int
	handled int
}

func (r result) equal(o result) bool {
	return r.handled == o.handled && slices.Equal(r.status, o.status)
}

// checkCuts returns how many cuts were tried: none of a case that is refused,
// because the corpus leaves that open.
func (k *checker) checkCuts(c *scenario, f *faults) (cuts int) {
	raw := c.steps[0].data
	whole, err := k.playOnce(c, c.steps)
	if err != nil {
		f.add("whole: %v", err)
		return 0
	}
	if len(whole.status) == 0 || whole.status[0] >= 400 {
		return 0
	}
	stride := 1 + len(raw)/600
	if c.Closes != nil && !*c.Closes {
		return k.cutOnOne(c, raw, stride, whole, f)
	}
	for cut := 0; cut < len(raw); cut += stride {
		got, err := k.playOnce(c, cutSteps(raw, cut))
		cuts++
		if err != nil || !got.equal(whole) {
			f.add("cut at %d: %+v, %v, want %+v", cut, got, err, whole)
			return cuts
		}
	}
	return cuts
}

// cutSteps sends raw in two parts; 0 stands for one byte at a time.
func cutSteps(raw []byte, cut int) []step {
	if cut == 0 {
		return []step{{do: "bytes", data: raw}}
	}
	return []step{{do: "send", data: raw[:cut]}, {do: "gap"}, {do: "send", data: raw[cut:]}}
}

// playOnce plays on a connection of its own, half-closes it, and reads to its end.
func (k *checker) playOnce(c *scenario, steps []step) (r result, err error) {
	t, err := dial(k.url)
	if err != nil {
		return r, err
	}
	defer t.conn.Close()
	t.method = c.Methods
	go t.send(append(steps[:len(steps):len(steps)], step{do: "shutwr"}))
	for {
		a, err := t.read(patience)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, err
		}
		r.status = append(r.status, a.status)
	}
	r.handled, err = t.handled(k.client)
	return r, err
}

// cutOnOne plays every cut on one connection, which stays open.
func (k *checker) cutOnOne(c *scenario, raw []byte, stride int, whole result, f *faults) int {
	t, err := dial(k.url)
	if err != nil {
		f.add("dial: %v", err)
		return 0
	}
	defer t.conn.Close()
	cuts := 0
	for cut := 0; cut < len(raw); cut += stride {
		t.method, t.seen = c.Methods, 0
		go t.send(cutSteps(raw, cut))
		for i, want := range whole.status {
			a, err := t.read(patience)
			if err != nil || a.status != want {
				f.add("cut at %d, answer %d: %+v, %v, want %d", cut, i, a, err, want)
				return cuts
			}
		}
		cuts++
	}
	if n, err := t.handled(k.client); n != cuts*whole.handled || err != nil {
		f.add("%d cuts: %d requests handled, %v, want %d each", cuts, n, err, whole.handled)
	}
	return cuts
}
