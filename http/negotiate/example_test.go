// SPDX-License-Identifier: MIT

package negotiate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"m0serve.dev/http/negotiate"
)

func ExampleTypes_Choose() {
	kinds := negotiate.NewTypes("application/json", "text/html")
	note := func(w http.ResponseWriter, r *http.Request) {
		switch kind, ok := kinds.Choose(w, r); {
		case !ok: // answered 406
		case kind == "text/html":
			fmt.Fprint(w, "<p>hello</p>")
		default:
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, `{"text":"hello"}`)
		}
	}
	for _, accept := range []string{"text/html, */*;q=0.8", "*/*", "image/png"} {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("Accept", accept)
		note(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"), w.Body.Len())
	}
	// Output:
	// 200 text/html; charset=utf-8 12
	// 200 application/json 16
	// 406 application/problem+json 144
}

func ExampleEncoding() {
	fmt.Println(negotiate.Encoding([]string{"gzip, br;q=0, zstd;q=0.5"}, "zstd", "gzip"))
	// Output: gzip true
}

func ExampleLanguage() {
	fmt.Println(negotiate.Language([]string{"de-AT, en;q=0.5"}, "en", "de"))
	// Output: de
}
