// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// TestContextOfTheHandler has the values of the request, and ends when nobody waits, not
// when the client leaves; also for those who ask late, and for contexts made of it.
func TestContextOfTheHandler(t *testing.T) {
	type word struct{}
	for name, c := range map[string]struct {
		ask, join bool // before the client leaves
		never     bool // asked while the handler runs
	}{
		"asked early": {ask: true}, "asked late": {}, "asked when it is over": {never: true},
		"asked early, another waits": {ask: true, join: true}, "asked late, another waits": {join: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, left, kept := make(chan struct{}), make(chan struct{}), context.Context(nil)
				h := New(Config{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					kept = r.Context()
					child := context.Context(nil)
					if c.ask {
						var end context.CancelFunc
						child, end = context.WithCancel(kept)
						defer end()
					}
					close(begun)
					<-left
					if _, has := kept.Deadline(); has || kept.Value(word{}) != "said" {
						t.Errorf("value %v, deadline %v; want that value, and none", kept.Value(word{}), has)
					}
					w.Header()["Cache-Control"] = []string{"max-age=60"}
					w.WriteHeader(http.StatusOK)
					if c.never {
						return
					}
					cause, err := context.Cause(kept), kept.Err()
					switch {
					case c.join && (cause != nil || err != nil):
						t.Errorf("another waits, and the context ended: %v, cause %v", err, cause)
					case !c.join && (cause == nil || err == nil):
						t.Errorf("the client has left: %v, cause %v; want the end", err, cause)
					case child != nil && child.Err() != err:
						t.Errorf("a context made of it: %v; want %v", child.Err(), err)
					}
				}))
				ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), word{}, "said"))
				first := ask(ctx, h)
				<-begun
				if c.join {
					defer func(other <-chan *httptest.ResponseRecorder) { <-other }(ask(t.Context(), h))
					synctest.Wait()
				}
				cancel(errors.New("gone"))
				synctest.Wait()
				close(left)
				<-first
				if kept.Err() == nil {
					t.Errorf("the handler has returned, and its context has no end")
				}
			})
		})
	}
}
