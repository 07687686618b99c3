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
