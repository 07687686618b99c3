// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"strings"
	"testing"
)

// decode feeds in to d in pieces of step bytes; rest is what was not taken.
func decode(d *Decoder, in []byte, step int) (data, rest []byte, err error) {
	for n := 0; n < len(in); {
		piece := in[n:min(n+step, len(in))]
		var k int
		data, k, err = d.Append(data, piece)
		n += k
		if err != nil || k < len(piece) {
			return data, in[n:], err
		}
	}
	return data, nil, nil
}

func TestChunked(t *testing.T) {
	lim := &Limits{TrailerBytes: 40, Fields: 3, ChunkExtBytes: 10}
	pad := strings.Repeat
	for in, want := range map[string]any{ // data, or an Error
		"0\r\n\r\n":                               "",
		"000\r\n\r\n":                             "",
		"5\r\nhello\r\n0\r\n\r\n":                 "hello",
		"1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n":  "a0123456789",
		"0000000000000005\r\nhello\r\n0\r\n\r\n":  "hello",
		"5;a=\"b;c\\\"d\"\r\nhello\r\n0\r\n\r\n":  ErrChunkExtTooLarge,
		"5;a=\"b;\x80\"\r\nhello\r\n0;\r\n\r\n":   "hello",
		"5; a ; b\r\nhello\r\n0;12345\r\n\r\n":    "hello",
		"0;123456789\r\n\r\n":                     "",
		"0;1234567890\r\n\r\n":                    ErrChunkExtTooLarge,
		"14\r\n" + pad("x", 20) + "\r\n0\r\n\r\n": pad("x", 20),
		"15\r\n" + pad("x", 21):                   ErrBodyTooLarge,
		"5\r\nhello\r\n10\r\n":                    ErrBodyTooLarge,
		"7FFFFFFFFFFFFFFF\r\n":                    ErrBodyTooLarge,
		"8000000000000000\r\n":                    ErrChunkSize,
		"FFFFFFFFFFFFFFFF\r\n":                    ErrChunkSize,
		"00000000000000005\r\n":                   ErrChunkSize,
		"\r\n":                                    ErrChunkSize,
		";a\r\n":                                  ErrChunkSize,
		" 5\r\n":                                  ErrChunkSize,
		"5 \r\n":                                  ErrChunkSize,
		"+5\r\n":                                  ErrChunkSize,
		"0x5\r\n":                                 ErrChunkSize,
		"g\r\n":                                   ErrChunkSize,
		"5\nhello":                                ErrChunkSize,
		"5\rhello":                                ErrLineEnd,
		"5;a\nhello":                              ErrChunkExt,
		"5;\x00\r\n":                              ErrChunkExt,
		"5\r\nhello0\r\n\r\n":                     ErrChunkEnd,
		"5\r\nhello\r0":                           ErrChunkEnd,
		"5\r\nhello\n0":                           ErrChunkEnd,
		"5\r\nhelloX\n0\r\n\r\n":                  ErrChunkEnd,
		"5\r\nhelloXX0\r\n\r\n":                   ErrChunkEnd,
		"5\r\nhello\r\n\r\n0\r\n\r\n":             ErrChunkSize,
		"0\r\n\n":                                 ErrLineEnd,
		"0\r\n\rX":                                ErrLineEnd,
		"0\r\nXX\r\n":                             ErrLineEnd,
		"0\r\nX Y: a\r\n":                         ErrFieldName,
		"0\r\n X: a\r\n":                          ErrFold,
		"0\r\nX: \x00\r\n":                        ErrFieldValue,
		"0\r\nX: a\r\n\r\n":                       "|X=a",
		"0\r\nX: a\r\nX_y: 1\r\nCookie: 2\r\n\r\n": "|X=a",
		"0\r\nY: b\r\nX: a\r\n\r\n":                "|Y=b|X=a",
		"0\r\ncontent-LENGTH: 1\r\n\r\n":           ErrTrailer,
		"0\r\nTransfer-Encoding: chunked\r\n\r\n":  ErrTrailer,
		"0\r\nHost: a\r\n\r\n":                     ErrTrailer,
		"0\r\nA:\r\nB:\r\nC:\r\n\r\n":              "|A=|B=|C=",
		"0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n":        ErrTooManyFields,
		"0\r\nX: " + pad("y", 35) + "\r\n\r\n":     "|X=" + pad("y", 35),
		"0\r\nX: " + pad("y", 36) + "\r\n\r\n":     ErrTrailerTooLarge,
		"0\r\nX: " + pad("y", 100):                 ErrTrailerTooLarge,
	} {
		for _, step := range []int{len(in), 1, 2, 3, 5} {
			var d Decoder
			d.StartChunked(lim, 20)
			data, rest, err := decode(&d, []byte(in), step)
			got := string(data)
			for _, f := range d.Trailers {
				got += "|" + string(f.Name) + "=" + string(f.Value)
			}
			if wantErr, isErr := want.(Error); isErr {
				if err != wantErr {
					t.Errorf("decode(%q) in pieces of %d: error %v, want %v", in, step, err, wantErr)
				}
			} else if err != nil || got != want || !d.Done() || len(rest) > 0 {
				t.Errorf("decode(%q) in pieces of %d = %q, %v, done %v, want %q",
					in, step, got, err, d.Done(), want)
			}
		}
	}
}

