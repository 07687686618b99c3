// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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

	mu  sync.Mutex
	cut []error // asked, and not answered whole
}

func startLoad(url string, clients int) *load {
	l := &load{url: url, stop: make(chan struct{})}
	for range clients {
		l.all.Add(1)
		go l.ask()
	}
	return l
}

func (l *load) ask() {
	defer l.all.Done()
	client := &http.Client{Timeout: smoketest.Patience,
		Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		resp, err := client.Get(l.url)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			l.refused.Add(1)
			time.Sleep(time.Millisecond)
		case err != nil || string(body) != "host_check\n":
			l.mu.Lock()
			l.cut = append(l.cut, fmt.Errorf("%q, %w", body, err))
			l.mu.Unlock()
		default:
			l.answers.Add(1)
		}
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
			p.Signal(t, syscall.SIGTERM)
			if code := exit(t, p); code != 0 {
				t.Errorf("exit %d, want 0", code)
			}
			until(t, "refused connections", func() bool { return l.refused.Load() > 0 })
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, err := range l.cut {
				// A handshake that the kernel finished after the last accept is reset
				// or ended when the listener closes; no server can answer it.
				unseen := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
				if !unseen || !strings.HasPrefix(err.Error(), `""`) {
					t.Errorf("a request that was accepted got %v", err)
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
		signal(t, old, syscall.SIGKILL)
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
