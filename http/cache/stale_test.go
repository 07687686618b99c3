// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestStaleWhileRevalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: http.Header{"Cache-Control": {"max-age=10, stale-while-revalidate=20"}}}
		c := New(Config{})
		defer c.Close()
		h := c.Wrap(o)
		<-ask(t.Context(), h)
		time.Sleep(15 * time.Second)
		for range 3 { // one refresh for all of them, and nobody waits for it
			start := time.Now()
			if w := <-ask(t.Context(), h); w.Body.String() != "1" ||
				w.Header().Get("Age") != "15" || time.Since(start) != 0 {
				t.Errorf("stale answer = %q, Age %q, after %v; want the first, 15 s old, at once",
					w.Body, w.Header().Get("Age"), time.Since(start))
			}
		}
		time.Sleep(2 * time.Second)
		if w := <-ask(t.Context(), h); w.Body.String() != "2" || o.calls.Load() != 2 {
			t.Errorf("after the refresh %q, %d runs; want the second answer of two", w.Body, o.calls.Load())
		}
		time.Sleep(31 * time.Second) // beyond both
		if w := <-ask(t.Context(), h); w.Body.String() != "3" {
			t.Errorf("beyond stale-while-revalidate = %q; want a new one", w.Body)
		}
		if s := c.Stats(); s.Stale != 3 || s.Refreshes != 1 {
			t.Errorf("Stats = %+v; want 3 stale, 1 refresh", s)
		}
	})
}

// TestRefreshOutlivesItsClient, has its own bound, and ends with Close.
func TestRefreshOutlivesItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: http.Header{"Cache-Control": {"max-age=10, stale-while-revalidate=1000"}}}
		c := New(Config{RefreshTimeout: 2 * time.Second})
		h := c.Wrap(o)
		<-ask(t.Context(), h)
		time.Sleep(15 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		<-ask(ctx, h)
		cancel()
		time.Sleep(2 * time.Second)
		if o.calls.Load() != 2 || o.ended != 0 {
			t.Errorf("a refresh whose client left: %d runs, %d ended; want it to come through",
				o.calls.Load(), o.ended)
		}
		time.Sleep(15 * time.Second)
		<-ask(t.Context(), h)
		c.Close()
		if o.calls.Load() != 2 || o.ended != 1 {
			t.Errorf("Close left %d runs, %d ended; want the refresh to be ended", o.calls.Load(), o.ended)
		}
		<-ask(t.Context(), h)
		synctest.Wait()
		if c.Stats().Refreshes != 2 {
			t.Errorf("behind Close there are refreshes: %+v", c.Stats())
		}
	})
}

func TestRefreshesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: http.Header{"Cache-Control": {"max-age=10, stale-while-revalidate=1000"}}}
		c := New(Config{Refreshes: 2})
		defer c.Close()
		h := c.Wrap(o)
		for i := range 5 {
			get(h, fmt.Sprintf("/%d", i))
		}
		time.Sleep(15 * time.Second)
		for i := range 5 {
			get(h, fmt.Sprintf("/%d", i))
		}
		synctest.Wait()
		if s := c.Stats(); s.Stale != 5 || s.Refreshes != 2 {
			t.Errorf("five stale answers with a bound of 2: %+v; want 5 stale, 2 refreshes", s)
		}
	})
}

func TestStaleIfError(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.Header().Set("X-Err", "1"); w.WriteHeader(502) },
		"panic":  func(w http.ResponseWriter) { w.Header().Set("X-Err", "1"); panic("boom") },
		"late": func(w http.ResponseWriter) {
			w.Header().Set("X-Err", "1")
			w.Header().Set("Cache-Control", "max-age=10")
			fmt.Fprint(w, "half")
			panic("boom")
		},
		"both": func(w http.ResponseWriter) { w.WriteHeader(500); panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &slow{fields: http.Header{"Cache-Control": {"max-age=10, stale-if-error=20"}}}
				broken := false
				c := New(Config{Log: slog.New(slog.DiscardHandler)})
				h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if broken {
						time.Sleep(time.Second)
						fail(w)
						return
					}
					o.ServeHTTP(w, r)
				}))
				<-ask(t.Context(), h)
				broken = true
				time.Sleep(15 * time.Second)
				one, two := ask(t.Context(), h), ask(t.Context(), h)
				for _, a := range []<-chan *httptest.ResponseRecorder{one, two} {
					if w := <-a; w.Code != 200 && name != "both" || w.Body != nil && w.Body.String() != "1" ||
						w.Header().Get("X-Err") != "" {
						t.Errorf("with a handler that fails came %d %q %v; want the stale answer alone",
							w.Code, w.Body, w.Header())
					}
				}
				time.Sleep(15 * time.Second)
				if w := <-ask(t.Context(), h); w.Code < 500 {
					t.Errorf("beyond stale-if-error came %d; want the failure", w.Code)
				}
			})
		})
	}
}

// TestMustRevalidateIsNeverStale, whatever else is said.
func TestMustRevalidateIsNeverStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cc = "max-age=10, stale-if-error=20, stale-while-revalidate=20, must-revalidate"
		o := &slow{fields: http.Header{"Cache-Control": {cc}}}
		h := New(Config{StaleIfError: time.Hour, StaleWhileRevalidate: time.Hour}).Wrap(o)
		<-ask(t.Context(), h)
		time.Sleep(15 * time.Second)
		if w := <-ask(t.Context(), h); w.Body.String() != "2" {
			t.Errorf("stale answer with must-revalidate = %q; want a new one", w.Body)
		}
	})
}
