// SPDX-License-Identifier: MIT

package wire

import "bytes"

// progress remembers how far an unfinished head was seen, as offsets, since the
// buffer may move. Lines that arrive later are checked once, as they become
// whole; when the head is whole it is read in one go. Each byte is thus looked
// at a fixed number of times however the head is cut, and a fault is reported as
// soon as its line is there.
//
// All line readers are prefix-monotone: what they say about the beginning of a
// line is "more" or what they say about the line. So the answer is the same for
// every way of cutting.
type progress struct {
	line   int // start of the first line that is not whole
	seen   int // bytes in which no line end was found; 0: nothing pending
	fields int // field lines before line
}

// advance checks the lines that became whole. ok means that the head is whole.
// first reads the first line.
func (p *progress) advance(buf []byte, lim *Limits, first func([]byte) (int, Error)) Error {
	b := buf[:min(len(buf), lim.HeadBytes)]
	for {
		k := -1
		if p.seen < len(b) {
			k = bytes.IndexByte(b[p.seen:], '\n')
		}
		if k < 0 && len(b)-p.line <= lim.LineBytes && len(buf) < lim.HeadBytes {
			p.seen = len(b)
			return errMore
		}
		i, end, code := p.readLine(b, first)
		if end {
			return ok
		}
		code = lim.checkLine(p.line, i, code)
		if code == ok && p.line > 0 {
			if p.fields++; p.fields > lim.Fields {
				return ErrTooManyFields
			}
		}
		switch {
		case code == ok:
			p.line, p.seen = i, i
		case code == errMore && k >= 0:
			p.seen += k + 1 // that was the empty line before the first
		default:
			return p.stop(buf, lim, p.line, p.fields, code)
		}
	}
}

// readLine reads the line at p.line; end means that it is the empty one.
func (p *progress) readLine(b []byte, first func([]byte) (int, Error)) (int, bool, Error) {
	if p.line == 0 {
		i, code := first(b)
		return i, false, code
	}
	i, end, code := headEnd(b, p.line)
	if !end && code == ok {
		var f Field
		i, code = fieldLine(b, p.line, &f)
	}
	return i, end, code
}

// stop ends a call at the line that starts at line: code is final, or errMore
// is turned into a limit that was reached, or remembered.
func (p *progress) stop(buf []byte, lim *Limits, line, fields int, code Error) Error {
	if code != errMore {
		return code
	}
	if len(buf) >= lim.HeadBytes {
		if line == 0 {
			return ErrLineTooLong
		}
		return ErrHeadTooLarge
	}
	p.line, p.seen, p.fields = line, len(buf), fields
	return errMore
}

// finish turns the answer about buf into that of Parse.
func (p *progress) finish(n int, code Error) (int, error) {
	switch code {
	case errMore:
		return 0, nil
	case ok:
		*p = progress{}
		return n, nil
	}
	*p = progress{}
	return 0, code
}

// headEnd looks for the empty line at i. Not end and ok: a field line is there.
func headEnd(b []byte, i int) (next int, end bool, code Error) {
	switch {
	case i == len(b):
		return i, false, errMore
	case b[i] != '\r':
		return i, false, ok
	case i+1 == len(b):
		return i, false, errMore
	case b[i+1] != '\n':
		return i, false, ErrLineEnd
	}
	return i + 2, true, ok
}
