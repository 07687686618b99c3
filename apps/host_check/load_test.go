// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// a load asks for / again and again, each time on a new connection, and keeps
// account of the answers.
type load struct {
	url     string
	stop    chan struct{}
	all     sync.WaitGroup
	answers atomic.Int64
	refused atomic.Int64

	mu   sync.Mutex
	cut  []loss    // asked, and not answered whole
	last time.Time // when the last connection that was answered began
}

// a loss is a request without its answer.
type loss struct {
	connected, at time.Time
	body          []byte
	err           error
}

func (l loss) String() string {
	const form = "05.000000"
	return fmt.Sprintf("connected %s, lost %s: %q, %v",
		l.connected.Format(form), l.at.Format(form), l.body, l.err)
}

// wasUnseen reports that no server could have answered: the kernel finished the
// handshake behind the last accept, and the close of the listener reset it.
// Connections are accepted in order, so one that began later and was answered
// proves the contrary.
func (l loss) wasUnseen(lastAnswered time.Time) bool {
	const unordered = 5 * time.Millisecond // handshakes beside each other
	return len(l.body) == 0 && errors.Is(l.err, syscall.ECONNRESET) &&
		l.connected.Add(unordered).After(lastAnswered)
}

func startLoad(url string, clients int) *load {
	l := &load{url: url, stop: make(chan struct{})}
	for range clients {
		l.all.Add(1)
		go l.repeat()
	}
	return l
}

func (l *load) repeat() {
	defer l.all.Done()
	client := smoketest.Client()
	for {
		select {
		case <-l.stop:
			return
		default:
			l.ask(client)
		}
	}
}

func (l *load) ask(client *http.Client) {
	var began, connected time.Time
	trace := &httptrace.ClientTrace{
		ConnectStart: func(string, string) { began = time.Now() },
		ConnectDone:  func(string, string, error) { connected = time.Now() },
	}
	ctx := httptrace.WithClientTrace(context.Background(), trace)
	req, err := http.NewRequestWithContext(ctx, "GET", l.url, nil)
	if err != nil {
		panic(err) // the URL is the test's own
	}
	resp, err := client.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		l.refused.Add(1)
		time.Sleep(time.Millisecond)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || string(body) != "host_check\n" {
		l.cut = append(l.cut, loss{connected, time.Now(), body, err})
		return
	}
	l.answers.Add(1)
	if began.After(l.last) {
		l.last = began
	}
}

func (l *load) end() {
	close(l.stop)
	l.all.Wait()
}

func TestStopUnderLoadCutsNoAnswer(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		t.Run(workers, func(t *testing.T) {
			p := smoketest.Start(t, bin, "M0_WORKERS="+workers)
			l := startLoad(p.URL+"/", 8)
			defer l.end()
			until(t, "500 answers", func() bool { return l.answers.Load() > 500 })
			told := time.Now()
			p.Signal(t, syscall.SIGTERM)
			if code := exit(t, p); code != 0 {
				t.Errorf("exit %d, want 0", code)
			}
			until(t, "refused connections", func() bool { return l.refused.Load() > 0 })
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, c := range l.cut {
				if !c.wasUnseen(l.last) {
					t.Errorf("a request that was accepted: %v; told to stop %v before",
						c, c.at.Sub(told))
				}
			}
			if len(l.cut) > 8 {
				t.Errorf("%d connections reset by the close of the listener, want one a client at most: %v",
					len(l.cut), l.cut)
			}
		})
	}
}

func TestKilledWorkerLosesItsOwnConnectionsOnly(t *testing.T) {
	skipShort(t)
	const clients = 8
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	l := startLoad(p.URL+"/", clients)
	defer l.end()
	kills := 0
	for ; kills < 5; kills++ { // each is replaced later than the one before
		before := l.answers.Load()
		until(t, "100 answers", func() bool { return l.answers.Load() > before+100 })
		old := p.Workers(t)[1]
		smoketest.Kill(t, old, syscall.SIGKILL)
		untilServes(t, p, 1, old)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cut) > kills*clients {
		t.Errorf("%d kills cost %d requests, want at most those in flight", kills, len(l.cut))
	}
	if n := l.refused.Load(); n != 0 {
		t.Errorf("%d connections were refused while a sibling served, want 0", n)
	}
}
