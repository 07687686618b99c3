// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

const isLive = "document.getElementById('live').textContent === 'live'"

// choose makes colour the one of what the tab drops next, and returns an expression
// for whether a page draws a blob of it that is newer than all that the tab draws now.
func choose(t *testing.T, tab *browser.Tab, colour string) (drawn string) {
	t.Helper()
	tab.Until(t, "window.blobs.cast.length > 0")
	input := fmt.Sprintf("[aria-label=%s]", colour)
	tab.Click(t, input)
	hue := browser.Eval[string](t, tab, fmt.Sprintf("document.querySelector('%s').value", input))
	newest := browser.Eval[int](t, tab, "Math.max(...window.blobs.cast.map((b) => b.id))")
	return fmt.Sprintf("window.blobs.cast.some((b) => b.hue === %s && b.id > %d && b.r > 0.01)",
		hue, newest)
}

// tabsOnBoth opens tabs until each worker has a viewer.
func tabsOnBoth(t *testing.T, p *smoketest.Process, b *browser.Browser) (tabs []*browser.Tab) {
	t.Helper()
	for {
		tab := b.Open(t, p.URL)
		tab.Until(t, isLive)
		tabs = append(tabs, tab)
		viewers := make(map[int]int)
		for _, w := range mustStats(t, p).Workers {
			viewers[w.Index] += w.Viewers
		}
		if viewers[0] > 0 && viewers[1] > 0 {
			return tabs
		}
		if len(tabs) == 16 {
			t.Fatalf("vacuous: 16 tabs are with workers %v", viewers)
		}
	}
}

// inkOf counts points of the canvas that something is drawn on.
const inkOf = `(() => {
	const c = document.getElementById('board');
	const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	let n = 0;
	for (let i = 3; i < d.length; i += 4) if (d[i] === 255) n++;
	return n;
})()`

func TestBrowserTabsOfTwoWorkersShareTheBoard(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	tabs := tabsOnBoth(t, p, browser.Start(t))
	for _, tab := range tabs {
		tab.Until(t, fmt.Sprintf("here.textContent === '%d here'", len(tabs)))
		tab.Until(t, "window.blobs.cast.length >= 5 && "+inkOf+" > 1000")
		frames := browser.Eval[int](t, tab, "window.blobs.frames")
		tab.Until(t, fmt.Sprintf("window.blobs.frames > %d", frames+20))
	}
	for i, colour := range []string{"green", "cyan", "pink"} { // each way, and by a key
		from := tabs[(len(tabs)-1)*(i%2)]
		drawn := choose(t, from, colour)
		if i == 2 {
			from.Type(t, "#board", " ")
		} else {
			from.Click(t, "#board")
		}
		for _, tab := range tabs {
			tab.Until(t, drawn)
		}
	}
}

func TestBrowserComesBackFromAKill(t *testing.T) {
	env := []string{"M0_WORKERS=2", fmt.Sprintf("M0_PORT=%d", smoketest.FreePort(t))}
	p := smoketest.Start(t, bin, env...)
	tab := browser.Start(t).Open(t, p.URL)
	moves := func() {
		t.Helper()
		tab.Until(t, isLive)
		step := browser.Eval[int](t, tab, "window.blobs.film.step")
		tab.Until(t, fmt.Sprintf("window.blobs.film.step > %d && window.blobs.cast.length > 0", step))
	}
	moves()
	for _, pid := range p.Workers(t) {
		smoketest.Kill(t, pid, syscall.SIGKILL)
		moves()
	}
	p.Kill(t)
	tab.Until(t, "document.getElementById('live').textContent === 'reconnecting' &&"+
		" document.body.classList.contains('lost')")
	smoketest.Start(t, bin, env...)
	moves()
	tab.Until(t, "!document.body.classList.contains('lost')")
}

func TestBrowserHiddenTabDoesNotWatch(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	b := browser.Start(t)
	hidden := b.Open(t, p.URL)
	hidden.Until(t, isLive)
	b.OpenBehind(t, "about:blank")
	hidden.Until(t, "document.hidden")
	untilStats(t, p, "a rest", func(s stats) bool { return s.Viewers == 0 && s.Resting })
	step := browser.Eval[int](t, hidden, "window.blobs.film.step")
	hidden.Front(t)
	hidden.Until(t, fmt.Sprintf("window.blobs.film.step > %d", step))
}

// TestBrowserHoldsStill: who wants no motion sees none, and drops all the same.
func TestBrowserHoldsStill(t *testing.T) {
	p := start(t)
	tab := browser.Start(t).Open(t, p.URL)
	tab.Until(t, isLive+" && window.blobs.cast.length > 0")
	tab.Click(t, "#still")
	tab.Until(t, "document.getElementById('still').getAttribute('aria-pressed') === 'true'")
	drawn := choose(t, tab, "red")
	tab.Click(t, "#drop")
	tab.Until(t, drawn)
}

// pull has a finger pull a blob from the middle of the board by shares of it.
const pull = `(dx, dy, up) => {
	const board = document.getElementById('board');
	const send = (type, x, y) => board.dispatchEvent(new PointerEvent(type, {
		pointerId: 7, pointerType: 'touch', button: 0,
		clientX: x * board.clientWidth, clientY: y * board.clientHeight,
	}));
	send('pointerdown', 0.5, 0.5);
	send('pointermove', 0.5 + dx, 0.5 + dy);
	if (up) send('pointerup', 0.5 + dx, 0.5 + dy);
	return true;
}`

// TestBrowserThrowsWhatIsPulled: a blob flies the other way, as from a sling.
func TestBrowserThrowsWhatIsPulled(t *testing.T) {
	p := start(t)
	tab := browser.Start(t).Open(t, p.URL)
	tab.Until(t, isLive)
	browser.Eval[bool](t, tab, "("+pull+")(-0.3, 0, true)")
	tab.Until(t, fmt.Sprintf("window.blobs.cast.some((b) => b.id > %d)", company))
	tab.Until(t, "window.blobs.cast.toSorted((a, b) => b.id - a.id)[0].x > 0.7")
}

// TestBrowserShots looks at the page at every size and in both lights.
func TestBrowserShots(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	b := browser.Start(t)
	tab, other := b.Open(t, p.URL), b.Open(t, p.URL)
	for _, x := range []*browser.Tab{tab, other} {
		x.Until(t, isLive+" && document.getElementById('here').textContent === '2 here'")
	}
	tab.Screenshot(t, "blobs-new", 390, 844, true)
	tab.Screenshot(t, "blobs-new", 1280, 900, false)
	for _, colour := range []string{"red", "amber", "green", "cyan", "violet", "pink"} {
		choose(t, other, colour)
		other.Click(t, "#drop")
	}
	tab.Until(t, "window.blobs.cast.length > 12")
	for _, dark := range []bool{true, false} {
		other.Click(t, "#drop")
		tab.Screenshot(t, "blobs", 1280, 900, dark)
		tab.Screenshot(t, "blobs", 390, 844, dark)
	}
	browser.Eval[bool](t, tab, "("+pull+")(-0.2, 0.15, false)")
	tab.Screenshot(t, "blobs-pull", 1280, 900, true)
	p.Kill(t)
	tab.Until(t, "document.body.classList.contains('lost')")
	tab.Screenshot(t, "blobs-lost", 390, 844, true)
}
