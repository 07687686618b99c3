// SPDX-License-Identifier: MIT

package publish

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/server"
)

func TestHTTPBodies(t *testing.T) {
	w := openDefault(t)
	item := func(size int) string {
		const form = `{"items":[{"channel":"a","http-stream":{"content":"%s"}}]}`
		return fmt.Sprintf(form, strings.Repeat("x", size-len(form)+2))
	}
	if a := w.publish(t, item(grip.MaxPublishBytes), bearer); a.status != 200 {
		t.Fatalf("%d bytes = %+v, want 200", grip.MaxPublishBytes, a)
	}
	<-w.frames
	large := item(grip.MaxPublishBytes + 1)
	if a := w.publish(t, large, bearer); a.status != 413 || !strings.Contains(a.body, "1000000") {
		t.Errorf("%d bytes = %+v, want 413 and the limit", len(large), a)
	}
	w.nothing(t, "a large body")

	c := w.dial(t) // chunked, by and by
	chunked := "POST /publish HTTP/1.1\r\nHost: a\r\n" + bearer + "Transfer-Encoding: chunked\r\n\r\n"
	c.send(t, chunked)
	for _, b := range []byte(item(200)) {
		c.send(t, "1\r\n"+string(b)+"\r\n")
	}
	c.send(t, "0\r\n\r\n")
	if a := c.answer(t); a.status != 200 {
		t.Errorf("a chunked body = %+v, want 200", a)
	}
	<-w.frames
	c.send(t, chunked)
	_, _ = io.WriteString(c, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large)) // may be cut
	if a := c.answer(t); a.status != 413 {
		t.Errorf("%d bytes in a chunk = %+v, want 413", len(large), a)
	}
	w.nothing(t, "a large chunk")

	c = w.dial(t) // cut in the middle
	whole := post(item(300<<10), bearer)
	c.send(t, whole[:len(whole)-1])
	c.Close()
	w.nothing(t, "a body that was cut")
}

// A body that does not come in time is answered, and holds up nobody.
func TestHTTPSlowBody(t *testing.T) {
	w := openWeb(t, HTTPConfig{Key: httpKey}, server.Config{BodyTimeout: 300 * time.Millisecond})
	c := w.dial(t)
	c.send(t, "POST /publish/ HTTP/1.1\r\nHost: a\r\n"+bearer+"Content-Length: 500000\r\n\r\n{")
	w.nothing(t, "the beginning of a body")
	if a := c.answer(t); a.status != 408 {
		t.Errorf("a body that does not come = %+v, want 408", a)
	}
}

func TestHTTPKeepsAlive(t *testing.T) {
	w := openDefault(t)
	c := w.dial(t)
	var all strings.Builder
	const n = 100
	for i := range n {
		all.WriteString(post(fmt.Sprintf(
			`{"items":[{"channel":"%d","http-stream":{"content":"x"}}]}`, i), bearer))
	}
	go func() { _, _ = io.WriteString(c, all.String()) }()
	for i := range n {
		if a := c.answer(t); a.status != 200 {
			t.Fatalf("answer %d = %+v, want 200", i, a)
		}
		if it := w.next(t); it.Channel != fmt.Sprint(i) {
			t.Fatalf("item %d is of channel %q", i, it.Channel)
		}
	}
	c.send(t, post(`{"items":[]}`, "")) // denied, and the connection goes on
	c.send(t, post(`{"items":[]}`, bearer))
	if a, b := c.answer(t), c.answer(t); a.status != 401 || b.status != 200 {
		t.Errorf("without and with a key = %d, %d; want 401, 200", a.status, b.status)
	}
}

// A client that waits for 100 sends no body for nothing.
func TestHTTPExpect(t *testing.T) {
	w := openDefault(t)
	for _, c := range []struct {
		fields string
		size   int
		want   string
	}{
		{"", 12, "HTTP/1.1 401"}, {bearer, 2_000_000, "HTTP/1.1 413"}, {bearer, 12, "HTTP/1.1 100"},
	} {
		conn := w.dial(t)
		conn.send(t, fmt.Sprintf("POST /publish/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"+
			"%sContent-Length: %d\r\n\r\n", c.fields, c.size))
		line, err := conn.in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, c.want) {
			t.Errorf("Expect with %d bytes = %q, %v; want %s", c.size, line, err, c.want)
		}
	}
}
