// SPDX-License-Identifier: MIT

package wire

import (
	"strings"
	"testing"
)

func TestResponse(t *testing.T) {
	type body uint8
	const (
		none body = iota
		length
		chunks
		untilClose
	)
	for text, want := range map[string]struct {
		status, minor int
		reason        string
		keep          bool
		body          body
		err           error
	}{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n":          {200, 1, "OK", true, length, nil},
		"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n":          {200, 0, "OK", false, length, nil},
		"HTTP/1.0 200 \r\nConnection: keep-alive\r\n":       {200, 0, "", true, untilClose, nil},
		"HTTP/1.1 200\r\n":                                  {200, 1, "", true, untilClose, nil},
		"HTTP/1.9 404 No\r\nConnection: close\r\n":          {404, 1, "No", false, untilClose, nil},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n": {200, 1, "OK", true, chunks, nil},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n": {
			200, 1, "OK", false, chunks, nil},
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n": {
			200, 1, "OK", false, length, nil},
		"HTTP/1.1 204 No\r\n":                               {204, 1, "No", true, none, nil},
		"HTTP/1.1 204 No\r\nContent-Length: 0\r\n":          {204, 1, "No", true, none, nil},
		"HTTP/1.1 204 No\r\nContent-Length: 5\r\n":          {204, 1, "No", false, none, nil},
		"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n": {204, 1, "No", false, none, nil},
		"HTTP/1.1 304 No\r\nContent-Length: 5\r\n":          {304, 1, "No", true, none, nil},
		"HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n": {304, 1, "No", false, none, nil},
		"HTTP/1.1 100 Continue\r\n":                         {100, 1, "Continue", true, none, nil},
		"HTTP/1.1 101 S\r\nUpgrade: x\r\n":                  {101, 1, "S", true, none, nil},
		"HTTP/1.1 999 X\r\nContent-Length: 5\r\n":           {999, 1, "X", true, length, nil},

		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n": {err: ErrContentLength},
		"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n":                   {err: ErrContentLength},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n":       {err: ErrCoding},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n":            {err: ErrTransferEncoding},
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n":             {err: ErrTransferEncoding},
		"HTTP/2.0 200 OK\r\n":               {err: ErrVersion},
		"\r\nHTTP/1.1 200 OK\r\n":           {err: ErrStatusLine},
		"HTTP/1.1  200 OK\r\n":              {err: ErrStatusLine},
		"HTTP/1.1 099 OK\r\n":               {err: ErrStatusLine},
		"HTTP/1.1 20 OK\r\n":                {err: ErrStatusLine},
		"HTTP/1.1 2000 OK\r\n":              {err: ErrStatusLine},
		"HTTP/1.1 200 O\x00K\r\n":           {err: ErrStatusLine},
		"HTTP/1.1 200 OK\n":                 {err: ErrLineEnd},
		"HTTP/1.1 200 OK\r\nA : b\r\n":      {err: ErrFieldName},
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n": {err: ErrFold},
		"hello5\r\n":                        {err: ErrStatusLine},
	} {
		for _, step := range []int{1, 2, len(text) + 2} {
			resp, d, err := readResponse(text+"\r\n", "GET", step)
			if err != want.err {
				t.Errorf("Parse(%q) error %v, want %v", text, err, want.err)
			}
			if err != nil || want.err != nil {
				continue
			}
			got := none
			switch {
			case d.state == chunkSize:
				got = chunks
			case d.state == bodyClose:
				got = untilClose
			case d.left == 5:
				got = length
			}
			if resp.Status != want.status || string(resp.Reason) != want.reason || got != want.body ||
				resp.Minor != want.minor || resp.KeepAlive != want.keep {
				t.Errorf("Parse(%q) = %+v with body %d, want %+v", text, resp, got, want)
			}
		}
	}
}

// readResponse parses a head in growing pieces and starts its body.
func readResponse(text, method string, step int) (*Response, *Decoder, error) {
	var p ResponseParser
	var resp Response
	var d Decoder
	for k := 0; k < len(text); {
		k = min(k+step, len(text))
		n, err := p.Parse([]byte(text[:k]), &resp)
		if err != nil {
			return nil, nil, err
		}
		if n > 0 {
			_, err := d.StartResponse(&resp, method, nil, 10)
			return &resp, &d, err
		}
	}
	return nil, nil, ErrTruncated
}

func TestResponseToMethod(t *testing.T) {
	const text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	for method, done := range map[string]bool{"GET": false, "HEAD": true, "CONNECT": true} {
		if _, d, err := readResponse(text, method, 100); err != nil || d.Done() != done {
			t.Errorf("200 to %s: done %v, %v, want %v", method, d.Done(), err, done)
		}
	}
	large := strings.Replace(text, "5", "11", 1)
	if _, _, err := readResponse(large, "GET", 100); err != ErrBodyTooLarge {
		t.Errorf("11 bytes of at most 10: %v, want %v", err, ErrBodyTooLarge)
	}
	empty := strings.Replace(text, "5", "0", 1)
	if _, d, err := readResponse(empty, "GET", 100); err != nil || !d.Done() {
		t.Errorf("a body of 0 bytes: done %v, %v, want done, not until the connection ends",
			d.Done(), err)
	}
	resp, _, err := readResponse(large, "HEAD", 100)
	if err != nil || resp.ContentLength != 11 || resp.Interim() {
		t.Errorf("11 bytes to HEAD: %+v, %v", resp, err)
	}
}

func TestResponseLimits(t *testing.T) {
	lim := &Limits{LineBytes: 30, HeadBytes: 90, Fields: 2}
	pad := strings.Repeat
	for text, want := range map[string]error{
		"HTTP/1.1 200 " + pad("x", 17) + "\r\n\r\n":        nil,
		"HTTP/1.1 200 " + pad("x", 18) + "\r\n\r\n":        ErrLineTooLong,
		"HTTP/1.1 200\r\nX:" + pad("x", 29) + "\r\n":       ErrFieldTooLong,
		"HTTP/1.1 200\r\nX:\r\nX:\r\nX:\r\n":               ErrTooManyFields,
		"HTTP/1.1 200" + pad("\r\nX:"+pad("x", 26), 2):     nil,
		"HTTP/1.1 200 x" + pad("\r\nXyz:"+pad("x", 26), 3): ErrHeadTooLarge,
	} {
		for _, whole := range []bool{true, false} {
			p := ResponseParser{Limits: lim}
			var resp Response
			var err error
			for k := 1; k <= len(text) && err == nil; k++ {
				if whole {
					k = len(text)
				}
				_, err = p.Parse([]byte(text[:k]), &resp)
			}
			if err != want {
				t.Errorf("Parse(%q), whole %v: %v, want %v", text, whole, err, want)
			}
		}
	}
}

func TestInterim(t *testing.T) {
	for status, want := range map[int]bool{100: true, 103: true, 101: false, 200: false} {
		if got := (&Response{Status: status}).Interim(); got != want {
			t.Errorf("Interim of %d = %v, want %v", status, got, want)
		}
	}
}
