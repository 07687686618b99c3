// SPDX-License-Identifier: MIT

package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"m0serve.dev/http/metrics"
)

// Requests are counted by the pattern that served them, beside what the
// application counts itself.
func Example() {
	reg := metrics.New()
	requests := metrics.NewRequests(reg)
	sold := reg.Counters(metrics.Family{Name: "shop_sold", Help: "Things sold."}, "kind")

	mux := http.NewServeMux()
	mux.HandleFunc("POST /sell/{kind}", func(w http.ResponseWriter, _ *http.Request) {
		sold.With("book").Inc() // never a label of what a client sent
		w.WriteHeader(http.StatusNoContent)
	})
	mux.Handle("GET /metrics", metrics.Handler(reg))
	handler := requests.Wrap(mux)

	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/sell/book", nil))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "shop") || strings.HasPrefix(line, "http_requests") {
			fmt.Print(line)
		}
	}
	// Output:
	// http_requests_total{method="POST",code="2xx",route="/sell/{kind}"} 1
	// http_requests_in_flight 1
	// shop_sold_total{kind="book"} 1
}
