// SPDX-License-Identifier: MIT

package lint_test

import (
	"fmt"

	"m0serve.dev/datastar/lint"
)

// What the client would pass over in silence.
func ExampleCheck() {
	page := []byte("<button data-on-click=\"@post('/add')\">add</button>\n")
	for _, f := range lint.Check(page, lint.Options{}) {
		fmt.Printf("%d:%d %s: %s\n%s\n", f.Line, f.Column, f.Text, f.Happens, f.Cure)
	}
	// Output:
	// 1:9 data-on-click: the client does not know it and passes over it in silence
	// write data-on:click, with a colon
}
