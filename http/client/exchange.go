// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"time"

	"m0serve.dev/http/wire"
)

// sentInline is the longest body that is written together with its head. A
// longer one is written while the answer is awaited, since a server may refuse
// it without reading it.
const sentInline = 16 << 10

// begin sends req and reads the head of its answer. It takes a connection,
// which r has in the end, or nobody.
func (c *Client) begin(ctx context.Context, req *Request, r *receiver, head *wire.Response,
	bodyMax int64) error {
	err := c.prepare(ctx, req, r)
	if err == nil {
		err = c.converse(req, r, head)
	}
	if err != nil {
		closeStream(req.Stream)
		*head = wire.Response{Fields: head.Fields[:0]}
		return err
	}
	if bodyMax < 0 {
		bodyMax = 0
	}
	r.untilClose, err = r.body.StartResponse(head, r.method, &c.cfg.Limits, bodyMax)
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// prepare checks all of req that can be checked, and encodes its head.
func (c *Client) prepare(ctx context.Context, req *Request, r *receiver) error {
	to, err := parseURL(req.URL)
	if err == nil {
		err = req.check()
	}
	if err == nil {
		r.out, err = req.appendHead(r.out[:0], &to, &c.cfg)
	}
	if err != nil {
		return &Error{Refused, to.key.host, err}
	}
	if ctx.Err() != nil {
		return ended(ctx, to.key.host)
	}
	if len(req.Body) <= sentInline {
		r.out = append(r.out, req.Body...)
	}
	r.client, r.ctx, r.key, r.method = c, ctx, to.key, req.method()
	r.parser.Limits = &c.cfg.Limits
	r.bodyTimeout = c.cfg.BodyTimeout
	if req.BodyTimeout != 0 {
		r.bodyTimeout = req.BodyTimeout
	}
	return nil
}

// converse finds a connection for r and sends the request on it; a second time
// when the connection had been used before, ended without a byte of an answer,
// and the request may be repeated (RFC 9112 section 9.3.1).
func (c *Client) converse(req *Request, r *receiver, head *wire.Response) error {
	h, cn, err := c.pool.take(r.ctx, r.key)
	if err != nil {
		return err
	}
	for {
		if cn, err = c.connect(r.ctx, h, cn); err != nil {
			break
		}
		r.start, r.r, r.w, r.heard, r.sendErr = 0, 0, 0, false, nil
		r.conn = cn
		cn.own(r.ctx, r)
		if err = r.exchange(req, head); err == nil {
			return nil
		}
		r.conn = nil
		if !cn.used || r.heard || err.(*Error).Kind != Lost || !req.canRepeat() || r.consumed {
			break
		}
		c.pool.count(&c.pool.stats.Retries)
		cn = nil
	}
	c.pool.leave(h)
	return err
}

// connect makes sure of a connection for the place that was taken: cn when its
// peer has not closed it, another idle one, or a new one when cn is nil.
func (c *Client) connect(ctx context.Context, h *host, cn *conn) (*conn, error) {
	for cn != nil && cn.peek.isStale() {
		cn.drop()
		cn = c.pool.another(h)
	}
	if cn != nil {
		return cn, nil
	}
	return c.dial(ctx, h)
}

// exchange sends the request and reads the head of the answer. After an error
// the connection is closed, its place is still taken.
func (r *receiver) exchange(req *Request, head *wire.Response) error {
	now := time.Now()
	r.limit = r.client.cfg.HeadTimeout
	var err error
	if req.Stream != nil || len(req.Body) > sentInline {
		r.send = startSender(req, r)
	} else if err = r.conn.write(r.out, r.bodyTimeout, now); err != nil {
		// The peer may have answered before it closed.
		r.sendErr = err
		if r.ctx.Err() != nil || kindOf(err, false) == Timeout {
			return r.abandon(err)
		}
	}
	r.conn.reads.by = after(now, r.limit)
	if r.send == nil && err == nil {
		r.lookForAnswer()
	}
	if err = r.readHead(req, head); err != nil {
		return r.abandon(err)
	}
	r.conn.used = true
	r.limit = r.bodyTimeout
	return nil
}
