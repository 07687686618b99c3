// SPDX-License-Identifier: MIT

package compress_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/compress"
	"m0serve.dev/http/metrics"
	"m0serve.dev/http/route"
	"m0serve.dev/http/sse"
)

// An answer is coded when its client takes a coding.
func ExampleCompressor_Wrap() {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Repeat("<p>hello</p>\n", 1000))
	})
	handler := compress.New(compress.Config{}).Wrap(page)
	for _, accept := range []string{"gzip, zstd", "gzip", ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%q %v\n", w.Header().Get("Content-Encoding"), w.Body.Len() < 1000)
	}
	// Output:
	// "zstd" true
	// "gzip" true
	// "" false
}

// Each event is compressed once for all streams that take the coding.
func ExampleZstdFrames() {
	hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	hub.Start()
	codings := []sse.Coding{compress.ZstdFrames(), compress.GzipFrames()}
	http.HandleFunc("GET /news", func(w http.ResponseWriter, r *http.Request) {
		o := sse.HoldOptions{Channels: []string{"news"}, Codings: codings}
		if err := hub.Hold(w, r, o); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}

// The middleware of this module stands around a router.
func Example() {
	reg := metrics.New()
	requests := metrics.NewRequests(reg)
	rt := route.New()
	rt.HandleFunc("GET /hello/:name", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.PathValue("name"))
	})
	rt.Handle("GET /metrics", metrics.Handler(reg)) // better on an address of its own
	handler := requests.Wrap(compress.New(compress.Config{}).Wrap(rt))

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/hello/you", nil))
	fmt.Println(w.Body)
	// Output: hello you
}
