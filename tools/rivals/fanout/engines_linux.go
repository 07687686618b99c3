// SPDX-License-Identifier: MIT

package main

import (
	"net/http"
	"sync"

	"github.com/dunglas/mercure"
	r3labs "github.com/r3labs/sse/v2"
	gosse "github.com/tmaxmax/go-sse"
	"go.uber.org/zap"
)

// stream is the one stream, or topic, of the libraries.
const stream = "bench"

// queueLen is what a subscriber of channels may be behind; then it loses events.
const queueLen = 256

// channels is net/http with a channel and a goroutine for each subscriber.
type channels struct {
	mu          sync.Mutex
	subscribers map[chan []byte]bool
}

func newChannels() *channels { return &channels{subscribers: map[chan []byte]bool{}} }

// subscribe returns the events to come, until leave is called.
func (c *channels) subscribe() (mine chan []byte, leave func()) {
	mine = make(chan []byte, queueLen)
	c.mu.Lock()
	c.subscribers[mine] = true
	c.mu.Unlock()
	return mine, func() {
		c.mu.Lock()
		delete(c.subscribers, mine)
		c.mu.Unlock()
	}
}

func (c *channels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mine, leave := c.subscribe()
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	for {
		select {
		case event := <-mine:
			if _, err := w.Write(event); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (c *channels) publish(data []byte) error {
	event := eventOf(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.subscribers {
		select {
		case s <- event:
		default:
		}
	}
	return nil
}

// eventOf is the event with these data, which are one line.
func eventOf(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}

// r3labsServer is github.com/r3labs/sse without its log, which has no bound.
type r3labsServer struct{ *r3labs.Server }

func newR3labs() r3labsServer {
	s := r3labs.New()
	s.AutoReplay = false
	s.CreateStream(stream)
	return r3labsServer{s}
}

func (s r3labsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawQuery = "stream=" + stream
	s.Server.ServeHTTP(w, r)
}

func (s r3labsServer) publish(data []byte) error {
	s.Publish(stream, &r3labs.Event{Data: data})
	return nil
}

// goSSEServer is github.com/tmaxmax/go-sse as it comes.
type goSSEServer struct{ *gosse.Server }

func newGoSSE() goSSEServer { return goSSEServer{&gosse.Server{}} }

// ServeHTTP sends the head at once, for which the library waits for an event.
func (s goSSEServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if http.NewResponseController(w).Flush() == nil {
		s.Server.ServeHTTP(w, r)
	}
}

func (s goSSEServer) publish(data []byte) error {
	m := &gosse.Message{}
	m.AppendData(string(data))
	return s.Publish(m)
}

// mercureServer is the hub of Mercure in memory, without its log.
type mercureServer struct {
	*mercure.Hub
	transport mercure.Transport
}

func newMercure() (mercureServer, error) {
	s := mercureServer{transport: mercure.NewLocalTransport()}
	var err error
	s.Hub, err = mercure.NewHub(mercure.WithAnonymous(), mercure.WithTransport(s.transport),
		mercure.WithLogger(zap.NewNop()))
	return s, err
}

func (s mercureServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawQuery = "topic=" + stream
	s.SubscribeHandler(w, r)
}

// publish is what the hub's own handler does with a publish.
func (s mercureServer) publish(data []byte) error {
	return s.transport.Dispatch(&mercure.Update{Topics: []string{stream},
		Event: mercure.Event{Data: string(data)}})
}
