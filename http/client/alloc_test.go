// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"strings"
	"testing"
)

// TestReuseAllocatesNothing: with one Request, one Response and one context a
// request on a connection that is there costs no memory.
func TestReuseAllocatesNothing(t *testing.T) {
	if racing {
		t.Skip("the race detector allocates")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + strings.Repeat("x", 1024),
		"chunked": chunk + "400\r\n" + strings.Repeat("x", 1024) + "\r\n0\r\nX-Sum: 1\r\n\r\n",
		"long":    "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"empty":   "HTTP/1.1 204 No Content\r\n\r\n",
	} {
		for _, ctx := range []context.Context{context.Background(), ctx} {
			c := newClient(t, Config{UserAgent: "m0"})
			var resp Response
			req := Request{Method: "PUT", URL: serveBytes(t, answer), Body: []byte("hello"),
				Fields: []Field{{"Content-Type", "text/plain"}}}
			got := testing.AllocsPerRun(200, func() {
				if err := c.Do(ctx, &req, &resp); err != nil {
					t.Fatal(err)
				}
			})
			if got != 0 {
				t.Errorf("%s, %v: %v allocations a request, want 0", name, ctx, got)
			}
			if s := c.Stats(); s.Dials != 1 || s.Reused != 200 {
				t.Errorf("vacuous: %+v, want one connection used again 200 times", s)
			}
		}
	}
}
