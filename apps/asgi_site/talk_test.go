// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A field is a header field as it came.
type field struct{ name, value string }

// An answer is a response, byte for byte as far as a case can want it.
type answer struct {
	proto    string
	status   int
	reason   string
	fields   []field
	hints    []*answer // the informational responses ahead of it
	framing  string    // none, length, chunked or close
	length   int       // of Content-Length; -1 without
	body     []byte
	trailers []field
	whole    bool // ended as its framing says
}

// get gives the value of the first field of a name.
func (a *answer) get(name string) string {
	for _, f := range a.fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return ""
}

// all gives the values of a name, in order.
func (a *answer) all(name string) []string {
	var found []string
	for _, f := range a.fields {
		if strings.EqualFold(f.name, name) {
			found = append(found, f.value)
		}
	}
	return found
}

// A conn is a client's connection. Its methods end the case when the connection fails,
// but for those whose name ends in Err.
type conn struct {
	net.Conn
	p *probe
	r *bufio.Reader
}

// write sends text as it is.
func (c *conn) write(text string) {
	if _, err := c.Write([]byte(text)); err != nil {
		c.p.Fatalf("write %q: %v", short(text), err)
	}
}

// read reads one answer to a request with method.
func (c *conn) read(method string) *answer {
	a, err := c.readErr(method)
	if err != nil {
		c.p.Fatalf("read the answer to %s: %v", method, err)
	}
	return a
}

// readErr reads one answer; an answer that is cut is given with whole == false.
func (c *conn) readErr(method string) (*answer, error) {
	a, err := c.headErr(method)
	if err != nil {
		return nil, err
	}
	a.whole = c.readBody(a) == nil
	return a, nil
}

// head reads the head of an answer.
func (c *conn) head(method string) *answer {
	a, err := c.headErr(method)
	if err != nil {
		c.p.Fatalf("read the head of the answer to %s: %v", method, err)
	}
	return a
}

func (c *conn) headErr(method string) (*answer, error) {
	var hints []*answer
	for {
		a := &answer{length: -1}
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if err := a.parseStatus(line); err != nil {
			return nil, err
		}
		if a.fields, err = c.fields(); err != nil {
			return nil, err
		}
		if a.status/100 == 1 && a.status != 101 {
			hints = append(hints, a)
			continue
		}
		a.hints = hints
		return a, a.frame(method)
	}
}

func (a *answer) parseStatus(line string) error {
	var code string
	a.proto, code, _ = strings.Cut(line, " ")
	code, a.reason, _ = strings.Cut(code, " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || !strings.HasPrefix(a.proto, "HTTP/1.") {
		return fmt.Errorf("status line %q", line)
	}
	a.status = status
	return nil
}

// frame decides how long the body is (RFC 9112 section 6.3).
func (a *answer) frame(method string) error {
	lengths, codings := a.all("Content-Length"), a.all("Transfer-Encoding")
	if len(lengths) > 1 || len(codings) > 1 || len(lengths) == 1 && len(codings) == 1 {
		return fmt.Errorf("framed twice: %q %q", lengths, codings)
	}
	if len(lengths) == 1 {
		n, err := strconv.Atoi(lengths[0])
		if err != nil || n < 0 {
			return fmt.Errorf("Content-Length %q", lengths[0])
		}
		a.length = n
	}
	switch {
	case method == "HEAD", a.status == 204, a.status == 304, a.status == 101:
		a.framing = "none"
	case len(codings) == 1 && strings.EqualFold(codings[0], "chunked"):
		a.framing = "chunked"
	case len(codings) == 1:
		return fmt.Errorf("Transfer-Encoding %q", codings[0])
	case a.length >= 0:
		a.framing = "length"
	default:
		a.framing = "close"
	}
	return nil
}

var errCut = errors.New("the body was cut")

func (c *conn) readBody(a *answer) error {
	switch a.framing {
	case "length":
		a.body = make([]byte, a.length)
		n, err := io.ReadFull(c.r, a.body)
		a.body = a.body[:n]
		return err
	case "chunked":
		for {
			part, err := c.chunkErr()
			if err != nil {
				return err
			}
			if part == nil {
				a.trailers, err = c.fields()
				return err
			}
			a.body = append(a.body, part...)
		}
	case "close":
		var err error
		a.body, err = io.ReadAll(c.r)
		return err
	}
	return nil
}

// chunkErr reads one chunk; nil is the last one, whose trailers follow.
func (c *conn) chunkErr() ([]byte, error) {
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseUint(line, 16, 31)
	if err != nil {
		return nil, fmt.Errorf("chunk size %q", line)
	}
	if size == 0 {
		return nil, nil
	}
	part := make([]byte, size+2)
	if _, err := io.ReadFull(c.r, part); err != nil {
		return nil, errCut
	}
	if string(part[size:]) != "\r\n" {
		return nil, fmt.Errorf("a chunk of %d bytes ends with %q", size, part[size:])
	}
	return part[:size], nil
}

// chunk reads one chunk as text.
func (c *conn) chunk() string {
	part, err := c.chunkErr()
	if err != nil {
		c.p.Fatalf("read a chunk: %v", err)
	}
	return string(part)
}

func (c *conn) fields() ([]field, error) {
	var fields []field
	for {
		line, err := c.line()
		if err != nil || line == "" {
			return fields, err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fields, fmt.Errorf("header line %q", line)
		}
		fields = append(fields, field{name, strings.Trim(value, " \t")})
	}
}

func (c *conn) line() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%w behind %q", err, short(line))
	}
	if !strings.HasSuffix(line, "\r\n") {
		return "", fmt.Errorf("line %q ends without CR", line)
	}
	return line[:len(line)-2], nil
}

// silent says whether nothing comes within d.
func (c *conn) silent(d time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, err := c.r.Peek(1)
	_ = c.SetReadDeadline(time.Now().Add(patience))
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// closed says whether the server ends the connection without another byte.
func (c *conn) closed() bool {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	rest, err := io.ReadAll(c.r)
	var late net.Error
	return len(rest) == 0 && !(errors.As(err, &late) && late.Timeout())
}

// reset ends the connection with RST.
func (c *conn) reset() {
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// fill writes up to limit bytes of block and stops when nobody takes any for quiet.
func (c *conn) fill(block []byte, limit int, quiet time.Duration) int {
	sent := 0
	for sent < limit {
		_ = c.SetWriteDeadline(time.Now().Add(quiet))
		n, err := c.Write(block[:min(len(block), limit-sent)])
		sent += n
		if err != nil {
			break
		}
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	return sent
}

func short(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}
