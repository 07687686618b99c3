// SPDX-License-Identifier: MIT

package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/wire"
)

// A played connection takes what is written and gives bytes that were there
// before.
type played struct{ *bytes.Reader }

func (played) Write(b []byte) (int, error)      { return len(b), nil }
func (played) Close() error                     { return nil }
func (played) LocalAddr() net.Addr              { return nil }
func (played) RemoteAddr() net.Addr             { return nil }
func (played) SetDeadline(time.Time) error      { return nil }
func (played) SetReadDeadline(time.Time) error  { return nil }
func (played) SetWriteDeadline(time.Time) error { return nil }

// theirs is what net/http makes of the same bytes.
func theirs(answer []byte, method string) (status int, body []byte, err error) {
	in := bufio.NewReader(bytes.NewReader(answer))
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return 0, nil, err
		}
		if resp.StatusCode < 200 && resp.StatusCode != 101 {
			continue
		}
		body, err = io.ReadAll(resp.Body)
		return resp.StatusCode, body, err
	}
}

// isExcused is the reviewed list of what net/http refuses and this client does not.
func isExcused(err error, resp *Response, answer []byte) bool {
	text := err.Error()
	switch {
	case !wire.BodyAllowed(resp.Status) && strings.Contains(text, "transfer encoding"):
		return true // it describes nothing there; the connection is not used again
	case resp.Chunked && strings.Contains(text, "railer"):
		return true // a trailer that means nothing is left out here
	case resp.Chunked && bytes.Contains(answer, []byte(";")):
		return true // extensions are bounded in another way
	}
	return false
}

// FuzzLikeNetHTTP: an answer that is whole for this client is the same whole
// answer for net/http's. The other way round it is stricter, in what the table
// of framings has: bare LF, folded lines, spaces before a colon, codings,
// versions, repeated lengths.
func FuzzLikeNetHTTP(f *testing.F) {
	for _, c := range framings {
		f.Add([]byte(c.send), c.method == "HEAD")
	}
	f.Fuzz(func(t *testing.T, answer []byte, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		c := New(Config{BodyMax: -1, Dial: func(context.Context, string, string) (net.Conn, error) {
			return played{bytes.NewReader(answer)}, nil
		}})
		defer c.Close()
		var resp Response
		req := &Request{Method: method, URL: "http://a/"}
		if err := c.Do(context.Background(), req, &resp); err != nil {
			return
		}
		status, body, err := theirs(answer, method)
		if err != nil && isExcused(err, &resp, answer) {
			return
		}
		if err != nil || status != resp.Status || !bytes.Equal(body, resp.Body) {
			t.Errorf("%q to %s: %d %q here, %d %q, %v in net/http", answer, method, resp.Status,
				resp.Body, status, body, err)
		}
	})
}
