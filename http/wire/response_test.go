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

func TestResponseRemembersPosition(t *testing.T) {
	whole := "HTTP/1.1 200 OK\r\nServer: a\r\nX: " + strings.Repeat("y", 1000)
	text := []byte(whole)
	var p ResponseParser
	for k := 1; k <= len(text); k++ {
		if n, err := p.Parse(text[:k], &Response{}); n != 0 || err != nil || p.seen != k {
			t.Fatalf("Parse of %d bytes = %d, %v, %d seen; want more", k, n, err, p.seen)
		}
		if k > 31 {
			clear(text[:k]) // nobody may read them before the line is whole
		}
	}
	if !p.Pending() {
		t.Error("Pending() = false inside a head")
	}
	if p.Reset(); p.Pending() {
		t.Error("Pending() = true behind Reset")
	}
}

// TestUpgradeIsOfSwitching: what was switched to is told with 101 alone.
func TestUpgradeIsOfSwitching(t *testing.T) {
	for status, want := range map[string]string{"101": "websocket", "200": "", "426": ""} {
		text := "HTTP/1.1 " + status + " X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
		var got Response
		_, err := new(ResponseParser).Parse([]byte(text), &got)
		if err != nil || string(got.Upgrade) != want {
			t.Errorf("%s: switched to %q, %v; want %q", status, got.Upgrade, err, want)
		}
	}
}

// TestBodilessLengths: a 304 may say how long the body would be, and nobody else.
func TestBodilessLengths(t *testing.T) {
	for text, want := range map[string]Response{
		"HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n": {ContentLength: 5, KeepAlive: true},
		"HTTP/1.1 304 N\r\n\r\n":                      {ContentLength: -1, KeepAlive: true},
		"HTTP/1.1 204 N\r\n\r\n":                      {ContentLength: -1, KeepAlive: true},
		"HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n": {ContentLength: -1, KeepAlive: true},
		"HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n": {ContentLength: -1},
		"HTTP/1.1 103 E\r\nContent-Length: 0\r\n\r\n": {ContentLength: -1},
	} {
		var got Response
		if _, err := new(ResponseParser).Parse([]byte(text), &got); err != nil ||
			got.ContentLength != want.ContentLength || got.KeepAlive != want.KeepAlive {
			t.Errorf("%q: length %d, keep-alive %v, %v; want %d, %v", text,
				got.ContentLength, got.KeepAlive, err, want.ContentLength, want.KeepAlive)
		}
	}
}

// TestResponseBodyBounds: a body as long as it may be is read, also where nobody says how
// long that is.
func TestResponseBodyBounds(t *testing.T) {
	var d Decoder
	for length, want := range map[int64]error{5: nil, 6: ErrBodyTooLarge} {
		r := &Response{Status: 200, ContentLength: length}
		if _, err := d.StartResponse(r, "GET", nil, 5); err != want {
			t.Errorf("a body of %d with a bound of 5: %v, want %v", length, err, want)
		}
	}
	for _, bodyMax := range []int64{0, -1, 3} {
		d.StartUntilClose(bodyMax)
		if data, n, err := d.Next([]byte("abc")); string(data) != "abc" || n != 3 || err != nil {
			t.Errorf("until the end with a bound of %d: %q, %d, %v", bodyMax, data, n, err)
		}
	}
	if _, _, err := d.Next([]byte("d")); err != ErrBodyTooLarge {
		t.Errorf("a byte above the bound: %v", err)
	}
}
