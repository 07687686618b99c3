// SPDX-License-Identifier: MIT

// Package ledger keeps account of what a service was asked and of what it published
// while faults were made, so that a test can say of each request that it was answered
// or whose death it died of, and of each event that every stream had it, once and in
// order, or was told that it is missing.
//
// [Requests] and [Events] are safe for use by any number of goroutines. They judge at
// the end and never while a fault is being made; a ledger with less in it than its
// floor says so, since a run without load proves nothing. Nothing here asks, listens or
// waits: that is the tests' part.
package ledger

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// Requests is the account of requests. Its zero value is ready.
type Requests struct {
	mu       sync.Mutex
	sent     int
	answered map[string]int // by worker
	total    int            // of answered
	refused  int
	failed   []Failure
	deaths   []Death
}

// A Failure is a request that was sent, or a connection for one, and got no whole
// answer.
type Failure struct {
	Worker string    // that the connection belongs to; "": nobody answered on it yet
	Opened time.Time // when the connection began to be made
	Joined time.Time // when it was made; zero: it never was
	At     time.Time // when the failure was noticed
	Got    string    // what came of the answer
	Err    error
}

func (f Failure) String() string {
	const form = "05.000000"
	return fmt.Sprintf("worker %q, opened %s, joined %s, failed %s: got %.40q, %v", f.Worker,
		f.Opened.Format(form), f.Joined.Format(form), f.At.Format(form), f.Got, f.Err)
}

// A Death is the end of one worker, or of a listener, whose name is "": it was alive
// before From, and gone at To.
type Death struct {
	Worker   string
	From, To time.Time
}

// explains reports whether f can be of a connection that d had when it died.
func (d Death) explains(f Failure) bool {
	return (f.Worker == "" || f.Worker == d.Worker) && !f.Opened.After(d.To) &&
		!f.At.Before(d.From)
}

// Sent counts a request that goes out.
func (r *Requests) Sent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
}

// Answered counts a whole and right answer of a worker.
func (r *Requests) Answered(worker string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered == nil {
		r.answered = make(map[string]int)
	}
	r.answered[worker]++
	r.total++
}

// Failed notes a request that was sent and not answered.
func (r *Requests) Failed(f Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, f)
}

// Refused counts a connection that was refused: nothing was sent.
func (r *Requests) Refused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
}

// Died notes a death.
func (r *Requests) Died(d Death) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaths = append(r.deaths, d)
}

// Answers is how many requests were answered so far.
func (r *Requests) Answers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// AnswersOf is how many requests a worker answered so far.
func (r *Requests) AnswersOf(worker string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered[worker]
}

// Refusals is how many connections were refused so far.
func (r *Requests) Refusals() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// Failures are the requests that failed so far.
func (r *Requests) Failures() []Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Failure(nil), r.failed...)
}

// Unexplained are the failures that no death explains. At most one of each client can
// be in flight when a worker dies, so the failures beyond clients for each death are
// not explained either; they are the last ones. While a listener goes, or a worker whose
// connections end one after the other, a client may come several times, so that a death
// explains any number of what was opened meanwhile and nobody answered.
func (r *Requests) Unexplained(clients int) (strange []Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := charges{deaths: r.deaths, most: clients, to: make([][]Failure, len(r.deaths))}
	for _, f := range r.failed {
		if !c.charge(f, make([]bool, len(r.deaths))) {
			strange = append(strange, f)
		}
	}
	return strange
}

// charges are failures put down to deaths that explain them, as many as can be at once.
type charges struct {
	deaths []Death
	most   int // of failures for each
	to     [][]Failure
}

// charge puts f down to a death that was not tried for this; where all that explain f
// are used up, another failure is put down to another death.
func (c *charges) charge(f Failure, tried []bool) bool {
	for i, d := range c.deaths {
		if tried[i] || !d.explains(f) {
			continue
		}
		if d.Worker == "" || f.Worker == "" && !f.Opened.Before(d.From) {
			return true
		}
		tried[i] = true
		if len(c.to[i]) < c.most {
			c.to[i] = append(c.to[i], f)
			return true
		}
		for j, other := range c.to[i] {
			if c.charge(other, tried) {
				c.to[i][j] = f
				return true
			}
		}
	}
	return false
}

// Floor is an error when fewer than least requests were answered, or a request is
// unaccounted for: sent, and neither answered nor failed.
func (r *Requests) Floor(least int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.sent - r.total - len(r.failed); open != 0 {
		return fmt.Errorf("ledger: %d requests were sent, and %d of them are neither answered"+
			" nor failed", r.sent, open)
	}
	if r.total < least {
		return fmt.Errorf("ledger: vacuous: %d requests were answered, want at least %d",
			r.total, least)
	}
	return nil
}

func (r *Requests) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d sent, %d answered, %d failed, %d refused, %d deaths; answers by worker %v",
		r.sent, r.total, len(r.failed), r.refused, len(r.deaths), maps.Clone(r.answered))
	return b.String()
}
