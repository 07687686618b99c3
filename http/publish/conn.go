// SPDX-License-Identifier: MIT

package publish

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// readSize is the buffer of an idle connection.
const readSize = 4 << 10

// errGone ends a connection whose publisher left, between requests or in one.
var errGone = errors.New("publish: the publisher left")

// A conn is one publisher. Its goroutine owns it, but for what says otherwise.
type conn struct {
	net.Conn
	door      *Door
	dismissed bool         // guarded by door.mu
	idleSince atomic.Int64 // as uptime; 0: in a request
	out       []byte       // the answer, kept for the next one
}

// dismissLocked ends the conversation: what the publisher sends from now on
// fails there, what it has sent is answered.
func (c *conn) dismissLocked() {
	if c.dismissed {
		return
	}
	c.dismissed = true
	if uc, ok := c.Conn.(*net.UnixConn); ok {
		_ = uc.CloseRead() // it may be gone already
	}
}

// idle says that c has nothing to do but to send what it has.
func (c *conn) idle() { c.idleSince.Store(uptime()) }

// serve answers requests until the publisher leaves or is sent away.
func (c *conn) serve() {
	defer c.Close()
	in := bufio.NewReaderSize(c, readSize)
	c.idle()
	for {
		if _, err := in.Peek(1); err != nil {
			return // nothing was begun
		}
		c.idleSince.Store(0)
		if err := c.answer(in); err != nil {
			c.end(err)
			return
		}
	}
}

// answer reads one request, publishes it and answers it.
func (c *conn) answer(in *bufio.Reader) error {
	deadline := time.Now().Add(c.door.cfg.timeout())
	if err := c.SetDeadline(deadline); err != nil {
		return errGone
	}
	var head [headSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return cut(err)
	}
	size, err := parseHead(head[:])
	if err != nil {
		return err
	}
	outcomes, err := c.take(in, size, deadline)
	if err != nil {
		return err
	}
	c.out = appendAnswer(c.out[:0], outcomes)
	// A connection that slept through the publishing still gets its answer.
	if err := c.SetDeadline(time.Now().Add(c.door.cfg.timeout())); err != nil {
		return errGone
	}
	c.idle() // not later than its publisher knows: who comes next counts on it
	if _, err := c.Write(c.out); err != nil {
		return cut(err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return errGone
	}
	return nil
}

// take reads a payload and publishes its messages. What is large waits for a
// seat once its beginning is here: a publisher that promises much and sends
// nothing has none.
func (c *conn) take(in io.Reader, size int, deadline time.Time) ([]outcome, error) {
	payload := make([]byte, min(size, smallMax))
	if _, err := io.ReadFull(in, payload); err != nil {
		return nil, cut(err)
	}
	if size > smallMax {
		if err := c.sit(deadline); err != nil {
			return nil, err
		}
		defer func() { <-c.door.seats }()
		payload = slices.Grow(payload, size-smallMax)[:size]
		if _, err := io.ReadFull(in, payload[smallMax:]); err != nil {
			return nil, cut(err)
		}
	}
	messages, err := parsePayload(payload)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(messages))
	for i, m := range messages {
		outcomes[i] = c.door.publish(m)
	}
	return outcomes, nil
}

// sit waits for a seat among the large requests.
func (c *conn) sit(deadline time.Time) error {
	select {
	case c.door.seats <- struct{}{}:
		return nil
	case <-time.After(time.Until(deadline)):
		return os.ErrDeadlineExceeded
	}
}

// publish publishes one message of a publisher.
func (d *Door) publish(m message) outcome {
	id, err := d.Publish(m.channel, sse.Event{Name: m.event, ID: m.id, Data: m.data, Empty: true})
	return outcome{id: id, err: err}
}

// Publish publishes an event from within the process, as if it came through the
// door: it is counted there. Frames that some worker did not take are that worker's
// loss, which its streams are told of; the publisher has its id.
func (d *Door) Publish(channel string, e sse.Event) (id uint64, err error) {
	id, err = sse.PublishEvent(d.cfg.Bus, channel, e)
	var dropped *bus.RefusedError
	if errors.As(err, &dropped) {
		d.stats.dropped.Add(1)
		if len(dropped.Channels) < d.workers() {
			err = nil
		}
	}
	if err != nil {
		d.stats.refused.Add(1)
		return 0, err
	}
	d.stats.published.Add(1)
	return id, nil
}

// workers is how many workers a frame goes to.
func (d *Door) workers() int { return len(workersOf(d.cfg.Bus)) }

// cut says what the end of a read or write in a request means.
func cut(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return errGone
}

// end counts why a connection ends, and says it where somebody may listen.
func (c *conn) end(err error) {
	switch {
	case errors.Is(err, errGone):
		return
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.door.stats.stalled.Add(1)
		err = fmt.Errorf("publish: a request or its answer took more than %v", c.door.cfg.timeout())
	default:
		c.door.stats.garbage.Add(1)
	}
	c.door.complain("a connection was ended", err)
	c.refuse(err)
}

// refuse says why and ends the connection. It waits for nobody.
func (c *conn) refuse(err error) {
	_ = c.SetWriteDeadline(time.Now().Add(refuseTimeout))
	_, _ = c.Write(appendOver(nil, err))
	_ = c.Close()
}

// refuseTimeout is for a publisher that reads nothing; an answer mostly fits in
// the socket.
const refuseTimeout = 100 * time.Millisecond
