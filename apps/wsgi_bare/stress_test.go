// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
)

const (
	stressAnswers = 100_000 // over all numbers of threads
	stressClients = 12
	stressBig     = 300 << 10
)

// TestStress asks pipelined batches of quick and slow views, which sleep, compute
// or keep the interpreter's lock for about as long as it takes to lose the loop,
// on clients that also hang up in the middle. Every answer must be its request's,
// whole and in order.
func TestStress(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	if pyserver.Name() != "m0serve" {
		t.Skip("SKIPPED: about m0serve alone")
	}
	for _, threads := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			p := servers.Start(t, pyserver.Config{Dir: ".", App: "stress:app", Threads: threads})
			st := &stress{addr: strings.TrimPrefix(p.URL, "http://"), most: stressAnswers / 3}
			st.run(t)
			t.Logf("%d answers right, %d of them slow, %d clients hung up",
				st.right.Load(), st.slow.Load(), st.left.Load())
			if st.slow.Load() == 0 || st.left.Load() == 0 {
				t.Error("no slow view or no client that left: this run showed nothing")
			}
			if state := p.Ended(); state != "" {
				t.Errorf("the server ended by itself: %s", state)
			}
		})
	}
}

// a stress is one run against one server.
type stress struct {
	addr              string
	most              int64
	right, slow, left atomic.Int64
	failed            atomic.Bool
}

func (s *stress) run(t *testing.T) {
	var all sync.WaitGroup
	const seed = 20261129
	for i := range stressClients {
		all.Go(func() {
			c := &stressClient{stress: s, name: i, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
			for s.right.Load() < s.most && !s.failed.Load() {
				if err := c.connection(); err != nil {
					t.Errorf("client %d of seed %d: %v", i, seed, err)
					s.failed.Store(true)
				}
			}
		})
	}
	all.Wait()
}

// a stressClient uses one connection after another.
type stressClient struct {
	*stress
	name, next int
	rng        *rand.Rand
}

// batch makes a few requests and what is to come back.
func (c *stressClient) batch() (raw []byte, want []string) {
	for range 1 + c.rng.IntN(8) {
		id := fmt.Sprintf("%d.%d", c.name, c.next)
		c.next++
		query, body, full := "n="+id, "", ""
		if p := c.rng.IntN(100); p < 6 {
			how := []string{"sleep", "spin", "hold"}[c.rng.IntN(3)]
			query += fmt.Sprintf("&how=%s&us=%d", how, 500+c.rng.IntN(5000))
			c.slow.Add(1)
		}
		if c.rng.IntN(10) == 0 {
			query += "&pieces=1"
		}
		if c.rng.IntN(4) == 0 {
			body = strings.Repeat(id+";", c.rng.IntN(200))
		}
		if full = body; c.rng.IntN(100) == 0 {
			query += "&big=1"
			full += strings.Repeat("b", stressBig)
		}
		raw = fmt.Appendf(raw, "POST /?%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s",
			query, len(body), body)
		want = append(want, id+full+id)
	}
	return raw, want
}

func (c *stressClient) connection() error {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for c.right.Load() < c.most {
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		raw, want := c.batch()
		if c.rng.IntN(50) == 0 { // hang up, before or while the answers come
			c.left.Add(1)
			_, _ = conn.Write(raw[:c.rng.IntN(len(raw)+1)])
			return conn.(*net.TCPConn).SetLinger(0)
		}
		if _, err := conn.Write(raw); err != nil {
			return err
		}
		for _, w := range want {
			if err := c.check(r, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *stressClient) check(r *bufio.Reader, want string) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("answer to %.20q: %w", want, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("answer to %.20q: %w", want, err)
	}
	if string(body) != want || !strings.HasPrefix(want, res.Header.Get("X-Id")) {
		return fmt.Errorf("wrong answer: id %s, body %.40q of %d, want %.40q of %d",
			res.Header.Get("X-Id"), body, len(body), want, len(want))
	}
	c.right.Add(1)
	return nil
}
