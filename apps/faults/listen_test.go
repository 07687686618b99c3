// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/apps/internal/ledger"
)

// Listeners are readers of event streams that come back with Last-Event-ID whenever
// they are cut, as a browser does, but without a pause.
type listeners struct {
	*ledger.Events
	url    string
	all    []*listener
	cancel context.CancelFunc
	group  sync.WaitGroup
}

type listener struct {
	account *ledger.Stream
	worker  atomic.Value // string: whose the connection is
	rejects atomic.Int64 // answers that were no stream
}

// listen opens so many streams at url, which the test ends, and waits until they are.
func listen(t *testing.T, url string, n int) *listeners {
	t.Helper()
	ls := listenTo(t, &ledger.Events{}, url, n)
	until(t, "every stream to be open", func() bool {
		for _, l := range ls.all {
			if l.worker.Load() == "" {
				return false
			}
		}
		return true
	})
	return ls
}

// listenTo opens streams that have their account in an existing ledger, and waits for
// nothing.
func listenTo(t *testing.T, events *ledger.Events, url string, n int) *listeners {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ls := &listeners{Events: events, url: url, cancel: cancel}
	t.Cleanup(ls.leave)
	for i := range n {
		l := &listener{account: events.Open(name(i))}
		l.worker.Store("")
		ls.all = append(ls.all, l)
		ls.group.Go(func() { l.read(ctx, url) })
	}
	return ls
}

func (ls *listeners) leave() {
	ls.cancel()
	ls.group.Wait()
}

// on counts the streams of each worker.
func (ls *listeners) on() map[string]int {
	held := make(map[string]int)
	for _, l := range ls.all {
		held[l.worker.Load().(string)]++
	}
	return held
}

func (l *listener) read(ctx context.Context, url string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for first := true; ctx.Err() == nil; first = false {
		req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			panic(err) // the URL is the test's own
		}
		last := l.account.Last()
		if !first {
			last = l.account.Returned()
		}
		if last > 0 {
			req.Header.Set("Last-Event-ID", strconv.FormatUint(last, 10))
		}
		resp, err := client.Do(req)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if resp.StatusCode == http.StatusOK {
			worker := resp.Header.Get("X-Worker")
			if worker == "" {
				worker = "?"
			}
			l.worker.Store(worker)
			_ = l.events(resp.Body) // it is cut one way or another
			l.worker.Store("")
		} else {
			l.rejects.Add(1)
			time.Sleep(time.Millisecond)
		}
		_ = resp.Body.Close()
	}
}

// events puts every event of a body down. Comments, and what names no event of the
// test, are passed over; a reset says up to where all is missing.
func (l *listener) events(body io.Reader) error {
	in := bufio.NewReader(body)
	var id uint64
	called := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch field {
		case "id":
			id, _ = strconv.ParseUint(value, 10, 64)
		case "event":
			called = value
		case "":
			switch {
			case called == "reset" || called == "gap":
				l.account.Told(id)
			case called == "note" && id > 0:
				l.account.Seen(id)
			}
			id, called = 0, ""
		}
	}
}

// caughtUp waits until every stream has the last event that was confirmed. It publishes
// one more now and then, so that a stream that has missed the last ones is found out
// rather than waited for.
func (ls *listeners) caughtUp(t *testing.T, w *writer) {
	t.Helper()
	const again = 250 * time.Millisecond
	next := time.Now().Add(again)
	for deadline := time.Now().Add(patience); ls.Ahead(everyStream) > 0; {
		now := time.Now()
		if now.After(deadline) {
			t.Errorf("waited %v in vain for every stream to have what was published", patience)
			return
		}
		if now.After(next) {
			w.publish()
			next = time.Now().Add(again)
		}
		time.Sleep(time.Millisecond)
	}
}

func everyStream(string) bool { return true }

// verdict ends the streams and fails the test for every event that was lost, came twice
// or out of order, and when fewer than least were published or a stream never came back
// where returns are due.
func (ls *listeners) verdict(t *testing.T, w *writer, least, returns int) ledger.Verdict {
	t.Helper()
	w.pause()
	ls.caughtUp(t, w)
	w.end()
	ls.leave()
	v := ls.Judge()
	t.Logf("events: %v", v)
	if err := v.Fault(least); err != nil {
		t.Error(err)
	}
	if v.Returns < returns {
		t.Errorf("vacuous: streams came back %d times, want at least %d", v.Returns, returns)
	}
	return v
}

// listenToBoth opens streams of which each worker has at least two.
func listenToBoth(t *testing.T, url string) *listeners {
	t.Helper()
	ls := listen(t, url, 8)
	if held := ls.on(); held["0"] < 2 || held["1"] < 2 {
		t.Fatalf("vacuous: 8 streams sit on workers %v, want two on each", held)
	}
	return ls
}

// first waits until every stream has seen an event, so that its account has begun.
func (ls *listeners) first(t *testing.T) {
	t.Helper()
	until(t, "a first event on every stream", func() bool {
		for _, l := range ls.all {
			if l.account.Last() == 0 {
				return false
			}
		}
		return true
	})
}

// name is how a stream is called in the ledger.
func name(i int) string { return strconv.Itoa(i) }
