// SPDX-License-Identifier: MIT

package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"time"

	"m0serve.dev/http/wire"
)

// The limits and deadlines that hold where Config has a zero.
const (
	perHostDefault     = 64
	totalDefault       = 512
	waitingDefault     = 4096
	bodyMaxDefault     = 16 << 20
	dialTimeoutDefault = 10 * time.Second
	headTimeoutDefault = 30 * time.Second
	bodyTimeoutDefault = 30 * time.Second
	idleTimeoutDefault = time.Minute
)

// Config says how a Client behaves. The zero value of each field is its
// default; a negative duration or BodyMax means none.
type Config struct {
	PerHost int // connections to one host and port; 64
	Total   int // connections in all; 512
	Waiting int // requests that wait for a connection; 4096

	DialTimeout time.Duration // until connected, TLS included; 10 s
	HeadTimeout time.Duration // from the request sent to the head of its answer; 30 s
	BodyTimeout time.Duration // the longest pause in a body, either way; 30 s
	IdleTimeout time.Duration // that an unused connection is kept; 60 s

	NoKeepAlive bool        // a connection for every request
	Limits      wire.Limits // of heads, trailers and chunk extensions
	BodyMax     int64       // of a body that is read whole; 16 MiB
	UserAgent   string      // "": no such field

	// TLS is for https: roots, server name, certificates. nil: the system's roots
	// and the name in the URL. It is cloned.
	TLS *tls.Config
	// Dial opens a connection to host:port; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// A Client sends requests over connections that it keeps. It is safe for
// concurrent use. Make one and share it.
type Client struct {
	cfg  Config
	pool pool
}

// New makes a Client. It opens nothing. A UserAgent that could end its line
// panics.
func New(cfg Config) *Client {
	if !wire.ValidValue(cfg.UserAgent) {
		panic("client: control byte in Config.UserAgent")
	}
	cfg.PerHost = cmp.Or(max(cfg.PerHost, 0), perHostDefault)
	cfg.Total = cmp.Or(max(cfg.Total, 0), totalDefault)
	cfg.Waiting = cmp.Or(max(cfg.Waiting, 0), waitingDefault)
	orDefault(&cfg.DialTimeout, dialTimeoutDefault)
	orDefault(&cfg.HeadTimeout, headTimeoutDefault)
	orDefault(&cfg.BodyTimeout, bodyTimeoutDefault)
	orDefault(&cfg.IdleTimeout, idleTimeoutDefault)
	orDefault(&cfg.BodyMax, bodyMaxDefault)
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.TLS == nil {
		cfg.TLS = new(tls.Config)
	}
	cfg.TLS = cfg.TLS.Clone()
	cfg.TLS.NextProtos = []string{"http/1.1"}
	if cfg.TLS.ClientSessionCache == nil {
		cfg.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(cfg.PerHost)
	}
	c := &Client{cfg: cfg}
	c.pool.init(&c.cfg)
	return c
}

func orDefault[T int64 | time.Duration](n *T, normal T) {
	if *n == 0 {
		*n = normal
	}
}

// Get asks for a URL and reads the whole answer.
func (c *Client) Get(ctx context.Context, url string) (*Response, error) {
	resp := new(Response)
	return resp, c.Do(ctx, &Request{URL: url}, resp)
}

// Post sends a body and reads the whole answer.
func (c *Client) Post(ctx context.Context, url, contentType string, body []byte) (
	*Response, error) {
	resp := new(Response)
	return resp, c.Do(ctx, &Request{Method: "POST", URL: url, Body: body,
		Fields: []Field{{"Content-Type", contentType}}}, resp)
}

// Do sends a request and reads the whole answer into resp, whose memory is used
// again: with one Response for many requests nothing is allocated. An answer of
// any status is no error. After an error resp has what came, if a head did;
// every error is an *Error.
func (c *Client) Do(ctx context.Context, req *Request, resp *Response) error {
	resp.reset()
	if err := c.begin(ctx, req, &resp.receiver, &resp.Response, c.cfg.BodyMax); err != nil {
		return err
	}
	return resp.readAll()
}

// Open sends a request and returns when the head of the answer is there. The
// body is read from the Stream, which has to be closed or read to its end. ctx
// counts until then.
func (c *Client) Open(ctx context.Context, req *Request) (*Stream, error) {
	s := new(Stream)
	s.buf = make([]byte, streamBytes)
	if err := c.begin(ctx, req, &s.receiver, &s.Response, 0); err != nil {
		return nil, err
	}
	if s.taken = s.conn; s.body.Done() {
		s.finish(&s.Response)
	}
	return s, nil
}

// Close closes the connections that are not in use, and each other one behind
// its answer. Requests from now on are refused.
func (c *Client) Close() { c.pool.close() }

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.pool.closeIdle() }

// Stats are counts of one moment, and since the Client was made.
type Stats struct {
	Open    int // connections, in use or not
	Idle    int // of them not in use
	Waiting int // requests that wait for a connection

	Dials   uint64 // connections opened, or tried
	Reused  uint64 // requests on a connection that had carried one before
	Stale   uint64 // unused connections found closed, or with bytes nobody asked for
	Retries uint64 // requests sent a second time
	Waited  uint64 // requests that had to wait for a connection
	Busy    uint64 // requests refused because too many waited
	Stray   uint64 // connections given up for bytes behind an answer
	Limited uint64 // answers above a limit
}

// Stats returns the counts.
func (c *Client) Stats() Stats { return c.pool.counts() }
