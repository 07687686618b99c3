// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// TestReloads is F5 on host_check: SIGHUP under load. No request fails, streams come
// back and miss nothing, and no process of before is left.
func TestReloads(t *testing.T) {
	const reloads, least = 20, 20_000
	p := startHost(t)
	ls := listenToBoth(t, p.URL+"/events")
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, random(t), word)
	for n := range reloads {
		c.more(t, least/reloads)
		old := p.Workers(t)
		p.Signal(t, syscall.SIGHUP)
		says(t, p, n+1, "every worker is replaced")
		for _, pid := range old {
			until(t, "the end of a worker that was replaced", func() bool {
				return smoketest.Gone(pid)
			})
		}
	}
	c.more(t, 100)
	if n := c.Refusals() + len(c.Failures()); n != 0 {
		t.Errorf("%d requests failed or were refused, want 0", n)
	}
	c.verdict(t, least)
	if v := ls.verdict(t, w, reloads*10, reloads*8); v.Told > 0 {
		t.Errorf("%d events in journals were missed, and told of: want 0", v.Told)
	} else if v.Doubtful > 0 {
		t.Errorf("a publisher had no answer to %d events over rolling restarts, want 0", v.Doubtful)
	}
}
