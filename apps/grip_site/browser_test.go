// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"path/filepath"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

// shown says that the page shows exactly these events of a channel, from id first.
func shown(channel string, first int, texts ...string) string {
	list := ""
	for i, text := range texts {
		list += fmt.Sprintf("%s:%d %s\n", channel, first+i, text)
	}
	return fmt.Sprintf("[...document.querySelectorAll('#events li')]"+
		".map((li) => li.innerText + '\\n').join('') === %q", list)
}

const isOpen = "document.getElementById('state').innerText === 'open'"

// TestBrowserTwoTabs: EventSource in two tabs gets every event once, over a restart
// of the whole service as well, with what was stored while nothing served.
func TestBrowserTwoTabs(t *testing.T) {
	for _, source := range []string{"EventSource", "ReconnectingEventSource"} {
		t.Run(source, func(t *testing.T) {
			l := launch{
				port: smoketest.FreePort(t), db: filepath.Join(t.TempDir(), "site.sqlite3"),
			}
			s := start(t, l)
			b := browser.Start(t)
			c := "browser"
			s.posted(t, "/store/", "channel", c, "data", "first") // so that an id can be missed
			page := fmt.Sprintf("%s/?channel=%s&source=%s", s.url, c, source)
			tabs := []*browser.Tab{b.Open(t, page), b.Open(t, page)}
			for _, tab := range tabs {
				tab.Until(t, isOpen)
			}
			s.send(t, c, "one", "<b>two</b>", "three ü")
			for _, tab := range tabs {
				tab.Until(t, shown(c, 2, "one", "<b>two</b>", "three ü"))
			}
			s.kill(t)
			for _, tab := range tabs {
				tab.Until(t, "!("+isOpen+")")
			}
			s.run(t, "-c", `
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings"
import django
django.setup()
from django_eventstream.utils import get_storage
get_storage().append_event("`+c+`", "message", "meanwhile")`)
			s = start(t, l)
			s.send(t, c, "after")
			for _, tab := range tabs {
				tab.Until(t, shown(c, 2, "one", "<b>two</b>", "three ü", "meanwhile", "after"))
			}
		})
	}
}
