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

const isLive = "document.getElementById('status').innerText === 'live'"

// shows tells whether the page shows a comment of that text, as text and once.
func shows(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#comments .text')]"+
		".filter((c) => c.innerText === %q).length === 1", text)
}

// onBothWorkers opens the page until each worker holds the stream of some tab.
func onBothWorkers(t *testing.T, s *site, b *browser.Browser) (tabs []*browser.Tab) {
	t.Helper()
	s.onBoth(t, func() {
		tab := b.Open(t, s.p.URL)
		tab.Until(t, isLive)
		tabs = append(tabs, tab)
	})
	return tabs
}

// writeIn posts a comment as a person does.
func writeIn(t *testing.T, tab *browser.Tab, author, text string) {
	t.Helper()
	tab.Until(t, "document.getElementById('id_text').value === ''")
	if browser.Eval[bool](t, tab, "document.getElementById('id_author').value === ''") {
		tab.Type(t, "#id_author", author)
	}
	tab.Type(t, "#id_text", text)
	tab.Click(t, "#write .primary")
}

func TestBrowserTabsOfTwoWorkersStayInSync(t *testing.T) {
	s := serve(t, "LIVE_JOB_SECONDS=4")
	tabs := onBothWorkers(t, s, browser.Start(t))
	one, two := tabs[0], tabs[len(tabs)-1]
	all := func(expression string) {
		t.Helper()
		for _, tab := range tabs {
			tab.Until(t, expression)
		}
	}
	all(fmt.Sprintf("document.getElementById('present').innerText === '%d'", len(tabs)))
	writeIn(t, one, "Ada", "Written in the first tab.")
	all(shows("Written in the first tab."))
	writeIn(t, two, "Grace", "And in the second one:\n\na comment of two paragraphs.")
	all(shows("And in the second one:\n\na comment of two paragraphs."))
	writeIn(t, one, "", "Does it take the whole of it?")
	all(shows("Does it take the whole of it?"))
	all("document.querySelector('#comments li').innerText.includes('Ada')")

	const hostile = `<img src=x onerror="window.hit = 1"><script>window.hit = 2</script>`
	writeIn(t, two, "", hostile)
	all(shows(hostile))
	all("!window.hit && !document.querySelector('#comments :is(img, script)')")

	two.Until(t, "document.getElementById('id_text').value === ''") // answered: who waves is known
	two.Click(t, "#wave button")
	all("document.getElementById('notices').innerText === 'Grace waves at you'")
	one.Click(t, "#start button")
	all("document.getElementById('bar').value > 30")
	shoot(t, one)
	all("document.getElementById('bar').value === 100")
	all("document.getElementById('notices').innerText.includes('Job 1 is done')")
	if n := browser.Eval[int](t, one, pageFetches); n != 3 { // the stream's start, two comments
		t.Errorf("the first tab asked for the page %d times, want 3", n)
	}
}

// shoot keeps pictures of the page.
func shoot(t *testing.T, tab *browser.Tab) {
	t.Helper()
	browser.Eval[bool](t, tab, "(scrollTo(0, 0), true)")
	for _, dark := range []bool{false, true} {
		tab.Screenshot(t, "live", 1280, 900, dark)
		tab.Screenshot(t, "live", 390, 844, dark)
	}
}

// pageFetches counts how often a script of the page asked for the page, redirects of forms
// included.
const pageFetches = `performance.getEntriesByType('resource').filter((e) =>
	e.initiatorType === 'fetch' && /^\/(comment)?$/.test(new URL(e.name).pathname)).length`

// The stream of a tab breaks with its worker. The tab comes back by itself and is sent what
// was written meanwhile: it does not ask for the page.
func TestBrowserTabsOutliveTheirWorkers(t *testing.T) {
	s := serve(t)
	tabs := onBothWorkers(t, s, browser.Start(t))
	v := s.visitor(t)
	var texts []string
	write := func(text string) {
		v.write(t, text)
		texts = append(texts, text)
	}
	write("before")
	for _, tab := range tabs {
		tab.Until(t, shows("before"))
	}
	for index, pid := range s.p.Workers(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		smoketest.Until(t, "worker to be gone", func() bool { return s.p.Workers(t)[index] != pid })
		for i := range 5 {
			write(fmt.Sprintf("without worker %d, %d", index, i))
		}
		for _, tab := range tabs {
			for _, text := range texts {
				tab.Until(t, shows(text))
			}
			tab.Until(t, isLive)
		}
		smoketest.Until(t, "its successor to serve", func() bool { return len(s.held(t)) == 2 })
	}
	for i, tab := range tabs {
		if n := browser.Eval[int](t, tab, pageFetches); n != 1 {
			t.Errorf("tab %d asked for the page %d times, want once, at its start", i, n)
		}
		order := browser.Eval[bool](t, tab, `[...document.querySelectorAll('#comments li')]
			.every((c, i, all) => !i || Number(c.dataset.version) < Number(all[i - 1].dataset.version))`)
		if !order {
			t.Errorf("tab %d shows comments out of order", i)
		}
	}
}

