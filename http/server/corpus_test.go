// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/internal/corpus"
	"m0serve.dev/http/server"
)

// corpusClient sends what the case says while a goroutine reads.
type corpusClient struct {
	conn   net.Conn
	mu     chan struct{} // 1: guards got
	got    []byte
	closed chan struct{}
}

func (c *corpusClient) read() {
	defer close(c.closed)
	buf := make([]byte, 64<<10)
	for {
		n, err := c.conn.Read(buf)
		<-c.mu
		c.got = append(c.got, buf[:n]...)
		c.mu <- struct{}{}
		if err != nil {
			return
		}
	}
}

func (c *corpusClient) bytes() []byte {
	<-c.mu
	defer func() { c.mu <- struct{}{} }()
	return bytes.Clone(c.got)
}

// step does one step. Writing may fail: a server may refuse early.
func (c *corpusClient) step(step []any) {
	kind := step[0].(string)
	switch kind {
	case "send":
		_, _ = c.conn.Write(corpus.Expand(step[1].(string)))
	case "bytes", "drip":
		gap := time.Duration(0)
		if kind == "drip" {
			gap = time.Duration(step[2].(float64)) * time.Millisecond
		}
		for _, b := range corpus.Expand(step[1].(string)) {
			if _, err := c.conn.Write([]byte{b}); err != nil {
				return
			}
			if gap > 0 {
				c.pause(gap)
			}
			runtime.Gosched()
		}
	case "sleep":
		c.pause(time.Duration(step[1].(float64)) * time.Millisecond)
	case "shutwr":
		_ = c.conn.(*net.TCPConn).CloseWrite()
	case "wait100":
		end := time.Now().Add(corpusPatience)
		for ; time.Now().Before(end); c.pause(time.Millisecond) {
			if bytes.Contains(c.bytes(), []byte("100 Continue")) {
				return
			}
		}
	}
}

func (c *corpusClient) pause(d time.Duration) {
	select {
	case <-c.closed:
	case <-time.After(d):
	}
}

// settle waits until the server has closed, or has said nothing twice for a while behind
// as many whole answers as are certain to come. It gives up when nothing comes for as long
// as limit.
func (c *corpusClient) settle(
	quiet, limit time.Duration, methods []string, certain int,
) (closed bool) {
	last, silent := -1, 0
	for end := time.Now().Add(limit); time.Now().Before(end) && silent < 2; {
		raw := c.bytes()
		switch {
		case len(raw) != last:
			last, silent, end = len(raw), 0, time.Now().Add(limit)
		case last > 0 && (silent > 0 || hasAnswers(raw, methods, certain)):
			silent++
		}
		select {
		case <-c.closed:
			return true
		case <-time.After(quiet):
		}
	}
	return false
}

// corpusPatience is for what comes for certain.
const corpusPatience = 10 * time.Second

// A corpusResult is what came back.
type corpusResult struct {
	status []int
	interm []int
	last   *http.Response
	first  *http.Response
	body   int
	bad    error
}

// hasAnswers reports whether n answers came, and nothing that is not whole.
func hasAnswers(raw []byte, methods []string, n int) bool {
	res := parseAnswers(raw, methods)
	return res.bad == nil && len(res.status) >= n
}

func parseAnswers(raw []byte, methods []string) (res corpusResult) {
	r := bufio.NewReader(bytes.NewReader(raw))
	for i := 0; ; i++ {
		if _, err := r.Peek(1); err != nil {
			return res
		}
		method := "GET"
		if i < len(methods) {
			method = methods[i]
		}
		answer, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			res.bad = err
			return res
		}
		n, err := io.Copy(io.Discard, answer.Body)
		if err != nil {
			res.bad = err
			return res
		}
		if answer.StatusCode < 200 {
			res.interm = append(res.interm, answer.StatusCode)
			i--
			continue
		}
		if res.first == nil {
			res.first, res.body = answer, int(n)
		}
		res.last = answer
		res.status = append(res.status, answer.StatusCode)
	}
}

