// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const openingRequest = "GET /ws HTTP/1.1\r\nHost: a\r\n" +
	"Upgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// masked is a client's frame with a short payload.
func masked(first byte, payload string) string {
	mask := "\x11\x22\x33\x44"
	var b strings.Builder
	b.WriteByte(first)
	b.WriteByte(0x80 | byte(len(payload)))
	b.WriteString(mask)
	for i := range len(payload) {
		b.WriteByte(payload[i] ^ mask[i%4])
	}
	return b.String()
}

// pinged reports why a connection that was upgraded answers no ping.
func (t *talk) pinged() error {
	if err := t.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(t.conn, masked(0x89, "?")); err != nil {
		return err
	}
	var pong [3]byte
	if _, err := io.ReadFull(t.in, pong[:]); err != nil {
		return err
	}
	if string(pong[:]) != "\x8a\x01?" {
		return fmt.Errorf("answered by %q", pong[:])
	}
	return nil
}

// TestWebSocketEcho sends the handshake and frames right behind it, cut at every
// byte, and wants each frame back.
func TestWebSocketEcho(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: real binary, real sockets")
	}
	sent := openingRequest + masked(0x81, "hello") + masked(0x89, "ping") + masked(0x01, "in ") +
		masked(0x80, "parts") + masked(0x88, "\x03\xe8bye")
	const want = "\x81\x05hello" + "\x8a\x04ping" + "\x01\x03in " + "\x80\x05parts" +
		"\x88\x05\x03\xe8bye"
	eachMode(t, func(t *testing.T, k *checker) {
		for cut := range len(sent) {
			if got := converse(t, k.url, sent[:cut], sent[cut:]); got != want {
				t.Fatalf("cut at %d: got %q, want %q and the end", cut, got, want)
			}
		}
		for name, bad := range map[string]string{
			"unmasked": "\x81\x05hello", "reserved bit": masked(0xc1, "x"),
			"reserved opcode": masked(0x83, "x"), "control in parts": masked(0x09, "x"),
		} {
			if got := converse(t, k.url, openingRequest+bad, ""); got != "\x88\x02\x03\xea" {
				t.Errorf("%s: got %q, want a close with 1002 and the end", name, got)
			}
		}
	})
}

// converse sends two pieces and gives what came behind the head.
func converse(t *testing.T, url, one, two string) string {
	t.Helper()
	c, err := dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{one, two} {
		if _, err := c.conn.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := io.ReadAll(c.in)
	if err != nil {
		t.Fatalf("behind %q: %v", all, err)
	}
	_, frames, _ := bytes.Cut(all, []byte("\r\n\r\n"))
	return string(frames)
}
