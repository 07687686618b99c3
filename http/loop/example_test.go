// SPDX-License-Identifier: MIT

package loop_test

import (
	"fmt"
	"net/http/httptest"

	"m0serve.dev/http/loop"
)

// A native handler runs on the engine (package server) and, where there is none, over
// net/http.
func ExampleOverHTTP() {
	h := loop.HandlerFunc(func(x *loop.Exchange) {
		x.SetStatus(201)
		_ = x.Field("Content-Type", "text/plain") // an error: a value that would end its line
		_, _ = x.Write(x.Request().Method)
		_, _ = x.WriteString(" made ")
		_, _ = x.Write(x.Request().Path)
	})
	w := httptest.NewRecorder()
	loop.OverHTTP(h, 0).ServeHTTP(w, httptest.NewRequest("PUT", "/notes/7", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 201 PUT made /notes/7
}
