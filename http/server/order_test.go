// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// orderQuery reads "n=ID&us=DELAY&how=WHAT".
func orderQuery(query string) (id string, delay time.Duration, how string) {
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "n":
			id = value
		case "us":
			us, _ := strconv.Atoi(value)
			delay = time.Duration(us) * time.Microsecond
		case "how":
			how = value
		}
	}
	return id, delay, how
}

const orderBig = 300 << 10 // longer than an answer in memory

func orderNative(x *server.Exchange) {
	orderAnswer(x, func(_ string, d time.Duration) { time.Sleep(d) })
}

// orderAnswer answers what orderClient asks for; wait takes the time.
func orderAnswer(x *server.Exchange, wait func(id string, d time.Duration)) {
	id, delay, how := orderQuery(string(x.Request().RawQuery))
	_ = x.Field("X-Id", id)
	_, _ = x.WriteString(id)
	if how == "flush" {
		_ = x.Flush() // a peer that is gone is met again below
	}
	wait(id, delay)
	body, _ := x.Body()
	_, _ = x.Write(body)
	if how == "big" {
		_, _ = x.Write(make([]byte, orderBig))
	}
	_, _ = x.WriteString(id)
}

func orderStd(w http.ResponseWriter, r *http.Request) {
	id, delay, how := orderQuery(r.URL.RawQuery)
	w.Header().Set("X-Id", id)
	_, _ = io.WriteString(w, id)
	if how == "flush" {
		w.(http.Flusher).Flush()
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	_, _ = io.Copy(w, r.Body)
	if how == "big" {
		_, _ = w.Write(make([]byte, orderBig))
	}
	_, _ = io.WriteString(w, id)
}

// An orderClient sends batches of requests with unique ids and checks that the
// answers come whole and in order.
type orderClient struct {
	addr    string
	rng     *rand.Rand
	next    int
	name    int
	checked *atomic.Int64
}

// batch makes a few requests; some are slow, some are slow around the watchdog's
// threshold, some have long heads or bodies.
func (o *orderClient) batch() (raw []byte, want []string) {
	for range 1 + o.rng.IntN(8) {
		id := fmt.Sprintf("%d-%d", o.name, o.next)
		o.next++
		us, how := 0, ""
		switch p := o.rng.IntN(100); {
		case p < 5:
			us = o.rng.IntN(6000)
		case p < 10:
			us = 500 + o.rng.IntN(800)
		case p < 12:
			how = "flush"
			us = o.rng.IntN(300)
		case p < 13:
			how = "big"
		}
		method, body := "GET", ""
		if o.rng.IntN(5) == 0 {
			method, body = "POST", strings.Repeat(id+".", o.rng.IntN(50))
		}
		raw = fmt.Appendf(raw, "%s /o?n=%s&us=%d&how=%s HTTP/1.1\r\nHost: a\r\n", method, id, us, how)
		if o.rng.IntN(4) == 0 {
			raw = fmt.Appendf(raw, "X-Pad: %s\r\n", strings.Repeat("p", o.rng.IntN(3000)))
		}
		switch {
		case method == "GET":
			raw = append(raw, "\r\n"...)
		case o.rng.IntN(2) == 0:
			raw = fmt.Appendf(raw, "Content-Length: %d\r\n\r\n%s", len(body), body)
		default:
			raw = append(raw, "Transfer-Encoding: chunked\r\n\r\n"...)
			if body != "" {
				raw = fmt.Appendf(raw, "%x\r\n%s\r\n", len(body), body)
			}
			raw = append(raw, "0\r\n\r\n"...)
		}
		full := id + body
		if how == "big" {
			full += string(make([]byte, orderBig))
		}
		want = append(want, full+id)
	}
	return raw, want
}

// run uses connection after connection until stop.
func (o *orderClient) run(stop *atomic.Bool) error {
	for !stop.Load() {
		if err := o.connection(stop); err != nil {
			return err
		}
	}
	return nil
}

func (o *orderClient) connection(stop *atomic.Bool) error {
	conn, err := net.Dial("tcp", o.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := conn.(*net.TCPConn)
	r := bufio.NewReader(c)
	for !stop.Load() {
		if err := c.SetDeadline(time.Now().Add(8 * time.Second)); err != nil {
			return err
		}
		raw, want := o.batch()
		leave := o.rng.IntN(60)
		if leave == 0 { // RST, before or while the answers come
			_, _ = c.Write(raw[:o.rng.IntN(len(raw)+1)])
			return c.SetLinger(0)
		}
		for len(raw) > 0 {
			n := len(raw)
			if o.rng.IntN(3) == 0 {
				n = 1 + o.rng.IntN(n)
			}
			if _, err := c.Write(raw[:n]); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			raw = raw[n:]
		}
		if leave == 1 { // FIN: everything is answered all the same
			if err := c.CloseWrite(); err != nil {
				return err
			}
		}
		for _, w := range want {
			if err := o.check(r, w); err != nil {
				return err
			}
		}
		if leave == 1 {
			if b, err := r.ReadByte(); err != io.EOF {
				return fmt.Errorf("behind the last answer: %q, %v, want EOF", b, err)
			}
			return nil
		}
	}
	return nil
}

func (o *orderClient) check(r *bufio.Reader, want string) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("answer to %.20s: %w", want, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("answer to %.20s: %w", want, err)
	}
	id := res.Header.Get("X-Id")
	if string(body) != want || !strings.HasPrefix(want, id) {
		return fmt.Errorf("wrong answer: id %s, body %.40q of %d, want %.40q of %d",
			id, body, len(body), want, len(want))
	}
	o.checked.Add(1)
	return nil
}

// TestOrder loses the loop thousands of times and wants every answer right: the
// requests around a takeover are pipelined, split, and left by their clients.
func TestOrder(t *testing.T) {
	want := uint64(10_000)
	if testing.Short() {
		want = 300
	}
	for _, kind := range []string{"native", "std"} {
		for _, loops := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/loops=%d", kind, loops), func(t *testing.T) {
				testOrder(t, kind == "native", loops, want/4)
			})
		}
	}
}

