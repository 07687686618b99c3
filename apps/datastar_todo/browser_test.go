// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

// served is a service on a fixed port, so that it can come back there.
type served struct {
	p    *smoketest.Process
	port int
	env  []string
}

func serveFixed(t *testing.T) *served {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser test: it runs the real binary")
	}
	s := &served{port: smoketest.FreePort(t)}
	s.env = []string{
		"M0_DB=" + newDB(t), "M0_WORKERS=2", fmt.Sprintf("M0_PORT=%d", s.port),
		"M0_DATASTAR_JS=" + browser.DatastarFile(t),
	}
	s.start(t)
	return s
}

func (s *served) start(t *testing.T) { t.Helper(); s.p = smoketest.Start(t, bin, s.env...) }

func shows(text string) string {
	return fmt.Sprintf("document.getElementById('todos').innerText.includes(%q)", text)
}

const isLive = "document.querySelector('.live').innerText === 'live'"

func addInTab(t *testing.T, tab *browser.Tab, text string) {
	t.Helper()
	tab.Until(t, "document.querySelector('[name=draft]').value === ''")
	tab.Type(t, "[name=draft]", text+"\r")
	tab.Until(t, shows(text))
}

func TestBrowserTwoTabsStayInSync(t *testing.T) {
	s := serveFixed(t)
	b := browser.Start(t)
	one, two := b.Open(t, s.p.URL), b.Open(t, s.p.URL)
	for _, tab := range []*browser.Tab{one, two} {
		tab.Until(t, isLive)
	}
	addInTab(t, one, "from the first tab")
	two.Until(t, shows("from the first tab"))
	addInTab(t, two, "<b>from</b> the second tab")
	one.Until(t, shows("<b>from</b> the second tab"))

	one.Click(t, "#todos li .check")
	two.Until(t, "document.querySelectorAll('#todos li.done').length === 1")
	two.Screenshot(t, "todo", 1280, 800, false)
	two.Screenshot(t, "todo", 390, 844, true)
	two.Screenshot(t, "todo", 390, 844, false)
	two.Screenshot(t, "todo", 1280, 800, true)
	two.Click(t, "#todos .foot button:last-child")
	one.Until(t, "document.querySelectorAll('#todos li').length === 1")

	addInTab(t, one, "open one")
	one.Click(t, "#todos .foot button:nth-of-type(3)") // only those done
	one.Until(t, "document.querySelector('#todos li').offsetParent === null")
	addHidden := "document.querySelectorAll('#todos li').length === 2"
	two.Until(t, addHidden)
	one.Type(t, "[name=draft]", "   \r")
	one.Until(t, "document.querySelector('[role=alert]').innerText.includes('empty')")
}

func TestBrowserHiddenTabComesBackWithoutLoss(t *testing.T) {
	s := serveFixed(t)
	b := browser.Start(t)
	hidden := b.Open(t, s.p.URL)
	hidden.Until(t, isLive)
	addInTab(t, hidden, "before")
	front := b.OpenBehind(t, s.p.URL)
	if !browser.Eval[bool](t, hidden, "document.hidden") {
		t.Fatal("vacuous: the tab behind another one is not hidden")
	}
	for i := range 5 {
		addInTab(t, front, fmt.Sprintf("while hidden %d.", i))
	}
	hidden.Front(t)
	for i := range 5 {
		hidden.Until(t, shows(fmt.Sprintf("while hidden %d.", i)))
	}
	hidden.Until(t, isLive)
	addInTab(t, hidden, "after")
}

func TestBrowserTabsRecoverFromAKilledService(t *testing.T) {
	s := serveFixed(t)
	recoverFromKill(t, s, s.p.URL)
}

func TestBrowserTabsRecoverBehindNginx(t *testing.T) {
	s := serveFixed(t)
	recoverFromKill(t, s, smoketest.Nginx(t, s.port))
}

func recoverFromKill(t *testing.T, s *served, url string) {
	t.Helper()
	b := browser.Start(t)
	one, two := b.Open(t, url), b.Open(t, url)
	one.Until(t, isLive)
	two.Until(t, isLive)
	addInTab(t, one, "before the kill")
	two.Until(t, shows("before the kill"))

	s.p.Kill(t)
	for _, tab := range []*browser.Tab{one, two} {
		tab.Until(t, "!("+isLive+")")
	}
	s.start(t)
	for _, tab := range []*browser.Tab{one, two} {
		tab.Until(t, isLive)
		tab.Until(t, shows("before the kill"))
	}
	addInTab(t, two, "after the kill")
	one.Until(t, shows("after the kill"))

	for index, pid := range s.p.Workers(t) { // one worker after the other, under the tabs
		killWorker(t, pid)
		addInTab(t, one, fmt.Sprintf("without worker %d", index))
		two.Until(t, shows(fmt.Sprintf("without worker %d", index)))
	}
}
