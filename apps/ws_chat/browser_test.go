// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

const isLive = "document.getElementById('live').textContent === 'live'"

// come opens a tab and comes in.
func come(t *testing.T, b *browser.Browser, url, name string) *browser.Tab {
	t.Helper()
	tab := b.Open(t, url)
	tab.Until(t, "document.getElementById('door').open")
	browser.Eval[bool](t, tab, "document.getElementById('name').value = '', true")
	tab.Type(t, "#name", name+"\r")
	tab.Until(t, isLive)
	return tab
}

// shown is how often a text stands in the log as a message that is confirmed.
func shown(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#log li[data-id] .text')]"+
		".filter((e) => e.textContent === %q).length", text)
}

// waiting is the number of messages that are not.
const waiting = "document.querySelectorAll('#log .waits').length"

func say(t *testing.T, tab *browser.Tab, text string) {
	t.Helper()
	browser.Eval[bool](t, tab, fmt.Sprintf("text.value = %q, true", text))
	tab.Type(t, "#text", "\r")
	tab.Until(t, shown(text)+" === 1 && "+waiting+" === 0")
}

// tabsOnBoth comes in until each worker has somebody.
func tabsOnBoth(t *testing.T, p *smoketest.Process, b *browser.Browser) (tabs [2]*browser.Tab) {
	t.Helper()
	for i := range 16 {
		tab := come(t, b, p.URL, fmt.Sprint("Guest ", i))
		tabs[browser.Eval[int](t, tab, "chat.worker")] = tab
		if tabs[0] != nil && tabs[1] != nil {
			return tabs
		}
	}
	t.Fatalf("vacuous: 16 tabs are with one worker")
	return tabs
}

func TestBrowserTwoTabsOnTwoWorkers(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	tabs := tabsOnBoth(t, p, browser.Start(t))
	one, two := tabs[0], tabs[1]
	one.Type(t, "#text", "not yet sen")
	two.Until(t, "document.getElementById('typing').textContent.includes('is typing')")
	one.Type(t, "#text", "t\r")
	for tab, side := range map[*browser.Tab]bool{one: true, two: false} {
		tab.Until(t, shown("not yet sent")+" === 1")
		tab.Until(t, fmt.Sprintf("document.querySelector('#log li[data-id]')"+
			".classList.contains('own') === %v", side))
	}
	two.Until(t, "document.getElementById('typing').textContent === ''")
	hostile := `<img src=x onerror="document.title='owned'"><b>bold</b>`
	browser.Eval[bool](t, two, fmt.Sprintf("text.value = %q, true", hostile))
	two.Type(t, "#text", "\r")
	for _, tab := range tabs {
		tab.Until(t, "document.querySelectorAll('#log li[data-id]').length === 2")
		if browser.Eval[bool](t, tab, "document.title === 'owned' ||"+
			" document.querySelector('#log img, #log b') !== null") {
			t.Error("hostile text became markup")
		}
	}
	one.Type(t, "#other-room", "Tea Room\r")
	one.Until(t, isLive+" && location.hash === '#tea-room' && "+shown(hostile)+" === 0")
	say(t, one, "alone here")
	say(t, two, "still in the lobby")
	if n := browser.Eval[int](t, two, shown("alone here")); n != 0 {
		t.Errorf("a room shows %d messages of another", n)
	}
}

// TestBrowserComesBack: tabs come back from kills and restarts by themselves, with all
// that was said and what was typed meanwhile, each once.
func TestBrowserComesBack(t *testing.T) {
	env := []string{"M0_WORKERS=2", "M0_DB=" + t.TempDir() + "/chat.db",
		fmt.Sprintf("M0_PORT=%d", smoketest.FreePort(t))}
	p := smoketest.Start(t, bin, env...)
	tabs := tabsOnBoth(t, p, browser.Start(t))
	all := func(texts ...string) {
		t.Helper()
		for _, tab := range tabs {
			for _, text := range texts {
				tab.Until(t, isLive+" && "+shown(text)+" === 1 && "+waiting+" === 0")
			}
		}
	}
	say(t, tabs[0], "before")
	all("before")
	smoketest.Kill(t, p.Workers(t)[1], syscall.SIGKILL)
	say(t, tabs[0], "while one was killed")
	all("before", "while one was killed")
	p.Signal(t, syscall.SIGHUP)
	say(t, tabs[1], "in a rolling restart")
	all("before", "while one was killed", "in a rolling restart")
	p.Kill(t)
	for _, tab := range tabs {
		tab.Until(t, "document.getElementById('live').textContent === 'reconnecting'")
	}
	tabs[0].Type(t, "#text", "into the void\r")
	tabs[0].Until(t, waiting+" === 1")
	smoketest.Start(t, bin, env...)
	all("before", "while one was killed", "in a rolling restart", "into the void")
}

