// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"net"

	"github.com/valyala/fasthttp"

	"m0serve.dev/tools/rivals/heap"
)

// fast is channels behind fasthttp.
type fast struct{ *channels }

// serveFast answers what main's mux answers.
func serveFast(ln net.Listener) error {
	return (&fasthttp.Server{Handler: fast{newChannels()}.answer}).Serve(ln)
}

func (f fast) answer(c *fasthttp.RequestCtx) {
	switch string(c.Path()) {
	case "/events":
		c.SetContentType("text/event-stream")
		c.Response.ImmediateHeaderFlush = true
		c.SetBodyStreamWriter(f.stream)
	case "/memory":
		c.SetBodyString(heap.InUse())
	case "/pub":
		_ = f.publish(c.PostBody()) // never an error
	}
}

// stream ends when a write fails: nothing else says that the client has gone.
func (f fast) stream(w *bufio.Writer) {
	mine, leave := f.subscribe()
	defer leave()
	for event := range mine {
		if _, err := w.Write(event); err != nil || w.Flush() != nil {
			return
		}
	}
}
