// SPDX-License-Identifier: MIT

package metricstest_test

import (
	"fmt"
	"net/http/httptest"

	"m0serve.dev/http/metrics"
	"m0serve.dev/http/metrics/metricstest"
)

// What a test of one's own counters looks like.
func ExampleParse() {
	reg := metrics.New()
	sold := reg.Counters(metrics.Family{Name: "shop_sold", Help: "Things sold."}, "kind")
	sold.With("book").Inc()

	r, w := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
	r.Header.Set("Accept", "application/openmetrics-text")
	metrics.Handler(reg).ServeHTTP(w, r)
	samples, err := metricstest.Parse(w.Body.String())
	fmt.Println(samples[`shop_sold_total{kind="book"}`], err)
	// Output: 1 <nil>
}
