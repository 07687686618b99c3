// SPDX-License-Identifier: MIT

package metrics

import (
	"net/http"
	"strings"
	"time"

	"m0serve.dev/http/internal/record"
)

// Requests counts requests and how long their handlers took. Its labels are the
// method, the class of the status and the pattern (http.Request.Pattern) that
// served it: of what a peer sent nothing becomes a label.
type Requests struct {
	flows *Vec[flow]
	now   Gauge // in handlers
}

// A flow is the requests of one series.
type flow struct {
	count Counter
	took  *Histogram
}

// classes are the first digits of a status, by that digit; the first is a response
// that was broken off before it had one.
var classes = [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"}

// unmatched is the route of what no pattern served.
const unmatched = "unmatched"

// NewRequests makes the families http_requests, http_request_duration_seconds and
// http_requests_in_flight in r.
func NewRequests(r *Registry) *Requests {
	bounds := Seconds()
	q := &Requests{flows: newVec([]string{"method", "code", "route"}, func() *flow {
		return &flow{took: NewHistogram(bounds)}
	})}
	r.Collect(Family{Name: "http_requests", Kind: KindCounter,
		Help: "Requests by the pattern that served them; streams count when they are opened."},
		func(w *Writer) {
			q.flows.each(func(f *flow, labels []string) { Whole(w, f.count.Value(), labels...) })
		})
	r.Collect(Family{Name: "http_request_duration_seconds", Unit: "seconds", Kind: KindHistogram,
		Help: "Time in handlers; event streams and connections that were taken over are left out."},
		func(w *Writer) {
			q.flows.each(func(f *flow, labels []string) {
				if counts, sum := f.took.Snapshot(); hasAny(counts) {
					w.Histogram(bounds, counts, sum, labels...)
				}
			})
		})
	r.Collect(Family{Name: "http_requests_in_flight", Kind: KindGauge,
		Help: "Requests in handlers."}, func(w *Writer) { Whole(w, q.now.Value()) })
	return q
}

func hasAny(counts []uint64) bool {
	for _, n := range counts {
		if n > 0 {
			return true
		}
	}
	return false
}

// Wrap counts the requests of next. It has to stand around the router, with
// nothing between that gives it another http.Request: the pattern is read from the
// request when the handler has returned. A request costs two looks at the clock,
// four additions and the writer around its response.
func (q *Requests) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		q.now.Add(1)
		rec := &record.Writer{ResponseWriter: w}
		defer func() {
			v := recover()
			q.now.Add(-1)
			q.observe(r, rec, v, time.Since(start))
			if v != nil {
				panic(v) // it is for the server
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// observe counts one request. panicked is what its handler panicked with, if it did.
func (q *Requests) observe(r *http.Request, rec *record.Writer, panicked any, took time.Duration) {
	status := rec.Status
	switch {
	case panicked == http.ErrAbortHandler && status == 0:
	case panicked != nil && status == 0:
		status = http.StatusInternalServerError
	case status == 0:
		status = http.StatusOK
	}
	f := q.flows.With(methodLabel(r.Method), classOf(status), routeOf(r.Pattern))
	f.count.Inc()
	if status != http.StatusSwitchingProtocols && !isStream(rec.Header()) {
		f.took.Observe(took.Seconds())
	}
}

// methodLabel is one of a few names: a peer may send any token.
func methodLabel(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY":
		return method
	}
	return OtherLabel
}

func classOf(status int) string {
	if class := status / 100; class >= 0 && class < len(classes) {
		return classes[class]
	}
	return classes[0]
}

// routeOf is a pattern without its method, which has a label of its own.
func routeOf(pattern string) string {
	if i := strings.IndexByte(pattern, ' '); i >= 0 {
		pattern = strings.TrimLeft(pattern[i:], " \t")
	}
	if pattern == "" {
		return unmatched
	}
	return pattern
}

func isStream(h http.Header) bool {
	kinds := h["Content-Type"]
	return len(kinds) > 0 && strings.HasPrefix(kinds[0], "text/event-stream")
}