// A tab that was killed is counted until it has been silent for long, one that was closed
// no more.
func TestBrowserKilledTabIsForgotten(t *testing.T) {
	s := serve(t, "LIVE_BEAT_SECONDS=1")
	b := browser.Start(t)
	count := func(n int) string {
		return fmt.Sprintf("document.getElementById('present').innerText === '%d'", n)
	}
	one, two, three := b.Open(t, s.p.URL), b.Open(t, s.p.URL), b.Open(t, s.p.URL)
	one.Until(t, count(3))
	three.Go(t, "about:blank")
	one.Until(t, count(2))
	two.Crash(t)
	one.Until(t, count(1))
}

// A tab that nobody looks at says in its title how much is new.
func TestBrowserHiddenTabCountsWhatIsNew(t *testing.T) {
	s := serve(t)
	b := browser.Start(t)
	hidden := b.Open(t, s.p.URL)
	hidden.Until(t, isLive)
	front := b.OpenBehind(t, s.p.URL)
	front.Until(t, isLive)
	hidden.Until(t, "document.hidden") // it hears of that by and by
	writeIn(t, front, "Ada", "first")
	front.Until(t, shows("first"))
	front.Click(t, "#wave button")
	hidden.Until(t, "document.title === '(2) Board'")
	if title := browser.Eval[string](t, front, "document.title"); title != "Board" {
		t.Errorf("the title of the tab in front is %q, want Board", title)
	}
	hidden.Front(t)
	hidden.Until(t, "document.title === 'Board'")
	hidden.Until(t, shows("first"))
}

// What was sent takes the focus back to its form, and the page stays where somebody who points
// at something else has scrolled it.
func TestBrowserStaysStillUnderThePointer(t *testing.T) {
	s := serve(t)
	tab := browser.Start(t).Open(t, s.p.URL)
	tab.Until(t, isLive)
	tab.Type(t, "#id_author", "Ada")
	tab.Type(t, "#id_text", "first")
	const top = "document.querySelector('#wave button').getBoundingClientRect().top"
	before := browser.Eval[float64](t, tab, "(document.body.style.paddingBottom = '100vh', "+
		"document.querySelector('#wave').scrollIntoView(), "+top+")")
	browser.Eval[bool](t, tab, "(document.querySelector('#write').requestSubmit(), true)")
	tab.Until(t, "document.getElementById('id_text').value === ''")
	tab.Until(t, "document.activeElement.id === 'id_text'")
	if after := browser.Eval[float64](t, tab, top); after != before {
		t.Errorf("the button was at %v and is at %v once the comment was sent", before, after)
	}
}

// A comment that is refused says why beside its field, which has the focus then; the text that
// was written stays.
func TestBrowserSaysWhatIsWrong(t *testing.T) {
	s := serve(t)
	tab := browser.Start(t).Open(t, s.p.URL)
	tab.Until(t, isLive)
	tab.Type(t, "#id_text", "Who wrote this?")
	tab.Click(t, "#write .primary")
	tab.Until(t, "document.querySelector('.wrong .error')?.innerText === 'This field is required.'")
	tab.Until(t, "document.activeElement.id === 'id_author'")
	tab.Until(t, "document.activeElement.getAttribute('aria-invalid') === 'true'")
	tab.Until(t, "document.getElementById('id_text').value === 'Who wrote this?'")
	tab.Screenshot(t, "live-wrong", 390, 844, false)
	tab.Type(t, "#id_author", "Ada")
	tab.Click(t, "#write .primary")
	tab.Until(t, shows("Who wrote this?"))
	tab.Until(t, "!document.querySelector('.error')")
	tab.Until(t, "document.getElementById('id_author').value === 'Ada'")
	tab.Until(t, `[...document.querySelectorAll('input:not([type=hidden]), textarea, progress')]
		.every((c) => c.labels.length === 1)`)
	s.p.Kill(t)
	tab.Type(t, "#id_text", "Is anybody there?")
	tab.Click(t, "#write .primary")
	tab.Until(t, "/Not sent/.test(document.body.innerText)")
	word := "document.querySelector('#write .unsent')?.innerText ?? ''"
	if got := browser.Eval[string](t, tab, word); !strings.HasPrefix(got, "Not sent (") {
		t.Errorf("beside the button stands %q, want that it was not sent", got)
	}
	tab.Until(t, "document.getElementById('id_text').value === 'Is anybody there?'")
	tab.Screenshot(t, "live-unsent", 390, 844, false)
}
