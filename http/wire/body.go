// SPDX-License-Identifier: MIT

package wire

import "math"

// A Decoder finds the body in the bytes behind a head. It is a value of fixed
// size without a buffer: it takes every byte it is given, so the caller never
// has to keep a remainder for it. Only trailers, if any come, are kept, in
// memory of their own bounded by Limits.TrailerBytes.
//
// Chunk extensions are read over. Each data byte pays for one byte of them;
// what is not paid for is bounded by Limits.ChunkExtBytes over the whole body.
type Decoder struct {
	limits   *Limits
	left     int64 // bytes of the chunk or body still to come
	total    int64 // data bytes of all chunks so far
	bodyMax  int64
	unpaid   int // chunk extension bytes not paid for
	digits   uint8
	state    decoderState
	line     int     // start of the trailer line that is not whole
	trailer  []byte  // lines of the trailer section
	Trailers []Field // when Done; trailers that are not allowed are left out
}

// decoderState says what the next byte is.
type decoderState uint8

const (
	bodyDone    decoderState = iota // nothing to come
	bodyLeft                        // left bytes to come
	bodyClose                       // all bytes until the connection ends
	chunkSize                       // digits of a chunk size
	chunkExt                        // behind the size, before CR
	chunkLF                         // LF behind a chunk size line
	chunkData                       // left bytes of chunk data
	chunkCR                         // CR behind chunk data
	chunkCRLF                       // LF behind chunk data
	trailerLine                     // inside the trailer section
	trailerEnd                      // LF of the empty line behind it
)

// chunkDigitsMax bounds the digits of a chunk size, leading zeros included.
const chunkDigitsMax = 16

// Start prepares d for the body of a request whose head was parsed. bodyMax
// bounds it (0: no bound); a body that announces more is refused at once.
func (d *Decoder) Start(req *Request, lim *Limits, bodyMax int64) error {
	switch {
	case req.Chunked:
		d.StartChunked(lim, bodyMax)
	case bodyMax > 0 && req.ContentLength > bodyMax:
		d.reset(bodyDone)
		return ErrBodyTooLarge
	default:
		d.StartLength(max(req.ContentLength, 0))
	}
	return nil
}

// StartLength prepares d for a body of n bytes.
func (d *Decoder) StartLength(n int64) {
	d.reset(bodyLeft)
	if d.left = n; n == 0 {
		d.state = bodyDone
	}
}

// StartChunked prepares d for a chunked body of at most bodyMax bytes (0: no
// bound). lim may be nil.
func (d *Decoder) StartChunked(lim *Limits, bodyMax int64) {
	d.reset(chunkSize)
	if bodyMax <= 0 {
		bodyMax = math.MaxInt64
	}
	d.limits, d.bodyMax = lim, bodyMax
}

// StartUntilClose prepares d for a body that ends with its connection, of at
// most bodyMax bytes (0: no bound).
func (d *Decoder) StartUntilClose(bodyMax int64) {
	d.reset(bodyClose)
	if bodyMax <= 0 {
		bodyMax = math.MaxInt64
	}
	d.bodyMax = bodyMax
}

func (d *Decoder) reset(state decoderState) {
	*d = Decoder{state: state, trailer: d.trailer[:0], Trailers: d.Trailers[:0]}
}

// Done reports whether the body is whole.
func (d *Decoder) Done() bool { return d.state == bodyDone }

// Remaining is how many body bytes are known to follow: the rest of a body of
// known length or of the chunk, 0 where that is unknown.
func (d *Decoder) Remaining() int64 { return d.left }

// Total is the number of data bytes returned by a chunked or close-delimited body.
func (d *Decoder) Total() int64 { return d.total }

// Next returns the first piece of data in src, and how many bytes of src are
// done with, data included. Call it with the rest of src until Done or n is
// len(src); data may be empty. An error is always an Error.
func (d *Decoder) Next(src []byte) (data []byte, n int, err error) {
	switch d.state {
	case bodyDone:
		return nil, 0, nil
	case bodyLeft:
		data = d.take(src)
		if d.left == 0 {
			d.state = bodyDone
		}
		return data, len(data), nil
	case bodyClose:
		if int64(len(src)) > d.bodyMax-d.total {
			return nil, 0, ErrBodyTooLarge
		}
		d.total += int64(len(src))
		return src, len(src), nil
	}
	data, n, code := d.nextChunk(src)
	if code != ok {
		return nil, n, code
	}
	return data, n, nil
}