// TestChunkedExtensionsArePaidFor: signatures of chunks pass however long the
// body is, extensions on tiny chunks do not.
func TestChunkedExtensionsArePaidFor(t *testing.T) {
	chunk := func(size, ext int) []byte {
		out := AppendChunkHeader(nil, size)
		out = append(out[:len(out)-2], ';')
		out = append(out, strings.Repeat("e", ext)+"\r\n"...)
		return append(append(out, strings.Repeat("x", size)...), "\r\n"...)
	}
	var d Decoder
	d.StartChunked(nil, 0)
	for range 1000 {
		if _, _, err := decode(&d, chunk(1024, 85), 1<<20); err != nil {
			t.Fatalf("signed chunks: %v after %d bytes", err, d.Total())
		}
	}
	d.StartChunked(nil, 0)
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, _, err = decode(&d, chunk(1, 85), 1<<20)
	}
	if err != ErrChunkExtTooLarge || n < 100 || n > 200 {
		t.Errorf("one-byte chunks: %v after %d, want %v after 193", err, n, ErrChunkExtTooLarge)
	}
}

func TestLengthAndClose(t *testing.T) {
	var d Decoder
	d.StartLength(5)
	data, rest, err := decode(&d, []byte("helloGET"), 3)
	if string(data) != "hello" || string(rest) != "GET" || err != nil || !d.Done() {
		t.Errorf("StartLength(5): %q, %q, %v, done %v", data, rest, err, d.Done())
	}
	if d.StartLength(0); !d.Done() || d.End() != nil {
		t.Error("StartLength(0): not done")
	}
	d.StartLength(5)
	if _, n, _ := d.Next([]byte("he")); n != 2 || d.Remaining() != 3 || d.End() != ErrTruncated {
		t.Errorf("after 2 of 5: took %d, remaining %d, End %v", n, d.Remaining(), d.End())
	}
	d.StartUntilClose(6)
	data, _, err = decode(&d, []byte("123456"), 4)
	if string(data) != "123456" || err != nil || d.Done() || d.End() != nil || !d.Done() {
		t.Errorf("StartUntilClose: %q, %v", data, err)
	}
	d.StartUntilClose(6)
	if _, _, err = decode(&d, []byte("1234567"), 4); err != ErrBodyTooLarge {
		t.Errorf("StartUntilClose(6) of 7 bytes: %v, want %v", err, ErrBodyTooLarge)
	}
	for in := "5\r\nhello\r\n0\r\n"; in != ""; in = in[:len(in)-1] {
		d.StartChunked(nil, 0)
		if _, _, err := decode(&d, []byte(in), len(in)); err != nil || d.End() != ErrTruncated {
			t.Errorf("chunked cut behind %q: %v, End %v, want %v", in, err, d.End(), ErrTruncated)
		}
	}
}

func TestStart(t *testing.T) {
	var d Decoder
	for _, tt := range []struct {
		req  Request
		err  error
		done bool
	}{
		{Request{ContentLength: -1}, nil, true},
		{Request{ContentLength: 0}, nil, true},
		{Request{ContentLength: 10}, nil, false},
		{Request{ContentLength: 11}, ErrBodyTooLarge, true},
		{Request{ContentLength: -1, Chunked: true}, nil, false},
	} {
		if err := d.Start(&tt.req, nil, 10); err != tt.err || d.Done() != tt.done {
			t.Errorf("Start(%+v) = %v, done %v, want %v, %v", tt.req, err, d.Done(), tt.err, tt.done)
		}
	}
	if err := d.Start(&Request{ContentLength: 1 << 40}, nil, 0); err != nil {
		t.Errorf("Start without a bound = %v", err)
	}
}

// TestAppendInPlace: the body may be moved to the front of the buffer it is in.
func TestAppendInPlace(t *testing.T) {
	buf := []byte("5\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\nGET")
	var d Decoder
	d.StartChunked(nil, 0)
	data, n, err := d.Append(buf[:0], buf)
	if string(data) != "hello world" || string(buf[n:]) != "GET" || err != nil {
		t.Errorf("Append in place = %q, rest %q, %v", data, buf[n:], err)
	}
	if len(d.Trailers) != 1 || !bytes.Equal(d.Trailers[0].Value, []byte("v")) {
		t.Errorf("trailers %v after moving", copyFields(d.Trailers))
	}
}
