// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// The frames that a frames client sends or looks at (RFC 9113 section 6).
const (
	frameHeaders  = 1
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7

	flagAck        = 1 // of settings and ping
	flagEndStream  = 1
	flagEndHeaders = 4
)

// A frames client sees what clients do not show: it keeps its connection until the
// server closes it.
type framesClient struct {
	t    *testing.T
	conn *tls.Conn
}

// dialFrames opens a connection of HTTP/2.
func dialFrames(t *testing.T, addr string, cfg *tls.Config) *framesClient {
	t.Helper()
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(12 * time.Second))
	c := &framesClient{t, conn}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	c.send(frameSettings, 0, 0, nil)
	return c
}

func (c *framesClient) send(kind, flags byte, stream uint32, payload []byte) {
	c.t.Helper()
	frame := []byte{0, 0, byte(len(payload)), kind, flags}
	frame = binary.BigEndian.AppendUint32(frame, stream)
	if _, err := c.conn.Write(append(frame, payload...)); err != nil {
		c.t.Fatalf("a frame of kind %d: %v", kind, err)
	}
}

// next reads one frame, and answers what has to be.
func (c *framesClient) next() (kind, flags byte, payload []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return 0, 0, nil, err
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c.conn, payload); err != nil {
		return 0, 0, nil, err
	}
	kind, flags = head[3], head[4]
	if (kind == frameSettings || kind == framePing) && flags&flagAck == 0 {
		if kind == frameSettings {
			payload = nil
		}
		c.send(kind, flagAck, 0, payload)
	}
	return kind, flags, payload, nil
}

// get asks for / in the first stream, and reads until it has ended.
func (c *framesClient) get() {
	c.t.Helper()
	var fields bytes.Buffer
	fields.Write([]byte{0x80 | 2, 0x80 | 7, 0x80 | 4}) // GET, https, / of the static table
	fields.WriteString("\x01\x01a")                    // :authority, as it is
	c.send(frameHeaders, flagEndStream|flagEndHeaders, 1, fields.Bytes())
	for {
		kind, flags, _, err := c.next()
		if err != nil {
			c.t.Fatalf("the answer: %v", err)
		}
		if kind <= frameHeaders && flags&flagEndStream != 0 {
			return
		}
	}
}

// TestIdleHTTP2IsToldToGoAway: a drain tells who keeps a connection that its last
// stream is the last one, at once, and closes it.
func TestIdleHTTP2IsToldToGoAway(t *testing.T) {
	cfg, transport := testTLS(t)
	s, addr := start(t, server.Config{TLS: cfg, DrainTimeout: time.Hour,
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})})
	c := dialFrames(t, addr, transport.TLSClientConfig)
	c.get()
	get(t, transport, "https://"+addr+"/") // net/http's own client keeps one, too
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		drained <- s.Shutdown(ctx)
	}()
	told := false
	for {
		kind, _, payload, err := c.next()
		if err != nil {
			if !told || !errors.Is(err, io.EOF) {
				t.Fatalf("an idle connection ends with %v, told to go away: %t; want EOF behind it",
					err, told)
			}
			break
		}
		if kind != frameGoAway {
			continue
		}
		told = true
		last, code := binary.BigEndian.Uint32(payload), binary.BigEndian.Uint32(payload[4:])
		if last != 1 || code != 0 {
			t.Errorf("GOAWAY after stream %d with code %d; want 1 and 0", last, code)
		}
	}
	if err := <-drained; err != nil {
		t.Errorf("Shutdown = %v; want every connection to have ended by itself", err)
	}
}