// Append appends all data in src to dst and returns how many bytes of src are
// done with. dst may be src[:0]: data is moved towards the front, never past
// what is still to be read.
func (d *Decoder) Append(dst, src []byte) (data []byte, n int, err error) {
	for n < len(src) && !d.Done() {
		piece, k, err := d.Next(src[n:])
		dst = append(dst, piece...)
		n += k
		if err != nil {
			return dst, n, err
		}
	}
	return dst, n, nil
}

// End says that the connection ended: nil when that is a proper end of the body.
func (d *Decoder) End() error {
	switch d.state {
	case bodyClose, bodyDone:
		d.state = bodyDone
		return nil
	}
	return ErrTruncated
}

func (d *Decoder) take(src []byte) []byte {
	n := int64(len(src))
	if n > d.left {
		n = d.left
	}
	d.left -= n
	return src[:n:n]
}

// nextChunk works through framing up to the end of the next piece of data.
func (d *Decoder) nextChunk(src []byte) (data []byte, n int, code Error) {
	for n < len(src) {
		switch d.state {
		case chunkSize:
			n, code = d.readSize(src, n)
		case chunkExt:
			n, code = d.readExtension(src, n)
		case chunkLF:
			n, code = d.sizeEnd(src, n)
		case chunkData:
			data = d.take(src[n:])
			if d.left == 0 {
				d.state = chunkCR
			}
			return data, n + len(data), ok
		case chunkCR:
			if src[n] != '\r' {
				return nil, n, ErrChunkEnd
			}
			d.state = chunkCRLF
			n++
		case chunkCRLF:
			if src[n] != '\n' {
				return nil, n, ErrChunkEnd
			}
			d.state = chunkSize
			n++
		case trailerLine:
			n, code = d.readTrailer(src, n)
		case trailerEnd:
			if src[n] != '\n' {
				return nil, n, ErrLineEnd
			}
			n++
			code = d.finishTrailers()
		case bodyDone:
			return nil, n, ok
		}
		if code != ok {
			return nil, n, code
		}
	}
	return nil, n, ok
}

// readSize reads hex digits and the byte behind them.
func (d *Decoder) readSize(src []byte, n int) (int, Error) {
	for n < len(src) {
		c := src[n]
		if class[c]&isHex == 0 {
			if d.digits == 0 {
				return n, ErrChunkSize
			}
			switch c {
			case '\r':
				d.state = chunkLF
			case ';':
				d.state = chunkExt
				return n + 1, d.payExtension(1)
			default:
				return n, ErrChunkSize
			}
			return n + 1, ok
		}
		if d.digits++; d.digits > chunkDigitsMax || d.left > math.MaxInt64>>4 {
			return n, ErrChunkSize
		}
		d.left = d.left<<4 | int64(hexValue(c))
		n++
	}
	return n, ok
}

// readExtension reads over a chunk extension. Its grammar is of no interest:
// neither a name nor a quoted value can contain a control byte.
func (d *Decoder) readExtension(src []byte, n int) (int, Error) {
	end := valueEnd(src, n)
	if code := d.payExtension(end - n); code != ok || end == len(src) {
		return end, code
	}
	if src[end] != '\r' {
		return end, ErrChunkExt
	}
	d.state = chunkLF
	return end + 1, ok
}

func (d *Decoder) payExtension(bytes int) Error {
	d.unpaid += bytes
	if d.unpaid > limitsOf(d.limits).ChunkExtBytes {
		return ErrChunkExtTooLarge
	}
	return ok
}

// sizeEnd reads the LF of a size line and opens the chunk.
func (d *Decoder) sizeEnd(src []byte, n int) (int, Error) {
	if src[n] != '\n' {
		return n, ErrLineEnd
	}
	if d.left > d.bodyMax-d.total {
		return n, ErrBodyTooLarge
	}
	d.total += d.left
	d.unpaid = max(0, d.unpaid-int(min(d.left, math.MaxInt32)))
	d.digits, d.state = 0, chunkData
	if d.left == 0 {
		d.state = trailerLine
	}
	return n + 1, ok
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&0xf + 9
}
