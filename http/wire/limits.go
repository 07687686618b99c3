// SPDX-License-Identifier: MIT

package wire

// The limits that hold where Limits has a zero.
const (
	defaultLineBytes     = 16 << 10
	defaultHeadBytes     = 64 << 10
	defaultFields        = 128
	defaultTrailerBytes  = 8 << 10
	defaultChunkExtBytes = 16 << 10
)

// Limits bounds what one message may make its receiver hold. The zero value of
// each field is its default.
type Limits struct {
	LineBytes     int // one request or field line without its CRLF; 16 KiB
	HeadBytes     int // a whole head, or what a receive buffer can hold; 64 KiB
	Fields        int // fields in a head, and in a trailer section; 128
	TrailerBytes  int // a whole trailer section; 8 KiB
	ChunkExtBytes int // chunk extensions not paid for by data, see Decoder; 16 KiB
}

// WithDefaults returns l with every zero replaced by its default.
func (l Limits) WithDefaults() Limits {
	l.LineBytes = orDefault(l.LineBytes, defaultLineBytes)
	l.HeadBytes = orDefault(l.HeadBytes, defaultHeadBytes)
	l.Fields = orDefault(l.Fields, defaultFields)
	l.TrailerBytes = orDefault(l.TrailerBytes, defaultTrailerBytes)
	l.ChunkExtBytes = orDefault(l.ChunkExtBytes, defaultChunkExtBytes)
	return l
}

func orDefault(n, normal int) int {
	if n <= 0 {
		return normal
	}
	return n
}

// defaultLimits is never written.
var defaultLimits = Limits{}.WithDefaults()

// limitsOf is l, or the defaults, without zeros.
func limitsOf(l *Limits) *Limits {
	if l == nil {
		return &defaultLimits
	}
	return l.filled()
}

// filled is l itself when it has no zeros.
func (l *Limits) filled() *Limits {
	if l.LineBytes > 0 && l.HeadBytes > 0 && l.Fields > 0 &&
		l.TrailerBytes > 0 && l.ChunkExtBytes > 0 {
		return l
	}
	filled := l.WithDefaults()
	return &filled
}

// checkLine bounds the line from start on. i is behind its CRLF when code is
// ok, else the byte at which code shows.
func (l *Limits) checkLine(start, i int, code Error) Error {
	if code == ok {
		i -= 2
	}
	if i-start <= l.LineBytes {
		return code
	}
	if start == 0 {
		return ErrLineTooLong
	}
	return ErrFieldTooLong
}
