// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"io"
	"net/http"
	"testing"
	"time"

	"m0serve.dev/http/metrics"
	"m0serve.dev/http/metrics/metricstest"
	"m0serve.dev/http/sse"
)

// TestMetricsShowTheService: one line in an application shows its server, its
// streams and every worker.
func TestMetricsShowTheService(t *testing.T) {
	url, _, exit := started(t, App{Handler: func(c *Context) (http.Handler, error) {
		reg := metrics.New()
		c.Metrics(reg)
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", metrics.Handler(reg))
		mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
			if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"a"}}); err != nil {
				t.Errorf("Hold: %v", err)
			}
		})
		return mux, nil
	}})
	defer stop(t, exit)
	stream, err := http.Get(url + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	want := map[string]float64{
		"m0_streams": 1, "m0_service_processes": 1, `m0_worker_processes{worker="0"}`: 1,
	}
	for deadline := time.Now().Add(12 * time.Second); ; time.Sleep(time.Millisecond) {
		got := scrape(t, url)
		met := got["m0_requests_total"] >= 1 && got[`m0_worker_connections{worker="0"}`] >= 1 &&
			got["m0_service_connections"] >= 1
		for name, value := range want {
			met = met && got[name] == value
		}
		if met {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("with one stream held: %v; want %v, and requests and connections", got, want)
		}
	}
}

func scrape(t *testing.T, url string) map[string]float64 {
	t.Helper()
	req, err := http.NewRequest("GET", url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	doc, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := metricstest.Parse(string(doc))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	return figures
}
