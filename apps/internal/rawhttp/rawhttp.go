// SPDX-License-Identifier: MIT

// Package rawhttp reads answers of HTTP/1.1 as they are on the wire, for tests that
// promise exact bytes: the status line with its reason, the fields in order and as
// written, how the body is framed, and whether it was cut. It is stricter than
// clients are, shares no line with the servers under test, and is no client for
// anything else.
package rawhttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Patience bounds the wait for something that has to come.
const Patience = 10 * time.Second

// Framings of a body.
const (
	None    = "none"    // HEAD, 1xx, 204, 304
	Length  = "length"  // Content-Length
	Chunked = "chunked" // Transfer-Encoding: chunked
	Close   = "close"   // until the connection ends
)

// ErrCut reports that the connection ended within an answer.
var ErrCut = errors.New("rawhttp: the answer was cut")

// A Reply is one answer.
type Reply struct {
	Version   string   // HTTP/1.1
	Status    string   // "200 OK": the code and the reason as it was sent
	Fields    []string // "Name: value" each, as sent and in order
	Framing   string
	Body      []byte // what came of it, also when it was cut
	Chunks    int    // data chunks, when chunked
	Continues int    // answers 100 before this one
}

// A Conn is one connection to a server.
type Conn struct {
	net.Conn
	in *bufio.Reader
}

// Dial connects to a URL, of which only the address counts.
func Dial(url string) (*Conn, error) {
	address := strings.TrimPrefix(url, "http://")
	conn, err := net.DialTimeout("tcp", address, Patience)
	if err != nil {
		return nil, fmt.Errorf("rawhttp: %w", err)
	}
	return &Conn{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// Send writes text. An error is not told: a server may close before it has read all,
// and what it answers is what counts.
func (c *Conn) Send(text string) {
	_ = c.SetWriteDeadline(time.Now().Add(Patience))
	_, _ = io.WriteString(c.Conn, text)
}

// CloseWrite ends the sending side.
func (c *Conn) CloseWrite() error {
	return c.Conn.(*net.TCPConn).CloseWrite()
}

// Reset ends the connection with a reset, as a crashed client does.
func (c *Conn) Reset() error {
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		return err
	}
	return c.Close()
}

// Read reads the answer to a request of the method. With an answer that was cut it
// returns what came and ErrCut; io.EOF says that the connection ended before one.
func (c *Conn) Read(method string) (*Reply, error) {
	_ = c.SetReadDeadline(time.Now().Add(Patience))
	continues := 0
	for {
		r, err := c.ReadHead(method)
		if err != nil {
			return r, err
		}
		if strings.HasPrefix(r.Status, "100 ") {
			continues++
			continue
		}
		r.Continues = continues
		return r, c.readBody(r)
	}
}

// ReadHead reads one head, a 100 too, and leaves the body.
func (c *Conn) ReadHead(method string) (*Reply, error) {
	_ = c.SetReadDeadline(time.Now().Add(Patience))
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	m := statusLine.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("rawhttp: status line %q", line)
	}
	r := &Reply{Version: m[1], Status: m[2]}
	for {
		line, err := c.line()
		if err == io.EOF {
			err = ErrCut
		}
		if err != nil {
			return r, err
		}
		if line == "" {
			r.Framing, err = framing(r, method)
			return r, err
		}
		if !fieldLine.MatchString(line) {
			return r, fmt.Errorf("rawhttp: field line %q", line)
		}
		r.Fields = append(r.Fields, line)
	}
}

var (
	statusLine = regexp.MustCompile(`^(HTTP/1\.[01]) ([1-9]\d\d [^\x00-\x08\x0a-\x1f\x7f]*)$`)
	fieldLine  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$")
	sizeLine   = regexp.MustCompile(`^[0-9a-fA-F]{1,8}$`)
)

// line reads one line that ends in CRLF. io.EOF is an end before its first byte.
func (c *Conn) line() (string, error) {
	line, err := c.in.ReadString('\n')
	switch {
	case err != nil && line == "" && isEnd(err):
		return "", io.EOF
	case err != nil && isEnd(err):
		return line, ErrCut
	case err != nil:
		return line, fmt.Errorf("rawhttp: %w", err)
	case !strings.HasSuffix(line, "\r\n"):
		return line, fmt.Errorf("rawhttp: line without CR: %q", line)
	}
	return latin1(line[:len(line)-2]), nil
}

