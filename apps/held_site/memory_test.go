// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/apps/internal/wild"
)

// memoryMax is what a stream may take in user space; collectors give back early, so
// that what is free and not returned yet does not count. A long poll, which keeps an
// answer, and a stream of GRIP that says all there is to say may take half as much more.
const memoryMax = 2 << 10

// pss is the memory of a worker, in bytes, without what it shares.
func pss(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/smaps_rollup", pid))
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	m := regexp.MustCompile(`(?m)^Pss: +(\d+) kB$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no Pss in %s", text)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n << 10
}

// TestMemoryOfAHeldAnswer is what lets one worker hold a hundred thousand.
func TestMemoryOfAHeldAnswer(t *testing.T) {
	const warm, count = 500, 5000
	for name, target := range map[string]string{
		"stream": say("M0-Channel: a", "body=: hi\n\n"),
		"grip": say("Grip-Hold: stream", "Grip-Channel: events-a; prev-id=7; filter=build-id",
			"Content-Type: text/event-stream", `Grip-Set-Meta: id_format="a:%(events-a)s", user="ann"`,
			"Grip-Keep-Alive: alive; timeout=60", "Grip-Link: </next>; rel=next", "body=: hi\n\n"),
		"poll": say("Grip-Hold: response", "Grip-Channel: a", "body=nothing"),
	} {
		t.Run(name, func(t *testing.T) {
			s := startIn(t, wild.Environ(), 1, metrics(t))
			pid := string(s.get("200 OK", "/worker").Body)
			open := func(n int) {
				want := s.held() + n
				for range n {
					c := s.send("GET", target)
					if name != "poll" {
						if _, err := c.ReadHead("GET"); err != nil {
							t.Fatal(err)
						}
					}
				}
				smoketest.Until(t, "all held", func() bool { return s.held() == want })
			}
			open(warm)
			before := pss(t, pid)
			open(count)
			each := (pss(t, pid) - before) / count
			t.Logf("a held %s takes %d bytes", name, each)
			limit := memoryMax
			if name != "stream" {
				limit += memoryMax / 2
			}
			if each > limit {
				t.Errorf("a held %s takes %d bytes, want at most %d", name, each, limit)
			}
		})
	}
}