// TestCorpusHTTP1 runs corpus/http1 over sockets against both kinds of handler.
func TestCorpusHTTP1(t *testing.T) {
	cases := corpus.HTTP1(t)
	var wg sync.WaitGroup
	places := make(chan struct{}, 24)
	run := 0
	for _, native := range []bool{true, false} {
		for _, c := range cases {
			if c.Needs != "" || testing.Short() && c.WaitMs > 1500 {
				continue
			}
			run++
			var handled atomic.Int64
			cfg := echoConfig(native, &handled)
			if c.WaitMs <= 1500 && !slices.Contains(c.Status, 408) {
				patient(&cfg)
			}
			_, addr := start(t, cfg)
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				patience := corpusPatience
				if t.Failed() {
					patience = 1500 * time.Millisecond // the server fails, and may in many cases
				}
				if err := runCorpusCase(&c, addr, &handled, patience); err != nil {
					t.Errorf("%s, native=%v: %v", c.ID, native, err)
				}
			})
		}
	}
	wg.Wait()
	if run < 500 {
		t.Errorf("ran %d cases, want at least 500", run)
	}
}

// patient lets a server wait, for a case that is not about time.
func patient(cfg *server.Config) {
	cfg.HeadTimeout, cfg.BodyTimeout, cfg.IdleTimeout = time.Minute, time.Minute, time.Minute
}

func runCorpusCase(
	c *corpus.Case, addr string, handled *atomic.Int64, patience time.Duration,
) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := &corpusClient{conn: conn, mu: make(chan struct{}, 1), closed: make(chan struct{})}
	client.mu <- struct{}{}
	go client.read()
	if c.Raw != "" {
		_, _ = conn.Write(corpus.Expand(c.Raw)) // a refusal may come before the end
	}
	for _, step := range c.Steps {
		client.step(step)
	}
	methods := c.Methods
	if methods == nil {
		method, _, _ := strings.Cut(c.Raw, " ")
		methods = []string{method}
	}
	limit, certain := patience, max(1, len(c.Seq), slices.Min(c.Handled))
	if slices.Contains(c.Status, 0) { // there may be no answer
		limit, certain = time.Duration(max(c.WaitMs, 1500))*time.Millisecond, 0
	}
	closed := client.settle(150*time.Millisecond, limit, methods, certain)
	if c.Closes != nil && *c.Closes && !closed {
		select {
		case <-client.closed:
			closed = true
		case <-time.After(4 * time.Second):
		}
	}
	raw := client.bytes()
	err = checkCorpus(c, parseAnswers(raw, methods), int(handled.Load()), closed)
	if err != nil {
		return fmt.Errorf("%w\nanswer: %.300q", err, raw)
	}
	return nil
}

// checkCorpus compares an answer with the case, strictly where it leaves a choice.
func checkCorpus(c *corpus.Case, got corpusResult, handled int, closed bool) error {
	first := 0
	if len(got.status) > 0 {
		first = got.status[0]
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(c.Status, first) {
		fail("first status = %d, want one of %v", first, c.Status)
	}
	if !slices.Contains(c.Handled, handled) {
		fail("handled = %d, want one of %v", handled, c.Handled)
	}
	if c.Prefer == "reject" && handled > 0 && slices.Contains(c.Handled, 0) {
		fail("handled = %d, want the strict choice, 0", handled)
	}
	if c.Closes != nil && *c.Closes != closed {
		fail("closed = %v, want %v", closed, *c.Closes)
	}
	if len(c.Seq) > 0 && !slices.Equal(c.Seq, got.status) {
		fail("statuses = %v, want %v", got.status, c.Seq)
	}
	if got.bad != nil && c.Expect == "accept" {
		fail("answers do not parse: %v", got.bad)
	}
	if c.BodyLen > 0 && got.body != c.BodyLen {
		fail("body of %d bytes, want %d", got.body, c.BodyLen)
	}
	for _, check := range c.Checks {
		if got.first == nil {
			continue
		}
		switch check {
		case "date":
			if got.first.Header.Get("Date") == "" {
				fail("no Date")
			}
		case "close-hdr":
			if !got.first.Close {
				fail("no Connection: close")
			}
		case "has100":
			if !slices.Equal(got.interm, []int{100}) {
				fail("interim answers = %v, want 100", got.interm)
			}
		case "no100":
			if len(got.interm) > 0 {
				fail("interim answers = %v, want none", got.interm)
			}
		}
	}
	return errors.Join(errs...)
}
