// SPDX-License-Identifier: MIT

package realtime

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

const (
	// askedMax is how many questions the application has at a time.
	askedMax = 100
	// goneMax is how many clients that went away wait for being told.
	goneMax = 10_000
	// triesMax is how often one is asked that is answered with a failure.
	triesMax = 5
)

// An asker asks the application for what streams lack. Streams that lack the same
// share a question: one is asked at a time, and who comes later is in the one behind
// it, since an answer may be older than what a stream has just missed. mu guards what
// stands below it.
type asker struct {
	s   *Service
	ask func(loop.Asking) error

	mu      sync.Mutex
	waiting []*asking
	flying  map[string]*asking
	told    int // clients that went away
	gone    int // … and still wait to be told
}

// An Inside is what a request from inside the process is for (loop.Asking.For): it
// is shown to the application as one of the client on whose behalf it is made.
type Inside struct {
	Scheme string // of the client's connection: http or https
}

// A question is a request for what comes behind the last ids, or the news that a
// client went away.
type question struct {
	target, host string
	last         []byte // field lines
	peer         netip.AddrPort
	gone         bool
}

// An asking is a question with those who want to know.
type asking struct {
	a       *asker
	q       question
	key     string
	streams []*stream
	tries   int
	sleeper clock.Sleeper
}

func (a *asker) init(s *Service, ask func(loop.Asking) error) {
	a.s, a.ask, a.flying = s, ask, make(map[string]*asking)
	if ask == nil {
		a.ask = func(loop.Asking) error { return errors.New("there is nobody to ask") }
	}
}

// join asks q for st.
func (a *asker) join(q question, st *stream) {
	key := q.host + "\n" + q.target + "\n" + string(q.last)
	a.mu.Lock()
	w := a.waitingLocked(key)
	if w == nil {
		w = &asking{a: a, q: q, key: key}
		w.sleeper.Waker = w
		a.waiting = append(a.waiting, w)
	}
	w.streams = append(w.streams, st)
	a.mu.Unlock()
	a.pump()
}

// tell says that a client went away: once for each, in no hurry.
func (a *asker) tell(q question) {
	a.mu.Lock()
	if a.gone == goneMax {
		a.mu.Unlock()
		a.s.counts.untold.Add(1)
		return
	}
	a.gone++
	a.told++
	w := &asking{a: a, q: q, key: fmt.Sprint("gone ", a.told)}
	w.sleeper.Waker = w
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	a.pump()
}

func (a *asker) waitingLocked(key string) *asking {
	for _, w := range a.waiting {
		if w.key == key {
			return w
		}
	}
	return nil
}

// pump sends what may be sent.
func (a *asker) pump() {
	for w := a.next(); w != nil; w = a.next() {
		w.send()
	}
}

func (a *asker) next() *asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.flying) >= askedMax {
		return nil
	}
	for i, w := range a.waiting {
		if a.flying[w.key] == nil {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			a.flying[w.key] = w
			return w
		}
	}
	return nil
}

func (w *asking) send() {
	w.tries++
	w.a.s.counts.asked.Add(1)
	head := "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n"
	if w.q.gone {
		head = "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n%s\r\n"
	}
	raw := fmt.Appendf(nil, head, w.q.target, w.q.host, w.q.last)
	err := w.a.ask(loop.Asking{Raw: raw, Peer: w.q.peer, For: Inside{}, Done: func(x *loop.Exchange) {
		answer := Gather(x.Status(), "", x.AnswerFields())
		_ = answer.Write(x.AnswerBody()) // what is too long is the answer's problem
		go w.answered(answer)
	}})
	if err != nil {
		go w.failed(err)
	}
}

// answered gives every stream the answer.
func (w *asking) answered(answer *Answer) {
	status := answer.Status
	in, err := answer.read()
	switch {
	case status >= 500 && w.tries < triesMax:
		w.failed(fmt.Errorf("status %d", status))
		return
	case w.q.gone && status < 300:
		err = nil
	case err == nil && answer.Status != 200:
		err = fmt.Errorf("status %d, want 200", answer.Status)
	}
	w.conclude(in, answer.Body, err)
}

// failed asks again after a while, or gives up.
func (w *asking) failed(err error) {
	if w.tries < triesMax && !errors.Is(err, loop.ErrClosed) {
		w.a.s.clock.Set(&w.sleeper, time.Now().Add(backoff(w.tries-1)))
		return
	}
	w.conclude(nil, nil, err)
}

// Wake is the clock's.
func (w *asking) Wake(time.Time) { w.send() }

// conclude lets the streams go on, or cuts them.
func (w *asking) conclude(in *grip.Instruct, body []byte, err error) {
	w.a.mu.Lock()
	delete(w.a.flying, w.key)
	if w.q.gone {
		w.a.gone--
	}
	w.a.mu.Unlock()
	if w.q.gone && err != nil {
		w.a.s.counts.untold.Add(1)
		w.a.s.log.Error("m0serve: a client went away, and its link takes no news of it",
			"link", w.q.target, "asked", w.tries, "err", err)
	}
	cut := 0
	for _, st := range w.streams {
		why := err
		if why == nil {
			why = st.answered(in, body)
		}
		if why != nil {
			err = why
			cut++
			st.cut()
		}
	}
	if cut > 0 {
		w.a.s.log.Error("m0serve: streams are cut: their next link has no valid answer",
			"link", w.q.target, "streams", cut, "asked", w.tries, "err", err)
	}
	w.a.pump()
}
