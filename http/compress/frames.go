// SPDX-License-Identifier: MIT

package compress

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// A ZstdCoding codes frames as zstd frames, one behind the other (RFC 8878 section
// 3.1). It is an sse.Coding.
type ZstdCoding struct{ encoder *zstd.Encoder }

// ZstdFrames is for sse.HoldOptions.Codings: make it once.
func ZstdFrames() *ZstdCoding {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(framesAtOnce),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(zstdWindow))
	if err != nil {
		panic(fmt.Sprintf("compress: %v", err)) // the options are constants
	}
	return &ZstdCoding{encoder}
}

// framesAtOnce is how many frames one coding codes at a time.
const framesAtOnce = 2

// Name implements sse.Coding.
func (c *ZstdCoding) Name() string { return Zstd }

// Begin implements sse.Coding.
func (c *ZstdCoding) Begin() []byte { return nil }

// Encode implements sse.Coding.
func (c *ZstdCoding) Encode(dst, body []byte) []byte { return c.encoder.EncodeAll(body, dst) }

// A GzipCoding codes frames as blocks of one gzip member. Each ends on a byte and
// refers to nothing before it; the member has no end, as the stream has none. It is an
// sse.Coding.
type GzipCoding struct{ idle sync.Pool }

// GzipFrames is for sse.HoldOptions.Codings: make it once.
func GzipFrames() *GzipCoding {
	c := &GzipCoding{}
	c.idle.New = func() any {
		w, err := flate.NewWriter(io.Discard, gzipLevel)
		if err != nil {
			panic(fmt.Sprintf("compress: %v", err)) // the level is a constant
		}
		return w
	}
	return c
}

// Name implements sse.Coding.
func (c *GzipCoding) Name() string { return Gzip }

// Begin implements sse.Coding: RFC 1952 section 2.3, no name, no time.
func (c *GzipCoding) Begin() []byte {
	return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
}

// storedMax is the longest body that is not worth a coder's work. It is only for
// speed.
const storedMax = 40

// Encode implements sse.Coding.
func (c *GzipCoding) Encode(dst, body []byte) []byte {
	if len(body) <= storedMax {
		return appendStored(dst, body)
	}
	w := c.idle.Get().(*flate.Writer)
	out := appender{dst}
	w.Reset(&out)
	_, _ = w.Write(body) // an appender has no errors
	_ = w.Flush()
	w.Reset(io.Discard)
	c.idle.Put(w)
	return out.b
}

// appendStored appends body as it is (RFC 1951 section 3.2.4) and the empty block that
// a sync flush ends with, at which decoders give out what they have.
func appendStored(dst, body []byte) []byte {
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(body)))
	dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(body)))
	dst = append(dst, body...)
	return append(dst, 0, 0, 0, 0xff, 0xff)
}

// An appender is an io.Writer into memory.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
