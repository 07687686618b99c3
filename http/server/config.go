// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// The native interface is the loop's.
type (
	// Handler is a native handler.
	Handler = loop.Handler
	// HandlerFunc is a function as a Handler.
	HandlerFunc = loop.HandlerFunc
	// Exchange is one request and its answer.
	Exchange = loop.Exchange
	// Answer is what Config.Answered gets.
	Answer = loop.Answer
	// Seat is a thread with a lock of its own, such as an interpreter's.
	Seat = loop.Seat
	// Asking is a request from inside the process.
	Asking = loop.Asking
	// Guest is an event loop of another kind that answers requests.
	Guest = loop.Guest
	// Stats is what a Server has done.
	Stats = loop.Stats
)

// ErrClosed is what Serve returns after Shutdown or Close.
var ErrClosed = errors.New("server: closed")

// Config says what a Server serves and within which limits. The zero value of
// each field is its default; where a limit can be lifted, a negative value
// lifts it. One of Handler and HTTP is required.
type Config struct {
	Handler Handler
	HTTP    http.Handler
	Log     *slog.Logger // slog.Default
	NetHTTP bool         // serve by net/http although there is epoll

	// TLS serves https, TLS 1.2 at least, and HTTP/2 to who asks for it, by net/http:
	// every handler runs on a goroutine of its own, so Loops and BlockingMax are
	// refused. It needs a certificate. nil: plain HTTP/1.1.
	TLS *tls.Config

	Loops           int         // 1
	BlockingMax     int         // handlers off the loops; 1024
	BlockingQueue   int         // requests that wait for one of these; 4096, then 503
	Limits          wire.Limits // of a head; see wire
	MaxBody         int64       // 32 MiB
	MaxConns        int         // 65536, then 503
	ReadAheadLong   int         // see loop.Config; none
	RequestsPerConn int         // no limit

	HeadTimeout  time.Duration // 10 s
	BodyTimeout  time.Duration // 30 s and the time the bytes may take at 1 KiB/s
	IdleTimeout  time.Duration // 75 s
	WriteTimeout time.Duration // 30 s and the time the bytes may take at 1 KiB/s
	DrainTimeout time.Duration // 5 s

	// Takeover is the watchdog's step: a handler loses its loop after one or two;
	// 500 µs. Negative: every handler runs off the loops.
	Takeover time.Duration
	// NeverPool starts every request on a loop, however late its route was
	// before: for tests and measurements of the takeover itself.
	NeverPool bool

	// Accepted is told of every new descriptor; false means that it was given to
	// another process. Closed is told of the end of every connection kept or
	// adopted. Neither may block.
	Accepted func(fd int) (keep bool)
	Closed   func()
	// Answered is called once for every answer, those without a handler included,
	// on the goroutine that made it. Behind a handler it may block like one; for a
	// refusal (Answer.Exchange is nil) it may not.
	Answered func(Answer)

	// KeptMax bounds the bytes of answers that wait in memory for clients that do not
	// take them, over all connections; see loop.Config. 0: 64 MiB.
	KeptMax int64

	// Seated says which requests of a native Handler are served on seats alone:
	// threads that call Server.Sit. They run inline on the first loop while a seat
	// leads it. Without loops (see NetHTTP) it cannot be honoured.
	Seated func(*wire.Request) bool
	// SeatedMax bounds those that run or wait at one time; then 503. 0: see
	// BlockingQueue.
	SeatedMax int

	// Tick runs on the first loop every TickEvery; a missed tick is not made up
	// for. Like a handler, it may block and then loses the loop.
	Tick      func()
	TickEvery time.Duration
}

const drainTimeout = 5 * time.Second

func (c *Config) drainTimeout() time.Duration {
	if c.DrainTimeout == 0 {
		return drainTimeout
	}
	return c.DrainTimeout
}

func (c *Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.Default()
	}
	return c.Log
}

// SetRoute tells the engine which route the handler of ctx's request belongs
// to, once a router knows it. Requests of one route share the score that decides
// whether they run on the loop. http.Request.Pattern is looked at without it.
func SetRoute(ctx context.Context, name string) { loop.SetRoute(ctx, name) }
