// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
)

// fast is fasthttp with a channel and a goroutine for each subscriber, as channels is
// net/http.
type fast struct {
	mu          sync.Mutex
	subscribers map[chan []byte]bool
}

// serveFast answers what main's mux answers.
func serveFast(ln net.Listener) error {
	f := &fast{subscribers: map[chan []byte]bool{}}
	return (&fasthttp.Server{Handler: f.answer}).Serve(ln)
}

func (f *fast) answer(c *fasthttp.RequestCtx) {
	switch string(c.Path()) {
	case "/events":
		c.SetContentType("text/event-stream")
		c.Response.ImmediateHeaderFlush = true
		c.SetBodyStreamWriter(f.stream)
	case "/memory":
		c.SetBodyString(memory())
	case "/pub":
		event := eventOf(c.PostBody())
		f.mu.Lock()
		defer f.mu.Unlock()
		for s := range f.subscribers {
			select {
			case s <- event:
			default:
			}
		}
	}
}

// stream ends when a write fails: nothing else says that the client has gone.
func (f *fast) stream(w *bufio.Writer) {
	mine := make(chan []byte, queueLen)
	f.mu.Lock()
	f.subscribers[mine] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.subscribers, mine)
		f.mu.Unlock()
	}()
	for event := range mine {
		if _, err := w.Write(event); err != nil || w.Flush() != nil {
			return
		}
	}
}
