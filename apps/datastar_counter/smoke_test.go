// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

func start(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, env...)
}

// click presses a button on a connection of its own and returns the worker.
func click(t *testing.T, p *smoketest.Process, button string) string {
	t.Helper()
	req, err := http.NewRequest("POST", p.URL+"/count/"+button, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("POST /count/%s: %v", button, err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("POST /count/%s = %d; want 204", button, resp.StatusCode)
	}
	return resp.Header.Get("X-Worker")
}

// open opens a stream and returns it with the count it began with.
func open(t *testing.T, p *smoketest.Process, lastID string) (*smoketest.Stream, string) {
	t.Helper()
	s := smoketest.Open(t, p.URL+"/count/stream", lastID)
	if hello := s.Next(t); !strings.Contains(hello.Data, `"live":true`) {
		t.Fatalf("first event = %+v; want the signals that say it is live", hello)
	}
	return s, s.Next(t).Data
}

func awaitCount(t *testing.T, s *smoketest.Stream, n int) {
	t.Helper()
	want := fmt.Sprintf(`signals {"count":%d}`, n)
	s.Until(t, want, func(e smoketest.Event) bool { return e.Data == want })
}

func TestSmokeTwoWorkersShareOneCount(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	streams := smoketest.Spread(t, 2, func() *smoketest.Stream {
		s, count := open(t, p, "")
		if count != `signals {"count":0}` {
			t.Errorf("a stream begins with %q; want the count 0", count)
		}
		return s
	})
	workers, n := make(map[string]bool), 0
	for ; len(workers) < 2 || n < 8; n++ {
		if n == 64 {
			t.Fatalf("vacuous: all clicks went to one worker: %v", workers)
		}
		workers[click(t, p, "up")] = true
		for _, s := range streams {
			nextCount(t, s, n+1)
		}
	}
	click(t, p, "down")
	for _, s := range streams {
		nextCount(t, s, n-1)
	}
}

// nextCount wants the very next frame to show n, and its id behind it.
func nextCount(t *testing.T, s *smoketest.Stream, n int) {
	t.Helper()
	if e, want := s.Next(t), fmt.Sprintf(`signals {"count":%d}`, n); e.Data != want {
		t.Fatalf("on worker %s the next frame shows %q; want %q", s.Worker, e.Data, want)
	}
	if e := s.Next(t); e.ID == "" || e.Data != "" {
		t.Fatalf("behind the frame came %+v; want its id", e)
	}
}

// TestSmokeTheLastFrameHoldsTheLastCount: clicks at once on both workers; what
// every tab shows in the end is the count.
func TestSmokeTheLastFrameHoldsTheLastCount(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	streams := smoketest.Spread(t, 2, func() *smoketest.Stream { s, _ := open(t, p, ""); return s })
	const clicks = 200
	var wg sync.WaitGroup
	for range clicks {
		wg.Go(func() { click(t, p, "up") })
	}
	wg.Wait()
	last := 0
	click(t, p, "up")
	for _, s := range streams {
		s.Until(t, "the last count", func(e smoketest.Event) bool {
			_, err := fmt.Sscanf(e.Data, `signals {"count":%d}`, &last)
			return err == nil && last == clicks+1
		})
	}
}

func TestSmokeCountSurvivesAWorker(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	s, _ := open(t, p, "")
	click(t, p, "up")
	awaitCount(t, s, 1)
	old := p.Workers(t)
	for _, pid := range old {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	smoketest.Until(t, "both workers again", func() bool {
		now := p.Workers(t)
		return len(now) == 2 && now[0] != old[0] && now[1] != old[1]
	})
	s, count := open(t, p, "")
	if count != `signals {"count":1}` {
		t.Errorf("after both workers died a stream begins with %q; want 1", count)
	}
	click(t, p, "up")
	awaitCount(t, s, 2)
}

func TestBrowserTwoTabsCountTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser test: it runs the real binary")
	}
	p := start(t, "M0_WORKERS=2", "M0_DATASTAR_JS="+browser.DatastarFile(t))
	b := browser.Start(t)
	one, two := b.Open(t, p.URL), b.Open(t, p.URL)
	for _, tab := range []*browser.Tab{one, two} {
		tab.Until(t, "document.querySelector('.live').innerText === 'live'")
	}
	for range 3 {
		one.Click(t, ".primary")
	}
	two.Until(t, "document.querySelector('.count').innerText === '3'")
	two.Click(t, ".secondary")
	one.Until(t, "document.querySelector('.count').innerText === '2'")
	one.Screenshot(t, "counter", 1280, 800, true)
	one.Screenshot(t, "counter", 390, 844, false)
}
