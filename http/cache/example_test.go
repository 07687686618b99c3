// SPDX-License-Identifier: MIT

package cache_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"m0serve.dev/http/cache"
)

func ExampleCache() {
	runs := 0
	c := cache.New(cache.Config{})
	defer c.Close()
	h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=600")
		w.Header().Set("Cache-Tag", "notes") // for InvalidateTag
		fmt.Fprint(w, "run ", runs)
	}))
	ask := func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/notes", nil))
		fmt.Println(w.Body)
	}
	ask()
	ask()
	c.InvalidateTag("notes")
	ask()
	// Output:
	// run 1
	// run 1
	// run 2
}
