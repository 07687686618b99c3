// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"strings"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/worker"
)

// TestInheritedPageOfAnotherKindIsRefused hands down sealed memory, which passes
// for a page until its magic is read.
func TestInheritedPageOfAnotherKindIsRefused(t *testing.T) {
	_, fd, err := bus.NewWords(64)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{options: options{app: &App{}}, inherited: &worker.Inherited{Page: fd}}
	var out bytes.Buffer
	code := explain(&out, s.openPage())
	if code != 78 || !strings.Contains(out.String(), worker.EnvPage) {
		t.Errorf("exit %d, printed %q; want 78 and %s", code, &out, worker.EnvPage)
	}
}
