// SPDX-License-Identifier: MIT

package route_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"m0serve.dev/http/route"
)

// A handler that takes the values of the path as an argument.
func ExampleRouter_HandleValues() {
	rt := route.New()
	rt.HandleValues("GET /team/:team/*page",
		func(w http.ResponseWriter, r *http.Request, v route.Values) {
			fmt.Fprintf(w, "%s: %s of %s", r.Pattern, v.Get("page"), v.Get("team"))
		})
	w := httptest.NewRecorder()
	rt.ServeHTTP(w, httptest.NewRequest("GET", "/team/red/a/b%2Fc", nil))
	fmt.Println(w.Body)
	// Output: GET /team/:team/*page: a/b/c of red
}
