// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// reached finds the count at which a worker asked to be replaced.
var reached = regexp.MustCompile(`"limit":"requests","value":(\d+)`)

// --max-requests replaces workers by the number of their requests, which differs by
// chance, without losing one.
func TestMaxRequests(t *testing.T) {
	const least, jitter, times = 300, 100, 8
	p := site{args: []string{"--workers", "2", "--max-requests", strconv.Itoa(least),
		"--max-requests-jitter", strconv.Itoa(jitter)}}.start(t)
	c := gather(p, 4)
	logs(t, p, "worker: replaced", times)
	c.leave(t, times*least)
	counts := map[int]bool{}
	for _, m := range reached.FindAllStringSubmatch(p.Log(), -1) {
		n, err := strconv.Atoi(m[1])
		if counts[n] = true; err != nil || n < least || n > least+jitter {
			t.Errorf("replaced after %s requests, want %d to %d", m[1], least, least+jitter)
		}
	}
	if len(counts) < 2 {
		t.Errorf("workers were replaced after %v requests, want counts that differ", counts)
	}
	if len(c.pids) < times {
		t.Errorf("%d processes answered, want at least %d", len(c.pids), times)
	}
}

// --workers-max-rss replaces a worker that has grown, without losing a request.
func TestMaxMemory(t *testing.T) {
	p := site{args: []string{"--workers-max-rss", "150M"}}.start(t)
	c := gather(p, 4)
	old := worker(t, p, 0)
	smoketest.Until(t, "requests", func() bool { return c.answered.Load() > 100 })
	if strings.Contains(p.Log(), `"limit":"memory"`) {
		t.Error("a worker is replaced that has not grown")
	}
	ask(t, p, "/grow?mb=200")
	logs(t, p, `"limit":"memory"`, 1)
	if fresh := replaced(t, p, old); fresh == old {
		t.Errorf("process %d still serves", old)
	}
	c.leave(t, 200)
}