// TestBrowserWithoutAConnection: the page says nothing that it does not know. The address it
// came by is no room's, nor a proper escape.
func TestBrowserWithoutAConnection(t *testing.T) {
	p := smoketest.Start(t, bin, "M0_DB="+t.TempDir()+"/chat.db")
	tab := browser.Start(t).Open(t, p.URL+"/#%E0%A4%A")
	if room := browser.Eval[string](t, tab, "room.textContent"); room != "lobby" {
		t.Fatalf("the page opens in %q, want the lobby", room)
	}
	tab.Type(t, "#name", "Ann\r")
	tab.Until(t, isLive)
	p.Kill(t)
	tab.Until(t, "live.textContent === 'reconnecting'")
	if seen := browser.Eval[string](t, tab, "getComputedStyle(count).visibility"); seen != "hidden" {
		t.Errorf("the count of those who are here is %s without a connection, want hidden", seen)
	}
}

// TestBrowserReadsOnWhereItWas: new messages do not move who reads older ones.
func TestBrowserReadsOnWhereItWas(t *testing.T) {
	p := start(t)
	b := browser.Start(t)
	ann, bob := come(t, b, p.URL, "Ann"), come(t, b, p.URL, "Bob")
	ann.Type(t, "#text", "one line")
	browser.Eval[bool](t, ann, "text.value += '\\nanother'.repeat(80), true")
	ann.Type(t, "#text", "\r")
	bob.Until(t, "document.querySelectorAll('#log li[data-id]').length === 1 &&"+
		" pane.scrollTop > 500")
	browser.Eval[bool](t, bob, "pane.scrollTop = 10, true")
	bob.Until(t, "pane.scrollTop === 10")
	say(t, ann, "you are up there")
	bob.Until(t, shown("you are up there")+" === 1")
	if top := browser.Eval[int](t, bob, "pane.scrollTop"); top != 10 {
		t.Fatalf("a new message moves the reader from 10 to %d", top)
	}
	bob.Until(t, "!newer.hidden && newer.textContent.startsWith('1 new') &&"+
		" document.title.startsWith('(1)')")
	bob.Until(t, "document.querySelector('#log .unread').nextElementSibling"+
		".textContent.includes('up there')")
	bob.Click(t, "#newer")
	bob.Until(t, "newer.hidden && document.title === '#lobby' &&"+
		" pane.scrollHeight - pane.scrollTop - pane.clientHeight < 2")
	say(t, bob, "here I am")
	bob.Until(t, "pane.scrollHeight - pane.scrollTop - pane.clientHeight < 2")
}

// TestBrowserLimitsAreSaid: what is too long stays where it was typed; what was too fast
// can be sent again.
func TestBrowserLimitsAreSaid(t *testing.T) {
	p := start(t)
	tab := come(t, browser.Start(t), p.URL, "Ann")
	browser.Eval[bool](t, tab, fmt.Sprintf("text.value = 'x'.repeat(%d), true", textMax))
	tab.Type(t, "#text", "yz\r")
	tab.Until(t, "word.textContent !== '' || text.value === ''")
	want := "That is too long by 2 characters. 1002 -2"
	if got := browser.Eval[string](t, tab, "[word.textContent, text.value.length,"+
		" document.getElementById('left').textContent].join(' ')"); got != want {
		t.Fatalf("a text that is too long is answered by %q, want %q", got, want)
	}
	browser.Eval[bool](t, tab, fmt.Sprintf(`(() => {
		for (let i = 0; i < %d; i++) { text.value = "fast " + i; write.requestSubmit(); }
		return true;
	})()`, talkBurst+4))
	const failed = "document.querySelectorAll('#log .failed').length"
	tab.Until(t, failed+" > 0 && "+failed+" === "+waiting)
	n := browser.Eval[int](t, tab, failed)
	tab.Until(t, "document.querySelector('#log .fate').textContent.includes('too fast')")
	tab.Until(t, fmt.Sprintf("document.querySelectorAll('#log li[data-id]').length === %d",
		talkBurst+4-n))
	tab.Until(t, fmt.Sprintf("(document.querySelector('#log .failed button')?.click(), "+
		"document.querySelectorAll('#log li[data-id]').length === %d && %s === 0)",
		talkBurst+4, waiting))
}

