// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// channel is the one that all streams are of.
const channel = "bench"

// A publisher publishes in the form of a server.
type publisher struct {
	form string // raw, grip or m0pub
	door string
	key  string
}

// A door is a connection to publish on.
type door struct {
	net.Conn
	in   *bufio.Reader
	over bool // the server ends it
}

func (p publisher) dial() (*door, error) {
	network, addr := "unix", p.door
	if p.form != "m0pub" {
		network = "tcp"
		addr, _, _ = strings.Cut(p.door, "/")
	}
	c, err := net.DialTimeout(network, addr, ackWait)
	if err != nil {
		return nil, err
	}
	return &door{Conn: c, in: bufio.NewReader(c)}, nil
}

// send publishes and waits for the answer. Pushpin takes one publish a connection.
func (p publisher) send(d *door, data []byte) error {
	if d.over {
		next, err := p.dial()
		if err != nil {
			return err
		}
		_ = d.Close()
		*d = *next
	}
	if err := d.SetDeadline(time.Now().Add(ackWait)); err != nil {
		return err
	}
	if p.form == "m0pub" {
		return sendSocket(d, data)
	}
	body, kind := data, "text/plain"
	if p.form == "grip" {
		kind = "application/json"
		body = gripBody(data)
	}
	host, path, _ := strings.Cut(p.door, "/")
	head := fmt.Appendf(nil, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n", path, host, kind, len(body))
	if p.key != "" {
		head = fmt.Appendf(head, "Authorization: Bearer %s\r\n", p.key)
	}
	head = append(head, "\r\n"...)
	if _, err := d.Write(append(head, body...)); err != nil {
		return err
	}
	answer, err := http.ReadResponse(d.in, nil)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(answer.Body)
	d.over = answer.Close
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.200s", answer.Status, said)
	}
	return err
}

func gripBody(data []byte) []byte {
	body, _ := json.Marshal(map[string]any{"items": []any{map[string]any{ // of strings
		"channel": channel,
		"formats": map[string]any{"http-stream": map[string]string{
			"content": "data: " + string(data) + "\n\n"}},
	}}})
	return body
}

// sendSocket speaks the protocol of m0pub; see m0serve.dev/http/publish.
func sendSocket(d *door, data []byte) error {
	if _, err := d.Write(socketRequest(data)); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(d.in, head[:]); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(d.in, body); err != nil {
		return err
	}
	if len(body) < 2 || body[0] != 0 || body[1] != 0 {
		return fmt.Errorf("m0pub: refused: %q", body)
	}
	return nil
}

func socketRequest(data []byte) []byte {
	message := []byte{0} // an event
	for _, n := range []int{len(channel), 0, 0} {
		message = binary.BigEndian.AppendUint16(message, uint16(n))
	}
	message = binary.BigEndian.AppendUint32(message, uint32(len(data)))
	message = append(append(message, channel...), data...)
	request := binary.BigEndian.AppendUint32([]byte("m0p1"), uint32(len(message)+2))
	return append(binary.BigEndian.AppendUint16(request, 1), message...)
}

// flooded is what a flood of publishes came to.
type flooded struct {
	answered, timeouts int
	took               []float64 // milliseconds, of those that were answered
	err                error
}

// flood publishes one after the other. After a publish that is not answered in time
// it goes on with another connection, some times.
func (p publisher) flood(times, size int) (f flooded) {
	var d *door
	defer func() {
		if d != nil {
			_ = d.Close()
		}
	}()
	for n := 0; n < times && f.timeouts < timeouts; n++ {
		if d == nil {
			if d, f.err = p.dial(); f.err != nil {
				return f
			}
		}
		start := time.Now()
		switch err := p.send(d, payload(n, size)); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			f.timeouts++
			_ = d.Close()
			d = nil
		case err != nil:
			f.err = err
			return f
		default:
			f.answered++
			f.took = append(f.took, ms(time.Since(start)))
		}
	}
	return f
}
