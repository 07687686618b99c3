// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

// startTLS starts the service with a certificate.
func startTLS(t *testing.T, env ...string) (*smoketest.Process, *smoketest.Pair) {
	t.Helper()
	pair := smoketest.NewPair(t, t.TempDir())
	p := smoketest.Start(t, bin, append(env, pair.Env()...)...)
	if !strings.HasPrefix(p.URL, "https://") {
		t.Fatalf("listening on %s, want https", p.URL)
	}
	return p, pair
}

// fleetBy is fleet by a client of the test's choice.
func fleetBy(t *testing.T, client *http.Client, p *smoketest.Process) (s stats) {
	t.Helper()
	resp, err := client.Get(p.URL + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTLSSevenStreamsShareOneConnection: what stops the seventh tab of a browser
// over HTTP/1.1 is no limit here.
func TestTLSSevenStreamsShareOneConnection(t *testing.T) {
	skipShort(t)
	p, pair := startTLS(t)
	client := pair.Client(t, true)
	for range 7 {
		s := smoketest.OpenBy(t, client, p.URL+"/events", "")
		if first, second := nextBeat(t, s), nextBeat(t, s); second.id <= first.id {
			t.Errorf("beat %+v behind %+v, want it above", second, first)
		}
	}
	if s := fleetBy(t, client, p); s.Fleet[0].Connections != 1 {
		t.Errorf("%d connections for seven streams, want 1", s.Fleet[0].Connections)
	}
}

// TestTLSConnectionsAreShared: as without TLS, before the handshake.
func TestTLSConnectionsAreShared(t *testing.T) {
	skipShort(t)
	p, pair := startTLS(t, "M0_WORKERS=2")
	var mu sync.Mutex
	held := make(map[string]int)
	var all sync.WaitGroup
	for range burst {
		client := pair.Client(t, true) // a connection of its own, which stays open
		all.Go(func() {
			resp, err := client.Get(p.URL + "/")
			if err != nil {
				t.Errorf("connection of a burst: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			held[resp.Header.Get("X-Worker")]++
		})
	}
	all.Wait()
	if held["0"]+held["1"] != burst || max(held["0"], held["1"]) > 2*min(held["0"], held["1"]) {
		t.Errorf("a burst of %d over TLS landed as %v, want within 2:1", burst, held)
	}
	if n := handoffs(fleetBy(t, pair.Client(t, false), p)); n == 0 {
		t.Errorf("vacuous: no hand-off in a burst that landed as %v", held)
	}
}

// TestTLSHangupRenewsWorkersAndCertificate: no request is lost, streams come back
// to what they missed, and a new certificate is served.
func TestTLSHangupRenewsWorkersAndCertificate(t *testing.T) {
	skipShort(t)
	dir := t.TempDir()
	old := smoketest.NewPair(t, dir)
	p := smoketest.Start(t, bin, append(old.Env(), "M0_WORKERS=2")...)
	address := strings.TrimPrefix(p.URL, "https://")
	if !old.Serves(address) {
		t.Fatal("the first certificate is not served")
	}
	s := smoketest.OpenBy(t, old.Client(t, true), p.URL+"/events", "")
	before := nextBeat(t, s)

	renewed := smoketest.NewPair(t, dir)
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var answers atomic.Int64
	insecure := &http.Client{Timeout: soon, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // both certificates come by
	for range 3 {
		asking.Go(func() { askUntil(t, stop, insecure, p.URL, &answers) })
	}
	p.Signal(t, syscall.SIGHUP)
	until(t, "the end of the restart", func() bool {
		return strings.Contains(p.Log(), "worker: every worker is replaced")
	})
	if !s.Ended(t) {
		t.Error("a stream of a worker that was replaced ended cleanly, want it cut")
	}
	close(stop)
	asking.Wait()
	if answers.Load() == 0 {
		t.Error("vacuous: nobody asked during the restart")
	}
	if !renewed.Serves(address) || old.Serves(address) {
		t.Error("behind the restart the old certificate is served, want the new one")
	}
	again := smoketest.OpenBy(t, renewed.Client(t, true), p.URL+"/events", "")
	until(t, "a beat of the new producer", func() bool { return nextBeat(t, again).PID != before.PID })
	p.Signal(t, syscall.SIGTERM)
	if code := exit(t, p); code != 0 {
		t.Errorf("exit %d with a held stream, want 0", code)
	}
	if !again.Ended(t) {
		t.Error("a held stream ended cleanly at the end, want it cut")
	}
	nobodyLeft(t, p)
}

// askUntil asks on new connections, none of which may fail.
func askUntil(t *testing.T, stop chan struct{}, c *http.Client, url string, answers *atomic.Int64) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		resp, err := c.Get(url + "/")
		if err != nil {
			t.Errorf("a request during the restart: %v", err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "host_check\n" {
			t.Errorf("a request during the restart = %q, %v", body, err)
			return
		}
		answers.Add(1)
	}
}

// TestTLSFilesAreRefused: once for all workers, before anything is bound.
func TestTLSFilesAreRefused(t *testing.T) {
	skipShort(t)
	pair, other := smoketest.NewPair(t, t.TempDir()), smoketest.NewPair(t, t.TempDir())
	for _, workers := range []string{"1", "2"} {
		p := smoketest.Launch(t, bin, "M0_WORKERS="+workers, "M0_TLS_CERT="+pair.Cert,
			"M0_TLS_KEY="+other.Key)
		if code := exit(t, p); code != 78 {
			t.Errorf("a key of another certificate at %s workers: exit %d, want 78", workers, code)
		}
		says(t, p, `host: config: M0_TLS_KEY="`+other.Key+`": is not the key of `+pair.Cert)
		silent(t, p, "listening", "goroutine")
	}
}

// TestFlagsOfTheRealBinary: a flag wins over its variable, in every worker, and what
// only prints binds nothing.
func TestFlagsOfTheRealBinary(t *testing.T) {
	skipShort(t)
	run := func(args ...string) *smoketest.Process {
		ctx, cancel := context.WithTimeout(context.Background(), smoketest.Patience)
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "M0_PORT=0", "M0_WORKERS=1"}
		cmd.Dir = t.TempDir()
		return smoketest.Run(t, cmd)
	}
	p := run("--workers", "2", "--journal=9")
	p.Listening(t, regexp.MustCompile(`listening on (http://[^ ]+) \(workers 2\)`))
	spread(t, p)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, "--blocking-threads N  M0_BLOCKING_THREADS"},
		{[]string{"--doctor"}, 0, "It would serve http://127.0.0.1:0."},
		{[]string{"--doctor", "--host", "192.0.2.1"}, 78, "is no address of this machine"},
		{[]string{"--version"}, 0, "host_check "},
		{[]string{"--prot", "1"}, 78,
			"host: config: --prot: there is no such flag: did you mean --port?"},
	} {
		p := run(c.args...)
		if code := exit(t, p); code != c.code {
			t.Errorf("host_check %s: exit %d, want %d", c.args, code, c.code)
		}
		says(t, p, c.says)
		silent(t, p, "listening on")
	}
}

// TestBrowserSeventhTab opens seven tabs with a stream each: over HTTP/1.1 one of
// them waits for ever, over HTTP/2 all are live.
func TestBrowserSeventhTab(t *testing.T) {
	skipShort(t)
	const tabs, beats = 7, "window.beats > 20"
	const listen = "window.beats = 0, new EventSource('/events')" +
		".addEventListener('beat', () => window.beats++), true"
	plain := smoketest.Start(t, bin)
	secure, _ := startTLS(t)
	b := browser.StartTrusting(t)
	for _, p := range []*smoketest.Process{plain, secure} {
		var open []*browser.Tab
		for range tabs {
			open = append(open, b.Open(t, p.URL)) // before the streams take the connections
		}
		live := tabs
		if p == plain {
			live = 6
		}
		for _, tab := range open[:live] {
			browser.Eval[bool](t, tab, listen)
		}
		for _, tab := range open[:live] {
			tab.Until(t, beats)
		}
		for _, tab := range open[live:] { // only now: the pages' requests are in no order
			browser.Eval[bool](t, tab, listen)
		}
		for _, tab := range open[:live] {
			tab.Until(t, "window.beats > 40")
		}
		if p == plain && browser.Eval[int](t, open[6], "window.beats") != 0 {
			t.Error("the seventh tab of HTTP/1.1 is live: this test proves nothing")
		}
	}
}
