// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/internal/both"
)

// A slow origin takes a second, and notices when nobody wants its answer.
type slow struct {
	origin
	fields http.Header
	ended  int // how often its context ended before the second was over
	mu     sync.Mutex
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for name, values := range s.fields {
		w.Header()[name] = values
	}
	s.origin.ServeHTTP(w, r)
}

var forAMinute = http.Header{"Cache-Control": {"max-age=60"}}

// ask starts a request and gives its answer when it is there.
func ask(ctx context.Context, h http.Handler, fields ...string) <-chan *httptest.ResponseRecorder {
	out := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			r.Header.Add(name, value)
		}
		w := httptest.NewRecorder()
		defer func() {
			if p := recover(); p != nil {
				w.Code, w.Body = 599, nil
			}
			out <- w
		}()
		h.ServeHTTP(w, r)
	}()
	return out
}

func TestOneRunForAllWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: forAMinute}
		c := New(Config{})
		h := c.Wrap(o)
		var answers []<-chan *httptest.ResponseRecorder
		for range 50 {
			answers = append(answers, ask(t.Context(), h))
		}
		start := time.Now()
		for _, a := range answers {
			if w := <-a; w.Code != 200 || w.Body.String() != "1" {
				t.Errorf("one of 50 got %d %q; want the first answer", w.Code, w.Body)
			}
		}
		if s := c.Stats(); o.calls.Load() != 1 || s.Shared != 49 || s.Misses != 1 ||
			time.Since(start) != time.Second {
			t.Errorf("50 at once: %d runs, %+v, %v; want one run of a second, 49 shared",
				o.calls.Load(), s, time.Since(start))
		}
	})
}

// TestLeavingHarmsNobody: whoever leaves, the first one too, leaves the others
// their answer; when all have left the handler hears it, and nothing is kept.
func TestLeavingHarmsNobody(t *testing.T) {
	for name, c := range map[string]struct {
		leave []int
		runs  int64
		ended int
	}{
		"the first":  {[]int{0}, 1, 0},
		"a follower": {[]int{1}, 1, 0},
		"all":        {[]int{0, 1, 2}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &slow{fields: forAMinute}
				cache := New(Config{})
				h := cache.Wrap(o)
				var answers []<-chan *httptest.ResponseRecorder
				var cancels []context.CancelFunc
				for range 3 {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					answers, cancels = append(answers, ask(ctx, h)), append(cancels, cancel)
					synctest.Wait() // so that the first one leads
				}
				time.Sleep(time.Second / 2)
				left := map[int]bool{}
				for _, i := range c.leave {
					cancels[i]()
					left[i] = true
				}
				for i, a := range answers {
					if w := <-a; !left[i] && w.Body.String() != "1" {
						t.Errorf("request %d, which stayed, got %d %q; want the answer", i, w.Code, w.Body)
					}
				}
				if o.calls.Load() != c.runs || o.ended != c.ended {
					t.Errorf("the handler came through %d times, ended early %d times; want %d, %d",
						o.calls.Load(), o.ended, c.runs, c.ended)
				}
				if w := <-ask(t.Context(), h); w.Code != 200 || w.Body.String() != "1" {
					t.Errorf("behind that came %d %q; want an answer", w.Code, w.Body)
				}
				if runs(cache) != 0 {
					t.Errorf("%d flights are left", runs(cache))
				}
			})
		})
	}
}

