// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// A cutter is a network that fails: a proxy that cuts its n-th connection behind the
// n-th byte of what the server says, by turns with a reset at both sides, and in order
// at the client's.
type cutter struct {
	net.Listener
	to    string
	most  atomic.Int64 // bytes; then it begins again
	count atomic.Int64
	group sync.WaitGroup
}

func newCutter(t *testing.T, p *smoketest.Process, most int) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: ln, to: strings.TrimPrefix(p.URL, "http://")}
	c.most.Store(int64(most))
	c.group.Go(c.serve)
	t.Cleanup(c.end)
	return c
}

func (c *cutter) end() {
	_ = c.Close()
	c.group.Wait()
}

func (c *cutter) url() string { return "http://" + c.Addr().String() }

func (c *cutter) serve() {
	for {
		client, err := c.Accept()
		if err != nil {
			return
		}
		n := c.count.Add(1)
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.group.Go(func() {
			_, _ = io.Copy(server, client) // until either is closed
			reset(server)
		})
		c.group.Go(func() {
			_, _ = io.CopyN(client, server, 1+(n-1)/2%c.most.Load())
			reset(server)
			if n%2 == 0 {
				reset(client)
				return
			}
			_ = client.Close()
		})
	}
}

// reset ends a connection with a reset.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// TestCutsOfTheNetwork is F15: connections that end behind every byte of an answer, of a
// stream and of a request, requests that come byte by byte, and clients that stop
// sending. Streams come back and miss nothing, and nothing is left of any of them.
func TestCutsOfTheNetwork(t *testing.T) {
	p := startHost(t)
	pids := p.Workers(t)
	warm := listen(t, p.URL+"/events", 1)
	warm.leave()
	base := settled(t, p, pids)
	for range times(1, 20) {
		streamsAreCut(t, p)
		answersAreCut(t, p)
		requestsAreCut(t, p)
	}
	until(t, "descriptors and connections to be as many as before", func() bool {
		f, ok := ask(p)
		if !ok || f.Fleet[0].Connections+f.Fleet[1].Connections > 1 { // it counts who asks
			return false
		}
		for index, pid := range pids {
			if descriptors(t, pid) > base[index] {
				return false
			}
		}
		return true
	})
	if strings.Contains(p.Log(), "panic") || strings.Contains(p.Log(), "worker: ended") {
		t.Error("a worker ended or panicked")
	}
}

// settled is how many descriptors each worker has while nobody is connected.
func settled(t *testing.T, p *smoketest.Process, pids map[int]int) map[int]int {
	t.Helper()
	until(t, "no connection", func() bool {
		f, ok := ask(p)
		return ok && f.Fleet[0].Connections+f.Fleet[1].Connections <= 1
	})
	base := make(map[int]int)
	for index, pid := range pids {
		base[index] = descriptors(t, pid) + 1 // whoever asked may be there
	}
	return base
}

// streamBytes are those of a head and a few events.
const streamBytes = 600

// streamsAreCut reads streams through a network that cuts each behind another byte.
func streamsAreCut(t *testing.T, p *smoketest.Process) {
	t.Helper()
	c := newCutter(t, p, streamBytes)
	ls := listen(t, p.URL+"/events", 2) // these are not cut, and so they say what there was
	cut := listenTo(t, ls.Events, c.url()+"/events", 24)
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	until(t, "a cut behind every byte, both ways", func() bool {
		return c.count.Load() >= 2*streamBytes
	})
	// A stream that is cut behind a byte of the head gets no event of its own.
	w.pause()
	c.most.Store(1 << 30)
	ls.caughtUp(t, w)
	w.end()
	ls.leave()
	cut.leave()
	c.end()
	v := ls.Judge()
	t.Logf("events: %v", v)
	if err := v.Fault(100); err != nil {
		t.Error(err)
	}
	if v.Told > 0 || v.Returns < 2*streamBytes-10 {
		t.Errorf("%d events in journals were missed, and told of, over %d returns; want 0 over %d",
			v.Told, v.Returns, 2*streamBytes)
	}
}

// answersAreCut resets a connection behind every byte of an answer, with another request
// on its way.
func answersAreCut(t *testing.T, p *smoketest.Process) {
	t.Helper()
	const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	conn := dial(t, p)
	_, _ = conn.Write([]byte(strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), "host_check\n") {
		t.Fatalf("%q, %v", answer, err)
	}
	for n := range len(answer) {
		conn := dial(t, p)
		_, _ = conn.Write([]byte(request + request))
		if _, err := io.CopyN(io.Discard, conn, int64(n)); err != nil {
			t.Errorf("the first %d bytes of an answer: %v", n, err)
		}
		reset(conn)
	}
}

// requestsAreCut ends connections behind every byte of a request: with a reset, in order,
// and in order behind the last one, which is answered; the bytes come one by one.
func requestsAreCut(t *testing.T, p *smoketest.Process) {
	t.Helper()
	const request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
	for n := 1; n <= len(request); n++ {
		for _, end := range []func(net.Conn){reset, closeWrite} {
			conn := dial(t, p)
			for i := range n {
				if _, err := conn.Write([]byte{request[i]}); err != nil {
					t.Fatalf("byte %d of a request: %v", i, err)
				}
			}
			end(conn)
			_ = conn.Close()
		}
	}
	conn := dial(t, p)
	_, _ = conn.Write([]byte(request))
	closeWrite(conn)
	if workerOf(conn, patience) == "" {
		t.Error("a whole request of a client that stopped sending has no answer")
	}
	_ = conn.Close()
}

func closeWrite(conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() }