// latin1 makes characters of bytes, which regular expressions want.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// isEnd reports whether the peer ended the connection, orderly or not.
func isEnd(err error) bool {
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// framing tells how the body of r is framed and refuses what no server may send.
func framing(r *Reply, method string) (string, error) {
	lengths, codings := r.All("Content-Length"), r.All("Transfer-Encoding")
	code := r.Status[:3]
	bodiless := method == "HEAD" || code[0] == '1' || code == "204" || code == "304"
	switch {
	case len(lengths) > 1 || len(codings) > 1:
		return "", fmt.Errorf("rawhttp: lengths %q, codings %q", lengths, codings)
	case len(lengths) > 0 && len(codings) > 0:
		return "", fmt.Errorf("rawhttp: both a length and a coding: %q %q", lengths, codings)
	case len(codings) == 1 && codings[0] != "chunked":
		return "", fmt.Errorf("rawhttp: transfer coding %q", codings[0])
	case len(codings) == 1 && r.Version == "HTTP/1.0":
		return "", errors.New("rawhttp: chunked in HTTP/1.0")
	case (code[0] == '1' || code == "204") && len(lengths)+len(codings) > 0:
		return "", fmt.Errorf("rawhttp: %s with a body: %q %q", code, lengths, codings)
	case bodiless:
		return None, nil
	case len(codings) == 1:
		return Chunked, nil
	case len(lengths) == 1:
		return Length, nil
	}
	return Close, nil
}

func (c *Conn) readBody(r *Reply) error {
	switch r.Framing {
	case Length:
		n, err := strconv.ParseUint(r.Get("Content-Length"), 10, 40)
		if err != nil {
			return fmt.Errorf("rawhttp: length %q", r.Get("Content-Length"))
		}
		return c.copy(r, int64(n))
	case Chunked:
		return c.readChunks(r)
	case Close:
		body, err := io.ReadAll(c.in)
		r.Body = body
		if err != nil && isEnd(err) {
			return ErrCut // a reset
		}
		return err
	}
	return nil
}

// readChunks reads chunks up to the last one and its empty line.
func (c *Conn) readChunks(r *Reply) error {
	for {
		line, err := c.line()
		if err == io.EOF {
			err = ErrCut
		}
		if err != nil {
			return err
		}
		if !sizeLine.MatchString(line) {
			return fmt.Errorf("rawhttp: size of a chunk %q", line)
		}
		n, _ := strconv.ParseInt(line, 16, 64)
		if n > 0 {
			r.Chunks++
		}
		if err := c.copy(r, n); err != nil {
			return err
		}
		line, err = c.line()
		if err == io.EOF {
			err = ErrCut
		}
		if err != nil {
			return err
		}
		if line != "" {
			return fmt.Errorf("rawhttp: %q behind a chunk", line)
		}
		if n == 0 {
			return nil
		}
	}
}

// copy appends n bytes to the body.
func (c *Conn) copy(r *Reply, n int64) error {
	var b bytes.Buffer
	_, err := io.CopyN(&b, c.in, n)
	r.Body = append(r.Body, b.Bytes()...)
	if err != nil && isEnd(err) {
		return ErrCut
	}
	return err
}

// Piece reads what there is of a body, up to n bytes of data, of an answer whose head
// was read by ReadHead. It understands chunks and nothing else.
func (c *Conn) Piece() (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(Patience))
	line, err := c.line()
	if err != nil {
		return "", err
	}
	if !sizeLine.MatchString(line) {
		return "", fmt.Errorf("rawhttp: size of a chunk %q", line)
	}
	n, _ := strconv.ParseInt(line, 16, 64)
	var r Reply
	if err := c.copy(&r, n); err != nil {
		return string(r.Body), err
	}
	if line, err := c.line(); err != nil || line != "" {
		return string(r.Body), fmt.Errorf("rawhttp: %q behind a chunk: %v", line, err)
	}
	return string(r.Body), nil
}

// Bytes reads n bytes as they are on the wire.
func (c *Conn) Bytes(n int) ([]byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(Patience))
	b := make([]byte, n)
	n, err := io.ReadFull(c.in, b)
	return b[:n], err
}

// Ended waits for the end of the connection. An error says what came instead.
func (c *Conn) Ended() error {
	_ = c.SetReadDeadline(time.Now().Add(Patience))
	b, err := c.in.Peek(1)
	if err == nil {
		return fmt.Errorf("rawhttp: got %q where the connection should end", b)
	}
	if !isEnd(err) {
		return errors.New("rawhttp: the connection stays open")
	}
	return nil
}

// Silent fails when anything comes, or the connection ends, within d.
func (c *Conn) Silent(d time.Duration) error {
	_ = c.SetReadDeadline(time.Now().Add(d))
	b, err := c.in.Peek(1)
	if err == nil {
		return fmt.Errorf("rawhttp: got %q where silence was due", b)
	}
	if isEnd(err) {
		return errors.New("rawhttp: the connection ended where silence was due")
	}
	return nil
}

// All returns the values of the fields of a name, in whichever case.
func (r *Reply) All(name string) []string {
	var values []string
	for _, line := range r.Fields {
		n, v, _ := strings.Cut(line, ":")
		if strings.EqualFold(n, name) {
			values = append(values, strings.Trim(v, " \t"))
		}
	}
	return values
}

// Get returns the value of the first field of a name, "" when there is none.
func (r *Reply) Get(name string) string {
	if all := r.All(name); len(all) > 0 {
		return all[0]
	}
	return ""
}
