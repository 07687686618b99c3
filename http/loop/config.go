// SPDX-License-Identifier: MIT

package loop

import (
	"log/slog"
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

// Config says how a Group of loops serves. The zero value of each field is its
// default; where a limit can be lifted, a negative value lifts it.
type Config struct {
	Handler Handler      // required
	Kernel  sys.Kernel   // nil: this system's
	Log     *slog.Logger // nil: slog.Default

	Loops  int         // goroutines that wait for connections; 1
	Limits wire.Limits // of a head
	// MaxBody bounds a request body; 32 MiB. An announced one is refused before
	// the handler starts and before any 100.
	MaxBody int64
	// ReadAhead is how much of a body is awaited before the handler starts. A
	// longer one is streamed to a handler off the loop; 64 KiB.
	ReadAhead int
	// ReadAheadLong is the same for announced bodies of which as many as fit into
	// ReadAheadBudget bytes (64 MiB, of each loop) are awaited at a time. A handler
	// then has all of it and runs on the loop. 0: none is.
	ReadAheadLong   int
	ReadAheadBudget int
	// MaxConns bounds open connections; further ones get 503; 65536.
	MaxConns int
	// RequestsPerConn ends a connection after so many; no limit.
	RequestsPerConn int
	// BlockingMax bounds the handlers that run off the loops; 1024. At the bound
	// further ones wait in order, at most BlockingQueue of them (4096), and what
	// comes then is answered 503. A surprise takeover is never refused, but no
	// route that was ever late runs on a loop while the bound is reached.
	BlockingMax   int
	BlockingQueue int
	// Poll is the watchdog's step: a handler loses the loop one to two steps
	// after it began; 500 µs. Negative: every handler runs off the loop.
	Poll time.Duration
	// NeverPool starts every request on a loop, however late its route was
	// before: for tests and measurements of the takeover itself.
	NeverPool bool

	HeadTimeout   time.Duration // from the first byte (or the accept) to the whole head; 10 s
	BodyTimeout   time.Duration // from the head to the whole body; 30 s
	IdleTimeout   time.Duration // between requests; 75 s
	WriteTimeout  time.Duration // from the first blocked write to the last byte taken; 30 s
	LingerTimeout time.Duration // for the peer to read what it was sent before a close; 2 s
	// MinRate lengthens BodyTimeout and WriteTimeout by the time that the bytes
	// moved so far may take at this rate; 1024 bytes per second.
	MinRate int

	// Accepted is told of every new descriptor, on a loop; false means that it
	// was given away and is closed by its new owner.
	Accepted func(fd int) (keep bool)
	// Closed is told of the end of every connection that was kept.
	Closed func()
	// Answered is called once for every answer, those without a handler included,
	// on the goroutine that made it: behind a handler it may block like one, for a
	// refusal it may not.
	Answered func(Answer)

	// Seated says that requests of this kind are served on seats alone: threads
	// with a lock of their own, such as an interpreter's, that call Group.Sit. nil:
	// there are none. It is asked on the loop, before the handler.
	Seated func(*wire.Request) bool
	// SeatedMax bounds the requests of that kind that run or wait, a Guest's too;
	// what comes then is answered 503. 0: there is no bound but BlockingQueue.
	SeatedMax int

	// KeptMax bounds what is kept of answers whose clients do not take them, over all
	// connections, in bytes: beyond it WriteWhole and Keep take no long answer more, so
	// that its handler waits. Default 64 MiB; negative: no bound.
	KeptMax int64

	// ContextValue answers Value of request contexts; nil: they have no values.
	ContextValue func(key any) any

	// Tick runs on the first loop every TickEvery. A tick that is missed is not
	// made up for, and a tick that is late loses the loop like a handler.
	Tick      func()
	TickEvery time.Duration
}

// An Answer is one request as it was answered, for access logs and counters.
// Its slices are valid during the call.
type Answer struct {
	Exchange *Exchange // nil when the request could not be parsed
	Status   int       // 0: the connection was cut without an answer
	Bytes    int64     // of the body, as the handler wrote it
	Took     time.Duration
}

// withDefaults returns c with every zero replaced and every negative limit
// lifted.
func (c Config) withDefaults() Config {
	c.Limits = c.Limits.WithDefaults()
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Loops = defaultTo(c.Loops, 1)
	c.MaxBody = defaultTo(c.MaxBody, 32<<20)
	c.ReadAhead = defaultTo(c.ReadAhead, 64<<10)
	c.ReadAheadBudget = defaultTo(c.ReadAheadBudget, 64<<20)
	c.MaxConns = defaultTo(c.MaxConns, 65536)
	c.RequestsPerConn = defaultTo(c.RequestsPerConn, -1)
	c.BlockingMax = defaultTo(c.BlockingMax, 1024)
	c.BlockingQueue = defaultTo(c.BlockingQueue, 4096)
	c.KeptMax = defaultTo(c.KeptMax, 64<<20)
	c.Poll = defaultTo(c.Poll, 500*time.Microsecond)
	c.HeadTimeout = defaultTo(c.HeadTimeout, 10*time.Second)
	c.BodyTimeout = defaultTo(c.BodyTimeout, 30*time.Second)
	c.IdleTimeout = defaultTo(c.IdleTimeout, 75*time.Second)
	c.WriteTimeout = defaultTo(c.WriteTimeout, 30*time.Second)
	c.LingerTimeout = defaultTo(c.LingerTimeout, 2*time.Second)
	c.MinRate = defaultTo(c.MinRate, 1024)
	return c
}

func defaultTo[T int | int64 | time.Duration](v, normal T) T {
	if v == 0 {
		return normal
	}
	return v
}
