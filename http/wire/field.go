// SPDX-License-Identifier: MIT

package wire

import "math"

// A Field is one field line. Name is as the peer spelt it, Value is trimmed;
// both are slices of the parsed buffer.
type Field struct {
	Name, Value []byte
	// Underscore: the name has an underscore, which CGI cannot tell from a dash.
	// Servers drop such fields before they reach an application.
	Underscore bool
}

// Find returns the value of the first field called lower (any case on the
// wire), and whether there is one.
func Find(fields []Field, lower string) (value []byte, found bool) {
	for i := range fields {
		if EqualFold(fields[i].Name, lower) {
			return fields[i].Value, true
		}
	}
	return nil, false
}

// fieldLine reads the field line at i into f and returns the index behind its
// CRLF. On an error the index is the byte that is wrong.
func fieldLine(b []byte, i int, f *Field) (int, Error) {
	start := i
	i, f.Underscore = nameEnd(b, i)
	if i == len(b) {
		return i, errMore
	}
	if b[i] != ':' || i == start {
		return i, nameError(b[i], i == start)
	}
	f.Name = b[start:i:i]
	i++
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start = i
	i = valueEnd(b, i)
	end := i + 2
	if end > len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return lineEnd(b, i, ErrFieldValue)
	}
	for i > start && (b[i-1] == ' ' || b[i-1] == '\t') {
		i--
	}
	f.Value = b[start:i:i]
	return end, ok
}

// nameError says what is wrong with byte c where a name or its colon belongs.
func nameError(c byte, first bool) Error {
	switch {
	case first && (c == ' ' || c == '\t'):
		return ErrFold
	case c == '\n' || c == '\r':
		return ErrLineEnd
	}
	return ErrFieldName
}

// lineEnd expects CRLF at i; other is the error for any other byte.
func lineEnd(b []byte, i int, other Error) (int, Error) {
	switch {
	case i == len(b):
		return i, errMore
	case b[i] == '\n':
		return i, ErrLineEnd
	case b[i] != '\r':
		return i, other
	case i+1 == len(b):
		return i, errMore
	case b[i+1] != '\n':
		return i, ErrLineEnd
	}
	return i + 2, ok
}

// extend adds a field to be filled in.
func extend(fields []Field) []Field {
	if n := len(fields); n < cap(fields) {
		return fields[:n+1]
	}
	return append(fields, Field{})
}

// framing gathers, line by line, the fields that decide where a message ends
// and what happens to its connection. Nothing is judged before the head is
// whole, so the order in which faults are found does not depend on the cuts.
type framing struct {
	host        []byte
	length      int64
	lengthErr   Error
	coding      []byte // value of the last Transfer-Encoding
	upgrade     []byte
	hosts       uint8 // lines seen, saturating
	lengths     uint8
	lengthsSame bool // all Content-Length lines had one value
	codings     uint8
	types       uint8
	close       bool // Connection: close
	keepAlive   bool // Connection: keep-alive
	more        bool // a field was noted that asks for more than a look at Host
	upgradeConn bool // Connection: upgrade
	expect      bool // Expect: 100-continue
	expectOther bool // any other expectation
}

// note looks at one field. The first test is on length and letter, so that the
// many fields which decide nothing cost little.
func (fr *framing) note(f *Field) {
	switch name := f.Name; len(name) {
	case 4:
		if EqualFold(name, "host") {
			fr.host = f.Value
			count(&fr.hosts)
		}
	case 6:
		if EqualFold(name, "expect") {
			fr.more = true
			fr.noteExpect(f.Value)
		}
	case 7:
		if EqualFold(name, "upgrade") {
			fr.more = true
			fr.upgrade = f.Value
		}
	case 10:
		if EqualFold(name, "connection") {
			fr.noteConnection(f.Value)
		}
	case 12:
		if EqualFold(name, "content-type") {
			fr.more = true
			count(&fr.types)
		}
	case 14:
		if EqualFold(name, "content-length") {
			fr.more = true
			fr.noteLength(f.Value)
		}
	case 17:
		if EqualFold(name, "transfer-encoding") {
			fr.more = true
			fr.coding = f.Value
			count(&fr.codings)
		}
	}
}

func (fr *framing) noteExpect(value []byte) {
	if EqualFold(value, "100-continue") {
		fr.expect = true
	} else {
		fr.expectOther = true
	}
}

func (fr *framing) noteConnection(value []byte) {
	for len(value) > 0 {
		var item []byte
		item, value = nextItem(value)
		switch {
		case EqualFold(item, "close"):
			fr.close = true
		case EqualFold(item, "keep-alive"):
			fr.keepAlive = true
		case EqualFold(item, "upgrade"):
			fr.upgradeConn = true
		}
	}
}

func (fr *framing) noteLength(value []byte) {
	n, code := parseLength(value)
	fr.lengthsSame = fr.lengths == 0 || fr.lengthsSame && n == fr.length
	if fr.lengthErr == ok {
		fr.lengthErr = code
	}
	fr.length = n
	count(&fr.lengths)
}

// parseLength reads 1*DIGIT that fit an int64.
func parseLength(b []byte) (int64, Error) {
	if len(b) == 0 {
		return 0, ErrContentLength
	}
	var n int64
	large := false
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, ErrContentLength
		}
		d := int64(c - '0')
		if n > (math.MaxInt64-d)/10 {
			large = true
			continue
		}
		n = n*10 + d
	}
	if large {
		return 0, ErrLengthTooLarge
	}
	return n, ok
}

// checkCoding judges Transfer-Encoding: one line that says chunked, or none.
func (fr *framing) checkCoding(minor int) Error {
	switch {
	case fr.codings == 0:
		return ok
	case minor == 0 || fr.codings > 1:
		return ErrTransferEncoding
	case EqualFold(fr.coding, "chunked"):
		return ok
	}
	// Refused either way: 501 where the framing is clear and only the coding is
	// unknown (RFC 9112 section 6.1), 400 otherwise (section 6.3).
	rest := fr.coding
	for {
		var item []byte
		item, rest = nextItem(rest)
		last := rest == nil
		if EqualFold(item, "chunked") {
			if last {
				return ErrCoding
			}
			return ErrTransferEncoding
		}
		if last || len(item) == 0 || span(item, 0, isToken) != len(item) {
			return ErrTransferEncoding
		}
	}
}

func count(n *uint8) {
	if *n < math.MaxUint8 {
		*n++
	}
}
