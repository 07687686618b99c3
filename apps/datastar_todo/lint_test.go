// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"testing"

	"m0serve.dev/datastar/lint"
)

// TestPageIsHeard: the client knows every attribute of the page, and every part that is sent finds
// its place in it.
func TestPageIsHeard(t *testing.T) {
	full := newList([]todo{{ID: 1, Text: `a "b" & <c>`}, {ID: 2, Text: "@post('$x", Done: true}})
	for _, l := range []list{newList(nil), full} {
		var page, part bytes.Buffer
		if err := renderPage(&page, pageView{List: l, Since: 1}); err != nil {
			t.Fatal(err)
		}
		lint.HTML(t, page.Bytes())
		if err := renderList(&part, l); err != nil {
			t.Fatal(err)
		}
		for _, f := range lint.Patch(part.Bytes(), page.Bytes(), lint.Options{}) {
			t.Errorf("the list: %s", f)
		}
	}
}
