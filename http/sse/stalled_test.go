// SPDX-License-Identifier: MIT

package sse

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
)

// TestStalledReadersDelayNobody: five peers read nothing while one reads all.
// They are cut at the end of a frame, or told how many frames they lack.
func TestStalledReadersDelayNobody(t *testing.T) {
	for _, policy := range []Policy{Disconnect, DropOldest, DropNewest} {
		t.Run(policy.String(), func(t *testing.T) {
			both.Each(t, func(t *testing.T, serve func(http.Handler) string) {
				testStalledReaders(t, policy, serve)
			})
		})
	}
}

func testStalledReaders(t *testing.T, policy Policy, serve func(http.Handler) string) {
	const frames, size, stalled = 1500, 20_000, 5
	r := NewRegistry(-1)
	joined := make(chan *Slot, stalled+1)
	addr := serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		slot := NewSlot(&Limits{Policy: policy}, 0, nil)
		if err := r.Add(slot, "news"); err != nil {
			t.Error(err)
		}
		joined <- slot
		if err := Hold(w, req, slot); err != nil {
			t.Errorf("Hold: %v", err)
		}
	}))
	var asleep []*bufio.Reader
	for range stalled {
		c, rd := get(t, addr, "")
		extend(t, c)
		asleep = append(asleep, rd)
		<-joined
	}
	c, rd := get(t, addr, "")
	extend(t, c)
	healthy := <-joined
	until(t, rd, "\r\n\r\n")
	go publishTo(healthy, r, frames, size)
	for i := 1; i <= frames; i++ {
		if got := until(t, rd, fmt.Sprintf("#%d.\n\n\r\n", i)); len(got) > size+100 {
			t.Fatalf("before frame %d came %d bytes: frames are missing", i, len(got))
		}
	}
	d := r.Stats().Drops["news"]
	if d.Frames[policy] < stalled || d.Total() != d.Frames[policy] {
		t.Errorf("drops of the stalled = %+v; want some for each of %d", d, stalled)
	}
	r.Each(func(s *Slot) {
		if n, bytes := s.queued(); n > framesDefault || bytes > bytesDefault {
			t.Errorf("%d frames, %d bytes wait for one stream; want the bound kept", n, bytes)
		}
	})
	dropped := 0
	for _, rd := range asleep {
		if policy == Disconnect {
			checkCut(t, rd)
			continue
		}
		dropped += countMissing(t, rd, r, frames)
	}
	if policy != Disconnect && uint64(dropped) != d.Total() {
		t.Errorf("the stalled were told of %d missing frames; %d were dropped", dropped, d.Total())
	}
}

// extend gives a conversation of 180 MB more time than others have.
func extend(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// checkCut reads the stream to its end, which has to be that of a frame, or of the head
// where the cut came before the first frame was written.
func checkCut(t *testing.T, rd *bufio.Reader) {
	t.Helper()
	got := restOf(rd)
	_, body, whole := strings.Cut(got, "\r\n\r\n")
	atEnd := whole && (body == "" || strings.HasSuffix(body, ".\n\n\r\n"))
	if !atEnd || strings.Contains(got, "\r\n0\r\n") {
		t.Errorf("the cut stream ends with %q; want the end of a frame and no last chunk",
			got[max(0, len(got)-40):])
	}
}

// countMissing wakes a stalled reader: it gets the frames in order, and is told
// how many are missing no later than they are.
func countMissing(t *testing.T, rd *bufio.Reader, r *Registry, frames int) (missing int) {
	t.Helper()
	r.Deliver(frame(uint64(frames+1), "news", "", "data: #end.\n\n"))
	last, got := 0, 0
	for {
		event := until(t, rd, "\n\n")
		if _, after, ok := strings.Cut(event, "event: gap\ndata: "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(after))
			if err != nil || n <= 0 {
				t.Fatalf("gap says %q", after)
			}
			missing += n
			continue
		}
		_, number, _ := strings.Cut(event, "#")
		if number == "end.\n\n" {
			if got+missing != frames {
				t.Errorf("%d frames and %d missing; want %d in all", got, missing, frames)
			}
			return missing
		}
		n, err := strconv.Atoi(strings.TrimSuffix(number, ".\n\n"))
		if err != nil || n < last+1 || n > got+missing+1 {
			t.Fatalf("frame %q after %d, %d and a gap of %d: not told in time",
				number, last, got, missing)
		}
		last, got = n, got+1
	}
}

// publishTo sends frames as fast as the healthy stream takes them.
func publishTo(healthy *Slot, r *Registry, frames, size int) {
	pad := strings.Repeat("x", size)
	for i := 1; i <= frames; i++ {
		for {
			if waiting, _ := healthy.queued(); waiting < 16 {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		r.Deliver(frame(uint64(i), "news", "", fmt.Sprintf("data: %s #%d.\n\n", pad, i)))
	}
}

var _ loop.Source = (*Slot)(nil)
