// SPDX-License-Identifier: MIT

package metrics

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"m0serve.dev/http/metrics/metricstest"
)

// parse reads the registry's text, which has to be in order.
func parse(t *testing.T, r *Registry) map[string]float64 {
	t.Helper()
	doc := string(r.Append(nil, OpenMetrics))
	got, err := metricstest.Parse(doc)
	if err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	return got
}

// wants compares some samples.
func wants(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if have, found := got[name]; !found || have != v {
			t.Errorf("%s = %v, %v; want %v; there are %q", name, have, found, v, names(got))
		}
	}
}

func names(got map[string]float64) (all []string) {
	for name := range got {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// everything is a registry with each kind of family and the worst of texts.
func everything() *Registry {
	r := New()
	r.Info(Family{Name: "build", Help: "What runs."}, "version", "1\"2\\3\n4", "bad", "\xff")
	r.Counter(Family{Name: "plain", Help: "A \"help\" with \\ and\nlines."}).Add(3)
	sold := r.Counters(Family{Name: "sold", Help: "Things."}, "kind", "to")
	sold.With("a", "b").Inc()
	sold.With("", `"}`).Add(2)
	r.Gauge(Family{Name: "heat", Help: "Heat."}).Set(-4)
	r.Gauges(Family{Name: "none", Help: "Nothing has been seen."}, "kind")
	h := r.Histograms(Family{Name: "took_seconds", Unit: "seconds", Help: "Time."},
		[]float64{0.5, 1, 1e6}, "what")
	for _, v := range []float64{0.5, 0.75, 1, 3, 2e6} {
		h.With("x").Observe(v)
	}
	r.Collect(Family{Name: "odd", Kind: KindGauge, Help: "Odd numbers."}, func(w *Writer) {
		w.Sample(math.Inf(1), "n", "1")
		w.Sample(math.NaN(), "n", "2")
		w.Sample(0.1, "n", "3")
		w.Sample(-1<<60, "n", "4")
	})
	return r
}

func TestText(t *testing.T) {
	got := parse(t, everything())
	wants(t, got, map[string]float64{
		`build_info{version="1\"2\\3\n4",bad="` + "\uFFFD" + `"}`: 1,
		"plain_total":                                  3,
		`sold_total{kind="a",to="b"}`:                  1,
		`sold_total{kind="",to="\"}"}`:                 2,
		"heat":                                         -4,
		`took_seconds_bucket{what="x",le="0.5"}`:       1,
		`took_seconds_bucket{what="x",le="1.0"}`:       3,
		`took_seconds_bucket{what="x",le="1000000.0"}`: 4,
		`took_seconds_bucket{what="x",le="+Inf"}`:      5,
		`took_seconds_count{what="x"}`:                 5,
		`took_seconds_sum{what="x"}`:                   2e6 + 5.25,
		`odd{n="1"}`:                                   math.Inf(1),
		`odd{n="3"}`:                                   0.1,
		`odd{n="4"}`:                                   -1 << 60,
	})
	if v, found := got[`odd{n="2"}`]; !found || !math.IsNaN(v) {
		t.Errorf("odd of NaN = %v, %v; want NaN", v, found)
	}
}

// TestPlainText: the older format names counters and infos by their samples, knows
// no units, and escapes no quotes in a help.
func TestPlainText(t *testing.T) {
	doc := string(everything().Append(nil, Plain))
	for _, want := range []string{
		"# TYPE plain_total counter\nplain_total 3\n",
		"# HELP plain_total A \"help\" with \\\\ and\\nlines.\n",
		"# TYPE build_info gauge\nbuild_info{", `version="1\"2\\3\n4"`, "# TYPE took_seconds histogram\n",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("plain text has no %q:\n%s", want, doc)
		}
	}
	for _, wrong := range []string{"# UNIT", "# EOF", "TYPE plain counter", "info\n", "none"} {
		if strings.Contains(doc, wrong) {
			t.Errorf("plain text has %q:\n%s", wrong, doc)
		}
	}
}

func TestWrongFamiliesPanic(t *testing.T) {
	for name, c := range map[string]struct {
		make func(r *Registry)
		want string
	}{
		"no name":    {func(r *Registry) { r.Counter(Family{}) }, "no name"},
		"a dash":     {func(r *Registry) { r.Counter(Family{Name: "a-b"}) }, "no name"},
		"a digit":    {func(r *Registry) { r.Gauge(Family{Name: "1a"}) }, "no name"},
		"total":      {func(r *Registry) { r.Counter(Family{Name: "a_total"}) }, "_total is given"},
		"created":    {func(r *Registry) { r.Gauge(Family{Name: "a_created"}) }, "_created is given"},
		"info unit":  {func(r *Registry) { r.Info(Family{Name: "a_s", Unit: "s"}) }, "has no unit"},
		"unit":       {func(r *Registry) { r.Gauge(Family{Name: "a", Unit: "s"}) }, "end with the unit"},
		"label":      {func(r *Registry) { r.Counters(Family{Name: "a"}, "a:b") }, "is no label"},
		"le":         {func(r *Registry) { r.Histograms(Family{Name: "a"}, nil, "le") }, "is no label"},
		"reserved":   {func(r *Registry) { r.Gauges(Family{Name: "a"}, "__a") }, "is no label"},
		"two labels": {func(r *Registry) { r.Gauges(Family{Name: "a"}, "b", "b") }, "there twice"},
		"bounds": {func(r *Registry) {
			r.Histogram(Family{Name: "a"}, []float64{1, 1})
		}, "have to grow"},
		"values": {func(r *Registry) { r.Counters(Family{Name: "a"}, "b").With() }, "0 values"},
		"twice": {func(r *Registry) {
			r.Gauge(Family{Name: "a"})
			r.Counter(Family{Name: "a"})
		}, "one of this name"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s: panics with %q; want %q", name, got, c.want)
				}
			}()
			c.make(New())
		}()
	}
}

