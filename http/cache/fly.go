// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"m0serve.dev/http/internal/capture"
)

// A run is one run of the handler for a flight. It belongs to the goroutine of
// the handler, but for f, which is the Cache's.
type run struct {
	c      *Cache
	f      flight
	ctx    ending // of the handler
	w      http.ResponseWriter
	r      *http.Request // as the client sent it
	inner  http.Request  // as the handler gets it
	stale  *answer       // for errors; nil: none
	before fields        // what outer handlers had set
	made   *answer       // once it has begun, what is known of it; see newAnswer
	told   bool          // those who wait
	sent   bool          // something has, or its connection is somebody else's
	out    capture.Writer
}

// fly runs the handler and sends its answer, or the stale one.
func (u *run) fly(w http.ResponseWriter, r *http.Request, next http.Handler, stale *answer) {
	u.w, u.r = w, r
	u.inner = *r.WithContext(&u.ctx)
	u.inner.Header = withoutConditions(r.Header)
	u.before = snapshot(w.Header())
	if stale != nil && stale.age(time.Now()) < stale.life.fresh+stale.life.staleIfError &&
		stale.fits(r) {
		u.stale = stale
	}
	u.out.Reset(w, u, u.c.cfg.MaxBody)
	returned := false
	defer func() {
		defer u.ctx.close()
		defer u.end(nil, failed)
		if !returned && u.stale != nil && !u.sent {
			u.coverPanic(recover())
		}
	}()
	next.ServeHTTP(&u.out, &u.inner)
	r.Pattern = u.inner.Pattern
	u.finish()
	returned = true
}

// end tells those who wait, once; see Cache.end.
func (u *run) end(a *answer, how outcome) {
	if !u.told {
		u.told = true
		u.c.end(&u.f, &u.inner, a, how)
	}
}

// withoutConditions is h for a handler that has to answer whole.
func withoutConditions(h http.Header) http.Header {
	if len(h["If-None-Match"]) == 0 && len(h["If-Modified-Since"]) == 0 {
		return h
	}
	h = maps.Clone(h)
	delete(h, "If-None-Match")
	delete(h, "If-Modified-Since")
	return h
}

// Begun implements capture.Owner.
func (u *run) Begun(status int) capture.Verdict {
	h := u.w.Header()
	a := new(answer)
	u.made, a.fields = a, a.difference(h, u.before)
	delete(h, u.c.cfg.TagField)
	if status >= 500 && u.stale != nil {
		u.sendStale()
		return capture.Drop
	}
	var ok, comparable bool
	a.life, ok = u.c.cfg.lifetimeOf(u.r, status, a.fields, time.Now())
	a.vary, comparable = varyOf(a.fields)
	if !ok || !comparable {
		how := unshared
		if status >= 500 {
			how = failed
		}
		u.end(nil, how)
		return capture.Pass
	}
	return capture.Keep
}

// Passing implements capture.Owner: the answer is too long, or a stream.
func (u *run) Passing() {
	u.sent = true
	u.c.counts.passed.Add(1)
	u.end(nil, unshared)
}

// finish keeps the answer, tells those who wait, and sends it.
func (u *run) finish() {
	status, body, ok := u.out.Kept()
	if !ok {
		// It went through, or a stale one was sent, or nothing was said: then the
		// server answers 200, or the connection is held.
		u.end(nil, unshared)
		return
	}
	a := u.newAnswer(status, body)
	u.end(a, shareable)
	u.sent = true
	a.write(u.w, u.r)
}

// sendStale sends the stale answer in the place of an error, to all who wait.
func (u *run) sendStale() {
	u.sent = true
	h := u.w.Header()
	clear(h)
	for _, f := range u.before {
		h[f.name] = f.values
	}
	u.c.counts.stale.Add(1)
	u.end(u.stale, failed)
	u.stale.send(u.w, u.r, time.Now())
}

// coverPanic sends the stale answer in the place of a panic, which is logged as
// the server would. An answer that is to be broken off is no error.
func (u *run) coverPanic(p any) {
	switch {
	case p == nil: // the goroutine ends
		return
	case p == http.ErrAbortHandler:
		panic(p)
	}
	u.c.counts.panics.Add(1)
	u.c.cfg.Log.LogAttrs(u.r.Context(), slog.LevelError, "cache: a stale answer covers a panic",
		slog.String("key", u.f.res.key), slog.String("panic", fmt.Sprint(p)))
	u.sendStale()
}

// refreshLocked renews a stale answer behind its client's back, unless too many
// are being renewed already. The handler's context has nothing of the client's:
// that may end before it, and what its values say is no matter of a shared answer.
func (c *Cache) refreshLocked(r *http.Request, next http.Handler, that asked, res *resource) {
	if c.closing.Err() != nil || int(c.renewing.Load()) >= c.cfg.Refreshes {
		return
	}
	u := c.beginLocked(that, res)
	u.ctx.asked, u.ctx.end = context.WithTimeout(c.closing, c.cfg.RefreshTimeout)
	c.listLocked(&u.f)
	inner := r.Clone(u.ctx.asked)
	inner.Method, inner.Body = http.MethodGet, http.NoBody
	c.renewing.Add(1)
	c.refreshes.Go(func() {
		defer c.renewing.Add(-1)
		c.refresh(inner, next, u)
	})
}

// refresh runs the handler with nobody at the other end.
func (c *Cache) refresh(r *http.Request, next http.Handler, u *run) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			c.counts.panics.Add(1)
			c.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "cache: a refresh panicked",
				slog.String("key", u.f.res.key), slog.String("panic", fmt.Sprint(p)))
		}
	}()
	c.counts.refreshed.Add(1)
	u.fly(&nobody{header: make(http.Header)}, r, next, nil)
}

// errNobody ends a handler that streams to nobody.
var errNobody = errors.New("cache: nobody reads this answer")

// nobody is the other end of a refresh: what is kept back arrives, and a stream
// ends at its first byte.
type nobody struct {
	header http.Header
}

func (n *nobody) Header() http.Header       { return n.header }
func (n *nobody) Write([]byte) (int, error) { return 0, errNobody }
func (n *nobody) WriteHeader(int)           {}