// TestErrorsAreNotKept: an error or a panic reaches the first alone; the others
// run for themselves, all at once.
func TestErrorsAreNotKept(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"error":  func(w http.ResponseWriter) { w.WriteHeader(500) },
		"panic":  func(http.ResponseWriter) { panic("boom") },
		"late":   func(w http.ResponseWriter) { fmt.Fprint(w, "half"); panic("boom") },
		"abort":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"goexit": func(http.ResponseWriter) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &slow{fields: forAMinute}
				first := true
				h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if first {
						first = false
						time.Sleep(time.Second)
						w.Header().Set("Cache-Control", "max-age=60")
						fail(w)
						return
					}
					o.ServeHTTP(w, r)
				}))
				lead := ask(t.Context(), h)
				synctest.Wait()
				var others []<-chan *httptest.ResponseRecorder
				for range 5 {
					others = append(others, ask(t.Context(), h))
				}
				start := time.Now()
				if w := <-lead; w.Code < 500 && name != "goexit" || w.Body != nil && w.Body.Len() > 0 {
					t.Errorf("the first got %d %q; want its failure", w.Code, w.Body)
				}
				for _, a := range others {
					if w := <-a; w.Code != 200 {
						t.Errorf("one of the others got %d; want an answer of its own", w.Code)
					}
				}
				if took := time.Since(start); took != 2*time.Second {
					t.Errorf("all took %v; want two seconds: the failure, then all at once", took)
				}
				before := o.calls.Load()
				if w := <-ask(t.Context(), h); w.Code != 200 || o.calls.Load() != before {
					t.Errorf("afterwards %d, %d more runs; want what the others left", w.Code,
						o.calls.Load()-before)
				}
			})
		})
	}
}

// TestNobodyWaitsForWhatIsNotShared: after one answer for one client alone
// nobody waits for another, for a while.
func TestNobodyWaitsForWhatIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: http.Header{"Cache-Control": {"private"}}}
		c := New(Config{PassFor: 10 * time.Second})
		h := c.Wrap(o)
		for _, want := range []time.Duration{2 * time.Second, time.Second} {
			start := time.Now()
			one, two := ask(t.Context(), h), ask(t.Context(), h)
			if a, b := <-one, <-two; a.Body.String() == b.Body.String() {
				t.Errorf("two got one private answer %q", a.Body)
			}
			if took := time.Since(start); took != want {
				t.Errorf("two private answers took %v; want %v", took, want)
			}
		}
		o.fields = forAMinute
		<-ask(t.Context(), h)
		before := o.calls.Load()
		if <-ask(t.Context(), h); o.calls.Load() != before {
			t.Errorf("an answer that may be shared is not kept behind one that may not")
		}
	})
}

// TestVariantsAreMadeApart: who waited for a variant that is not his gets his.
func TestVariantsAreMadeApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slow{fields: http.Header{"Cache-Control": {"max-age=60"}, "Vary": {"A"}}}
		h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.ServeHTTP(w, r)
			fmt.Fprint(w, r.Header.Get("A"))
		}))
		answers := map[string][]<-chan *httptest.ResponseRecorder{}
		for _, a := range []string{"x", "y", "x", "z", "y"} {
			answers[a] = append(answers[a], ask(t.Context(), h, "A: "+a))
		}
		for a, all := range answers {
			for _, w := range all {
				if w := <-w; !strings.HasSuffix(w.Body.String(), a) {
					t.Errorf("who asked with A: %s got %q", a, w.Body)
				}
			}
		}
		if o.calls.Load() != 3 {
			t.Errorf("three variants took %d runs; want 3", o.calls.Load())
		}
	})
}

// TestInvalidationMeetsAnAnswerThatIsBeingMade: it is given to those who asked
// before, and not kept; who asks later gets a new one.
func TestInvalidationMeetsAnAnswerThatIsBeingMade(t *testing.T) {
	for name, drop := range map[string]func(c *Cache){
		"key":    func(c *Cache) { c.Invalidate("http://example.com/") },
		"prefix": func(c *Cache) { c.InvalidatePrefix("http://example.com") },
		"tag":    func(c *Cache) { c.InvalidateTag("a") },
	} {
		for _, private := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s private=%v", name, private), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := &slow{fields: forAMinute}
					c := New(Config{})
					h := c.Wrap(o)
					if private { // so that nobody waits, and the run is in no list
						o.fields = http.Header{"Cache-Control": {"private"}}
						<-ask(t.Context(), h)
						o.fields = forAMinute
					}
					start := o.calls.Load()
					early := ask(t.Context(), h)
					time.Sleep(time.Second / 2)
					drop(c)
					late := ask(t.Context(), h)
					if w := <-early; w.Body.String() != fmt.Sprint(start+1) {
						t.Errorf("who asked before got %q", w.Body)
					}
					if w := <-ask(t.Context(), h); w.Body.String() == fmt.Sprint(start+1) {
						t.Errorf("the answer that was invalidated is kept: %q", w.Body)
					}
					if w := <-late; w.Body.String() != fmt.Sprint(start+2) {
						t.Errorf("who asked behind the invalidation got %q; want a new answer", w.Body)
					}
					if w := <-ask(t.Context(), h); w.Body.String() == fmt.Sprint(start+1) {
						t.Errorf("afterwards came %q; want a new answer", w.Body)
					}
				})
			})
		}
	}
}

