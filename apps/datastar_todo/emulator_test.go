// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/datastar/clienttest"
)

// An emulatedTab is the page in a browser that is not there: the stream that
// the page opens, by the rules of the Datastar client, and what it shows.
type emulatedTab struct {
	*clienttest.Tab

	mu     sync.Mutex
	list   string // as it is shown
	lives  int    // how often the stream said that it is live
	faults []string
}

// openEmulated loads the page and opens its stream. Waits are a hundredth of
// the client's.
func openEmulated(t *testing.T, base string, cfg clienttest.Config) *emulatedTab {
	t.Helper()
	_, page, _ := send(t, "GET", base+"/", nil)
	since := sinceInPage.FindString(page)
	if since == "" {
		t.Fatalf("the page opens no stream:\n%s", page)
	}
	cfg.URL = base + since
	cfg.Sleep = func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(max(d/100, time.Millisecond)):
		case <-ctx.Done():
		}
	}
	tab := &emulatedTab{Tab: clienttest.Open(cfg)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := tab.Next(context.Background())
			if err != nil {
				return
			}
			tab.apply(e)
		}
	}()
	t.Cleanup(func() {
		tab.Close()
		<-done
	})
	return tab
}

// apply does to the tab what the event does to the page.
func (tab *emulatedTab) apply(e clienttest.Event) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch elements := e.Args["elements"]; {
	case e.Type == "datastar-patch-signals" && strings.Contains(e.Args["signals"], `"live":true`):
		tab.lives++
	case e.Type != "datastar-patch-elements" || e.Args["mode"] != "" ||
		!strings.HasPrefix(elements, `<section id="todos"`):
		tab.faults = append(tab.faults, fmt.Sprintf("event %+v; want the list", e))
	case countTodos(elements) < countTodos(tab.list):
		tab.faults = append(tab.faults, fmt.Sprintf("from %d todos back to %d",
			countTodos(tab.list), countTodos(elements)))
	default:
		tab.list = elements
	}
}

func countTodos(list string) int { return strings.Count(list, "<li ") }

func (tab *emulatedTab) shown() (list string, lives int, faults []string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return tab.list, tab.lives, slices.Clone(tab.faults)
}

func (tab *emulatedTab) untilShows(t *testing.T, text string) {
	t.Helper()
	smoketest.Until(t, "a tab to show "+text, func() bool {
		list, _, _ := tab.shown()
		return strings.Contains(list, ">"+text+"<")
	})
}

// postUntilItFails adds todos one after the other until the service is gone, and
// returns those that were answered with success.
func postUntilItFails(base string, begun chan<- struct{}) (acknowledged []string) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: smoketest.Patience}
	defer client.CloseIdleConnections()
	for i := range 1000 { // as many as a list holds
		text := fmt.Sprintf("during the kill %d.", i)
		body, err := json.Marshal(map[string]string{"draft": text})
		if err != nil {
			panic(err)
		}
		resp, err := client.Post(base+"/todos", "application/json", bytes.NewReader(body))
		if err != nil {
			return acknowledged
		}
		var signals map[string]string
		err = json.NewDecoder(resp.Body).Decode(&signals)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || signals["error"] != "" {
			return acknowledged
		}
		acknowledged = append(acknowledged, text)
		if i == 5 {
			close(begun)
		}
	}
	return acknowledged
}

// TestEmulatedTabsRecoverFromAKilledService: the whole service is killed with
// SIGKILL while a person adds todos, and comes back on the same port. Two tabs,
// one as the page asks for and one with the client's defaults, go on by
// themselves and end with the same list, in which everything is that was
// acknowledged. No tab shows an older list on the way.
func TestEmulatedTabsRecoverFromAKilledService(t *testing.T) {
	s := &served{port: smoketest.FreePort(t)}
	s.env = []string{"M0_DB=" + newDB(t), "M0_WORKERS=2", fmt.Sprintf("M0_PORT=%d", s.port)}
	s.start(t)
	base := s.p.URL
	tabs := []*emulatedTab{
		openEmulated(t, base, clienttest.Config{
			Retry: clienttest.RetryAlways, Interval: 500 * time.Millisecond,
			MaxWait: 4 * time.Second, MaxCount: 1_000_000,
		}),
		openEmulated(t, base, clienttest.Config{MaxCount: 1000}),
	}
	post(t, s.p, "before the kill")
	for _, tab := range tabs {
		tab.untilShows(t, "before the kill")
	}

	begun, acknowledged := make(chan struct{}), make(chan []string)
	go func() { acknowledged <- postUntilItFails(base, begun) }()
	select {
	case <-begun:
	case <-time.After(smoketest.Patience):
		t.Fatal("the first todos were not added")
	}
	s.p.Kill(t)
	kept := <-acknowledged
	s.start(t)
	for i, tab := range tabs {
		smoketest.Until(t, "the tabs to be live again", func() bool {
			_, lives, _ := tab.shown()
			return lives >= 2
		})
		if len(tab.Waits()) == 0 {
			t.Errorf("tab %d never waited: the kill went past it", i)
		}
	}
	post(t, s.p, "after the kill")
	for _, tab := range tabs {
		tab.untilShows(t, "after the kill")
	}
	wantSameList(t, base, tabs, append(kept, "before the kill", "after the kill"))
}

// wantSameList compares what the tabs show with the page as it is served now.
func wantSameList(t *testing.T, base string, tabs []*emulatedTab, texts []string) {
	t.Helper()
	_, page, _ := send(t, "GET", base+"/", nil)
	for i, tab := range tabs {
		list, _, faults := tab.shown()
		if !strings.Contains(page, list) {
			t.Errorf("tab %d shows %d todos:\n%s\nwhich is not the list of the page:\n%s",
				i, countTodos(list), list, page)
		}
		for _, text := range texts {
			if strings.Count(list, ">"+text+"<") != 1 {
				t.Errorf("tab %d shows %q %d times; want once", i, text,
					strings.Count(list, ">"+text+"<"))
			}
		}
		for _, fault := range faults {
			t.Errorf("tab %d: %s", i, fault)
		}
	}
}
