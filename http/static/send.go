// SPDX-License-Identifier: MIT

package static

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"

	"m0serve.dev/http/loop"
)

// pieceBytes is what is read at once, and the longest file that is read where
// the handler runs.
const pieceBytes = 64 << 10

// pieces are buffers of pieceBytes.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// takeRanges makes a the answer to a Range field.
func (a *answer) takeRanges(value []byte) {
	asked := parseRanges(value, a.size)
	switch {
	case asked.unsatisfiable:
		size := strconv.FormatInt(a.size, 10)
		a.close()
		*a = *refusal(http.StatusRequestedRangeNotSatisfiable)
		a.add("Content-Range", "bytes */"+size)
	case asked.n == 1:
		a.status, a.parts, a.length = http.StatusPartialContent, asked, asked.list[0].length
		a.add("Content-Range", contentRange(asked.list[0], a.size))
	case asked.n > 1:
		a.status, a.parts = http.StatusPartialContent, asked
		a.boundary = strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36)
		a.length = int64(len(a.lastBoundary()))
		for i, s := range asked.list[:asked.n] {
			a.length += int64(len(a.partHead(i))) + s.length
		}
	}
}

func contentRange(s span, size int64) string {
	b := append(make([]byte, 0, 64), "bytes "...)
	b = append(strconv.AppendInt(b, s.start, 10), '-')
	b = append(strconv.AppendInt(b, s.start+s.length-1, 10), '/')
	return string(strconv.AppendInt(b, size, 10))
}

// partHead is what stands before part i (RFC 9110 section 14.6).
func (a *answer) partHead(i int) string {
	start := "\r\n--"
	if i == 0 {
		start = "--"
	}
	return start + a.boundary + "\r\nContent-Type: " + a.kind +
		"\r\nContent-Range: " + contentRange(a.parts.list[i], a.size) + "\r\n\r\n"
}

func (a *answer) lastBoundary() string { return "\r\n--" + a.boundary + "--\r\n" }

// body writes the body to w. Of a file that became shorter meanwhile it writes
// what there is, and an error.
func (a *answer) body(w io.Writer, copyPart func(io.Writer, span) error) error {
	if a.file == nil {
		_, err := io.WriteString(w, a.text)
		return err
	}
	for i, part := range a.parts.list[:a.parts.n] {
		if a.boundary != "" {
			if _, err := io.WriteString(w, a.partHead(i)); err != nil {
				return err
			}
		}
		if err := copyPart(w, part); err != nil {
			return err
		}
	}
	if a.boundary != "" {
		_, err := io.WriteString(w, a.lastBoundary())
		return err
	}
	return nil
}

// sendTo answers x. A long body leaves the loop before the file is read; a
// short one is read here, since taking the loop over costs more than reading.
func (a *answer) sendTo(x *loop.Exchange, f *Files) {
	x.SetStatus(a.status)
	for _, line := range a.fields[:a.nfields] {
		_ = x.Field(line.name, line.value) // all checked, or made here
	}
	x.SetRoute(f.small)
	if a.status == http.StatusNotModified {
		return
	}
	_ = x.Field("Content-Length", strconv.FormatInt(a.length, 10))
	if string(x.Request().Method) == http.MethodHead {
		return
	}
	long := a.length > pieceBytes
	if long {
		x.SetRoute(f.large)
		if x.Flush() != nil {
			return // the peer is gone
		}
	}
	// A body that ends early, of a file that shrank, falls short of its
	// Content-Length, and the engine closes the connection.
	_ = a.body(x, func(_ io.Writer, part span) error { return a.copyPieces(x, part, long) })
}

// copyPieces copies a part by reading a piece while the one before is sent.
func (a *answer) copyPieces(x *loop.Exchange, part span, flush bool) error {
	piece := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(piece)
	for part.length > 0 {
		n, err := a.file.ReadAt(piece[:min(part.length, pieceBytes)], part.start)
		if n == 0 {
			return noEOF(err)
		}
		if _, err := x.Write(piece[:n]); err != nil {
			return err
		}
		if flush {
			if err := x.Flush(); err != nil {
				return err
			}
		}
		part.start, part.length = part.start+int64(n), part.length-int64(n)
	}
	return nil
}

// noEOF is for files that end before they should.
func noEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// sendHTTP answers over net/http, which may use sendfile.
func (a *answer) sendHTTP(w http.ResponseWriter, head bool) {
	h := w.Header()
	for _, line := range a.fields[:a.nfields] {
		h.Set(line.name, line.value)
	}
	if a.status != http.StatusNotModified {
		h.Set("Content-Length", strconv.FormatInt(a.length, 10))
	}
	w.WriteHeader(a.status)
	if head || a.status == http.StatusNotModified {
		return
	}
	_ = a.body(w, func(w io.Writer, part span) error { // as in sendTo
		if _, err := a.file.Seek(part.start, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(w, a.file, part.length); err != nil {
			return noEOF(err)
		}
		return nil
	})
}
