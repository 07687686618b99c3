// SPDX-License-Identifier: MIT

package compress

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	gzipLevel = 5
	// zstdWindow is what a coder remembers. Browsers take up to 8 MiB (RFC 9659).
	zstdWindow = 256 << 10
)

// A coder codes one body at a time.
type coder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// A pooled coder writes to whoever has it, so that giving it back resets nothing.
type pooled struct {
	coder
	to io.Writer // nil: nobody has it
}

func (p *pooled) take(to io.Writer) {
	p.to = to
	p.coder.Reset(output{p})
}

// An output is where a pooled coder writes.
type output struct{ p *pooled }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) { return o.p.to.Write(b) }

// A pool keeps coders of one coding that nobody uses, as long as the collector lets
// it.
type pool struct {
	name []string // as Content-Encoding has it; shared, with no room behind it
	idle sync.Pool
}

func newPool(coding string) *pool {
	p := &pool{name: []string{coding}}
	switch coding {
	case Zstd:
		p.idle.New = func() any { return &pooled{coder: newZstd()} }
	case Gzip:
		p.idle.New = func() any { return &pooled{coder: newGzip()} }
	default:
		panic(fmt.Sprintf("compress: %q is no coding; there are %q and %q", coding, Zstd, Gzip))
	}
	return p
}

// get is a coder that writes to w.
func (p *pool) get(w io.Writer) *pooled {
	c := p.idle.Get().(*pooled)
	c.take(w)
	return c
}

// put takes a coder back, whatever it is in the middle of.
func (p *pool) put(c *pooled) {
	c.to = io.Discard // it keeps no answer alive
	p.idle.Put(c)
}

func newGzip() coder {
	c, err := gzip.NewWriterLevel(io.Discard, gzipLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return c
}

// newZstd makes a coder that works on the goroutine that calls it. Its frames end without a
// checksum, as those of libzstd do by default: a body that arrives whole was checked on its way.
func newZstd() coder {
	c, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return c
}
