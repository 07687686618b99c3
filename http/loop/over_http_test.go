// SPDX-License-Identifier: MIT

package loop

import (
	"net/http/httptest"
	"testing"
)

// What a handler leaves to be done without it is part of its answer over net/http, too.
func TestLeaveOverHTTP(t *testing.T) {
	h := HandlerFunc(func(x *Exchange) {
		_, _ = x.WriteString("begun, ")
		x.Leave(func(x *Exchange) { _, _ = x.WriteString("done") })
	})
	w := httptest.NewRecorder()
	OverHTTP(h, 0).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || w.Body.String() != "begun, done" {
		t.Errorf("answer %d %q, want 200 and all of it", w.Code, w.Body)
	}
}