// TestStreamsPass: each part is read before the handler goes on, two at a time,
// and the handler hears that its client has left.
func TestStreamsPass(t *testing.T) {
	for name, fields := range map[string]http.Header{
		"flushed":      forAMinute,
		"event stream": {"Content-Type": {"text/event-stream"}, "Cache-Control": {"max-age=60"}},
	} {
		if t.Failed() {
			break
		}
		t.Run(name, func(t *testing.T) {
			left, deaf := make(chan error, 2), false
			handler := func() http.Handler {
				return New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					for name, values := range fields {
						w.Header()[name] = values
					}
					fmt.Fprintln(w, "one")
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Errorf("Flush: %v", err)
					}
					select {
					case <-r.Context().Done():
						left <- nil
					case <-time.After(12 * time.Second):
						left <- errors.New("the handler never heard that its client left")
					}
				}))
			}
			both.Serve(t, handler, func(t *testing.T, url string) {
				for range 2 {
					if deaf {
						return // once is enough to wait for
					}
					ctx, cancel := context.WithCancel(t.Context())
					req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
					if err != nil {
						t.Fatal(err)
					}
					res, err := both.Client().Do(req)
					if err != nil {
						t.Fatal(err)
					}
					line := make([]byte, 4)
					if _, err := io.ReadFull(res.Body, line); err != nil || string(line) != "one\n" {
						t.Errorf("read %q, %v; want the first part", line, err)
					}
					cancel()
					res.Body.Close()
					if err := <-left; err != nil {
						deaf = true
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestLongAnswersPass, whole, and are nobody else's.
func TestLongAnswersPass(t *testing.T) {
	c := New(Config{MaxBody: 10})
	h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		for range 5 {
			fmt.Fprint(w, "abc")
		}
	}))
	for range 2 {
		if w := get(h, "/"); w.Body.String() != strings.Repeat("abc", 5) {
			t.Errorf("long answer = %q; want all of it", w.Body)
		}
	}
	if s := c.Stats(); s.Passes != 2 || s.Hits != 0 {
		t.Errorf("Stats = %+v; want 2 passes", s)
	}
}

// TestManyAtOnce is for the race detector: every way at once.
func TestManyAtOnce(t *testing.T) {
	o := &origin{}
	c := New(Config{MaxEntries: 8, Log: slog.New(slog.DiscardHandler)})
	defer c.Close()
	h := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=0, stale-while-revalidate=60")
		w.Header().Set("Vary", "A")
		w.Header().Set("Cache-Tag", "t")
		o.ServeHTTP(w, r)
	}))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				switch path := fmt.Sprintf("/%d", n%10); {
				case n%50 == 49:
					c.InvalidateTag("t")
				case n%20 == 19:
					get(h, path, "DELETE")
				default:
					if w := get(h, path, fmt.Sprintf("A: %d", i%2)); w.Code != 200 || w.Body.Len() == 0 {
						t.Errorf("GET %s = %d %q", path, w.Code, w.Body)
					}
				}
			}
		})
	}
	wg.Wait()
	c.Close()
	if runs(c) != 0 {
		t.Errorf("%d flights are left", runs(c))
	}
}
