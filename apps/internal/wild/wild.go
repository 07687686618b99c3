// SPDX-License-Identifier: MIT

// Package wild holds what tests of applications that do what none should have in
// common: requests made by chance, signs of a crash in a log, and the watch over
// memory that does not come back. It knows no server and no interface.
package wild

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Environ makes Go and the C library give back what they do not use, early and at
// once, so that what is kept can be told from what is not returned yet.
func Environ() []string {
	return []string{"GOGC=20", "GOMEMLIMIT=16MiB", "MALLOC_MMAP_THRESHOLD_=65536",
		"MALLOC_ARENA_MAX=1"}
}

// WantNoCrash looks in the log of an m0serve for a process that ended, or a panic
// that was caught.
func WantNoCrash(t *testing.T, log string) {
	t.Helper()
	for _, sign := range []string{"worker: ended", "goroutine ", "SystemError"} {
		if strings.Contains(log, sign) {
			t.Errorf("the log has %q: a crash, or a panic that was caught", sign)
		}
	}
}

// Ask sends one request for /wild, by chance with a body, a long one, or one that is
// not whole, and reads what comes if it does not leave before. fields are whole
// lines. c has a deadline.
func Ask(c net.Conn, rng *rand.Rand, fields string) {
	announced := []int{0, 0, 10, 100_000, 3_000_000}[rng.IntN(5)]
	sent := strings.Repeat("b", announced)
	if rng.IntN(4) == 0 {
		sent = sent[:rng.IntN(announced+1)]
	}
	method := []string{"GET", "POST", "HEAD"}[rng.IntN(3)]
	_, _ = fmt.Fprintf(c, "%s /wild?%d HTTP/1.%d\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s",
		method, rng.Uint64(), rng.IntN(2), fields, announced, sent)
	if rng.IntN(5) > 0 && len(sent) == announced {
		res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
		}
	}
}

// Dial connects to addr for two seconds; nil: nobody listens.
func Dial(addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	return c
}

// Numbered replaces $N in a request by a number of its own for each i.
func Numbered(request string, i int) string {
	return strings.ReplaceAll(request, "$N", fmt.Sprintf("%x", uint64(i)*0x9E3779B97F4A7C15))
}

// WantLevel runs n requests up to so many times, until next to nothing more is taken
// than at some time before: what leaks grows with every run, while what is only kept,
// or comes back by and by, goes up and down. ask gets /memory, where the application
// says its blocks, its KiB, and how many other calls still run.
func WantLevel(t *testing.T, runs, n int, ask func(path string) string, run func(n int)) {
	t.Helper()
	var before []usage
	for range runs {
		before = append(before, memory(t, ask))
		run(n)
		now := memory(t, ask)
		for _, u := range before {
			if now.blocks-u.blocks <= n/20 && now.kib-u.kib <= 1024+n/10 {
				return
			}
		}
	}
	t.Errorf("runs of %d requests take more and more: %+v", n, before)
}

// usage is what an application says of its memory.
type usage struct{ blocks, kib int }

// settled is how often memory asks: every thread gives back what it keeps of the
// last request, and free lists, which a collection empties, are as full as ever.
const settled = 20

// memory asks until the calls that clients have left are over, and often then.
func memory(t *testing.T, ask func(path string) string) (u usage) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for quiet := 0; quiet < settled; quiet++ {
		running := 0
		text := ask("/memory")
		if _, err := fmt.Sscan(text, &u.blocks, &u.kib, &running); err != nil {
			t.Fatalf("GET /memory: %q: %v", text, err)
		}
		if running == 0 {
			continue
		}
		if quiet = -1; time.Now().After(deadline) {
			t.Fatalf("%d calls still run, long after their clients have left", running)
		}
	}
	return u
}