// TestSeriesAreBounded: what comes beyond the bound is counted together.
func TestSeriesAreBounded(t *testing.T) {
	r := New()
	v := r.Counters(Family{Name: "c", Help: "C."}, "a", "b")
	for i := range SeriesMax + 50 {
		v.With(fmt.Sprint(i), "x").Inc()
	}
	v.With("0", "x").Inc()
	got := parse(t, r)
	if len(got) != SeriesMax+1 {
		t.Errorf("%d series; want %d", len(got), SeriesMax+1)
	}
	wants(t, got, map[string]float64{
		`c_total{a="0",b="x"}`: 2, `c_total{a="other",b="other"}`: 50,
		fmt.Sprintf(`c_total{a="%d",b="x"}`, SeriesMax-1): 1,
	})
}

// TestValuesThatLookTheSame are one series, or no parser would take the text.
func TestValuesThatLookTheSame(t *testing.T) {
	r := New()
	v := r.Counters(Family{Name: "c", Help: "C."}, "a", "b")
	v.With("\xfe", "x").Inc()
	v.With("\xfd", "x").Inc()
	v.With("a", "bc").Inc()
	v.With("ab", "c").Inc()
	wants(t, parse(t, r), map[string]float64{
		"c_total{a=\"\uFFFD\",b=\"x\"}": 2, `c_total{a="a",b="bc"}`: 1, `c_total{a="ab",b="c"}`: 1,
	})
}

// TestConcurrent: nothing is lost while many count, make series and read.
func TestConcurrent(t *testing.T) {
	const goroutines, times = 8, 200
	r := New()
	v := r.Counters(Family{Name: "c", Help: "C."}, "a")
	h := r.Histogram(Family{Name: "h", Help: "H."}, []float64{1})
	var done sync.WaitGroup
	for range goroutines {
		done.Go(func() {
			for i := range times {
				v.With(fmt.Sprint(i)).Inc() // all at the same series, new each time
				h.Observe(0.5)
				if i%100 == 0 {
					r.Append(nil, OpenMetrics)
				}
			}
		})
	}
	done.Wait()
	got := parse(t, r)
	sum := 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "c_total") {
			sum += n
		}
	}
	if all := float64(goroutines * times); sum != all || got["h_count"] != all ||
		got["h_sum"] != all/2 {
		t.Errorf("counted %v, observed %v of %v; want %v of each", sum, got["h_count"],
			got["h_sum"], all)
	}
}

// TestSeriesIsMadeOnce: who has waited while somebody else made the series gets that.
func TestSeriesIsMadeOnce(t *testing.T) {
	v := newVec([]string{"a"}, func() *Counter { return &Counter{} })
	first := v.With("x")
	if second := v.add([]string{"x"}); second != first {
		t.Error("add makes a second series of the same values")
	}
}

func TestObservationsAllocateNothing(t *testing.T) {
	r := New()
	v := r.Counters(Family{Name: "c", Help: "C."}, "method", "code", "route")
	h := r.Histogram(Family{Name: "h", Help: "H."}, Seconds())
	g := r.Gauge(Family{Name: "g", Help: "G."})
	v.With("GET", "2xx", "/todos/:id")
	if n := testing.AllocsPerRun(200, func() {
		v.With("GET", "2xx", "/todos/:id").Inc()
		h.Observe(0.3)
		g.Add(1)
	}); n != 0 {
		t.Errorf("an observation allocates %v times; want 0", n)
	}
}

func TestNegotiate(t *testing.T) {
	const prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
		"application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4," +
		"text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	for accept, want := range map[string]string{
		"":                             Plain,
		"*/*":                          Plain,
		prometheus:                     OpenMetrics,
		"application/openmetrics-text": OpenMetrics,
		"Application/OpenMetrics-Text ; Version=\"1.0.0\"":     OpenMetrics,
		"application/openmetrics-text;version=0.0.1":           Plain,
		"application/openmetrics-text;version=2.0.0, */*":      Plain,
		"application/openmetrics-text;q=0":                     Plain,
		"application/openmetrics-text;q=0.5, text/plain":       Plain,
		"application/openmetrics-text, text/plain":             OpenMetrics,
		"text/html,application/xhtml+xml,*/*;q=0.8":            Plain,
		"application/openmetrics-text;q=x, text/plain;q=0.001": Plain,
	} {
		if got := Negotiate(accept); got != want {
			t.Errorf("Negotiate(%q) = %q; want %q", accept, got, want)
		}
	}
}

func TestHandler(t *testing.T) {
	h := Handler(everything())
	for accept, kind := range map[string]string{
		"application/openmetrics-text": OpenMetrics, "": Plain,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want := string(everything().Append(nil, kind))
		if got := w.Header(); w.Code != 200 || got.Get("Content-Type") != kind ||
			w.Body.String() != want || got.Get("Cache-Control") != "no-store" ||
			got.Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %d %v, %d bytes; want %s, %d bytes", accept, w.Code, got,
				w.Body.Len(), kind, len(want))
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/metrics", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST = %d %v; want 405", w.Code, w.Header())
	}
}