func testOrder(t *testing.T, native bool, loops int, takeovers uint64) {
	cfg := server.Config{Loops: loops, NeverPool: true, Takeover: 100 * time.Microsecond}
	if native {
		cfg.Handler = server.HandlerFunc(orderNative)
	} else {
		cfg.HTTP = http.HandlerFunc(orderStd)
	}
	s, addr := start(t, cfg)
	end := time.Now().Add(5 * time.Minute)
	checked := runOrder(t, addr, 16, 20261129, func(int64) bool {
		taken := s.Stats().Takeovers
		if taken < takeovers && time.Now().After(end) {
			t.Errorf("%d takeovers in 5 minutes, want %d", taken, takeovers)
			return true
		}
		return taken >= takeovers
	})
	st := s.Stats()
	t.Logf("%d answers right, %d takeovers, %d given away", checked, st.Takeovers, st.Detached)
	if checked < int64(takeovers) {
		t.Errorf("%d answers checked, want more than takeovers", checked)
	}
}

// runOrder has clients ask and check until done, which is told how many answers
// were right, or until one of them fails.
func runOrder(
	t *testing.T, addr string, clients int, seed uint64, done func(checked int64) bool,
) int64 {
	var stop atomic.Bool
	var checked atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			o := orderClient{addr: addr, name: i, checked: &checked}
			o.rng = rand.New(rand.NewPCG(seed, uint64(i)))
			if err := o.run(&stop); err != nil {
				t.Errorf("client %d of seed %d: %v", i, seed, err)
				stop.Store(true)
			}
		})
	}
	for !stop.Load() && !done(checked.Load()) {
		time.Sleep(5 * time.Millisecond) // between two looks at a counter
	}
	stop.Store(true)
	wg.Wait()
	return checked.Load()
}