// TestBrowserColours: every colour that a name can have can be read, in both lights.
func TestBrowserColours(t *testing.T) {
	p := start(t)
	tab := come(t, browser.Start(t), p.URL, "Ann")
	for _, scheme := range []string{"light", "dark"} {
		least := browser.Eval[float64](t, tab, fmt.Sprintf(`(() => {
			const ctx = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
			const light = (color) => {
				ctx.fillStyle = color;
				ctx.fillRect(0, 0, 1, 1);
				const [r, g, b] = [...ctx.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
					.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const contrast = (a, b) => {
				const x = light(a), y = light(b);
				return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
			};
			document.documentElement.style.colorScheme = %q;
			log.innerHTML = "<li><span class=face></span><span class=by></span></li>";
			const face = log.querySelector(".face"), by = log.querySelector(".by");
			const of = (e, what) => getComputedStyle(e)[what];
			const seen = new Set();
			let least = 99;
			for (let hue = 0; hue < 360; hue += 15) {
				log.firstChild.style.setProperty("--hue", hue);
				least = Math.min(least, contrast(of(by, "color"), of(document.body, "backgroundColor")),
					contrast(of(face, "color"), of(face, "backgroundColor")));
				seen.add(of(by, "color"));
			}
			return seen.size === 24 ? least : -seen.size;
		})()`, scheme))
		if least < 4.5 {
			t.Errorf("%s: a contrast of %.2f, want 4.5 (negative: so many colours, want 24)", scheme, least)
		}
	}
}

// TestBrowserShots looks at the page at every size and in both lights.
func TestBrowserShots(t *testing.T) {
	p := start(t, "M0_WORKERS=2")
	b := browser.Start(t)
	door := b.Open(t, p.URL+"/#tea")
	door.Until(t, "document.getElementById('door').open")
	door.Screenshot(t, "chat-door", 390, 844, true)
	ann, bob := come(t, b, p.URL+"/#tea", "Ann"), come(t, b, p.URL+"/#tea", "Bob")
	ann.Screenshot(t, "chat-empty", 390, 844, false)
	carla := come(t, b, p.URL+"/#tea", "Carla M.")
	for _, said := range []struct {
		by   *browser.Tab
		text string
	}{
		{ann, "Morning! The kettle is on."},
		{bob, "Oh good. Assam or the green one?"},
		{ann, "Assam first, it is that kind of day"},
		{ann, "The list is at https://example.org/teas, add yours if it is missing."},
		{carla, "I am on the train, keep one warm for me. We stand outside the city and nobody" +
			" knows why, but the view is nice."},
		{carla, "<b>Back</b> at ten, if this thing moves"},
		{bob, "Take your time"},
	} {
		say(t, said.by, said.text)
	}
	carla.Type(t, "#text", "Almost th")
	ann.Until(t, "document.getElementById('typing').textContent !== ''")
	for _, dark := range []bool{true, false} {
		ann.Screenshot(t, "chat", 1280, 900, dark)
		ann.Screenshot(t, "chat", 390, 844, dark)
	}
	ann.Size(t, 390, 844) // which has the menu
	ann.Click(t, "#menu")
	ann.Until(t, "side.getAnimations().length === 0")
	ann.Screenshot(t, "chat-menu", 390, 844, true)
	browser.Eval[bool](t, ann, "veil.click(), true")
	say(t, ann, "A long one:\n"+strings.Repeat("one leaf after the other, ", 12)+"the end")
	browser.Eval[bool](t, ann, "pane.scrollTop = 0, true")
	say(t, bob, "Second pot?\nI have"+strings.Repeat(" biscuits and", 40)+" jam.")
	say(t, carla, "We move!")
	ann.Until(t, "!newer.hidden")
	ann.Screenshot(t, "chat-newer", 390, 844, false)
	p.Kill(t)
	ann.Until(t, "!("+isLive+")")
	ann.Type(t, "#text", "Is anybody there?\r")
	ann.Screenshot(t, "chat-lost", 1280, 900, true)
}
