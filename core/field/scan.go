// SPDX-License-Identifier: MIT

package field

// Every scanning function gets the document and where to start, and returns
// where it stopped: behind what it read, or at the fault when the code is not 0.

// MaxDepth is how deep arrays and objects may be nested, as in encoding/json.
const MaxDepth = 10000

// levelsPerFrame is how many levels skip keeps in one word; what lies deeper
// takes a call of its own, at most MaxDepth/levelsPerFrame of them.
const levelsPerFrame = 64

// skip passes over the value at i, white space in front included, which lies
// depth levels deep.
//
// One loop walks all levels: objects has a bit for each open one, the innermost
// lowest, set when it is an object and clear when it is an array.
func (s *scan) skip(i, depth int) (int, Code) {
	doc := s.doc
	var objects uint64
	var code Code
	for open := 0; ; {
		if i = skipSpace(doc, i); i == len(doc) {
			return i, BadEnd
		}
		switch c := doc[i]; {
		case c == '"':
			if end := s.stop(i + 1); uint(end) < uint(len(doc)) && doc[end] == '"' {
				i = end + 1 // only for speed
			} else {
				i, _, code = s.scanString(i)
			}
		case c-'1' < 9:
			for i++; i < len(doc) && isDigit(doc[i]); i++ {
			}
			if i < len(doc) && (doc[i] == '.' || doc[i]|0x20 == 'e') {
				i, code = skipFraction(doc, i)
			}
		case c != '{' && c != '[':
			i, code = skipWord(doc, i)
		case depth+open >= MaxDepth:
			return i, TooDeep
		case open == levelsPerFrame:
			i, code = s.skip(i, depth+open)
		default:
			next, empty := skipOpener(doc, i)
			if i = next; empty {
				break
			}
			open++
			if objects <<= 1; c == '{' {
				objects |= 1
				i, code = s.skipName(i)
			}
			if code != 0 {
				return i, code
			}
			continue
		}
		if code != 0 || open == 0 {
			return i, code
		}
		if i < len(doc) && doc[i] == ',' && objects&1 == 0 { // only for speed
			i++
			continue
		}
		if i, open, objects, code = s.skipClosers(i, open, objects); code != 0 || open == 0 {
			return i, code
		}
	}
}

// skipClosers goes from the end of a value to the next one, over the ends of
// the levels that end with it. It returns the levels that are still open.
func (s *scan) skipClosers(i, open int, objects uint64) (int, int, uint64, Code) {
	doc := s.doc
	for open > 0 {
		if i < len(doc) && doc[i] <= ' ' {
			i = skipSpace(doc, i)
		}
		if i == len(doc) {
			return i, open, objects, BadEnd
		}
		c := doc[i]
		if c == ',' && objects&1 == 0 {
			return i + 1, open, objects, 0
		}
		if c == ',' {
			if i++; i < len(doc) && doc[i] == '"' { // only for speed
				end := s.stop(i + 1)
				if uint(end+1) < uint(len(doc)) && doc[end] == '"' && doc[end+1] == ':' {
					return end + 2, open, objects, 0
				}
			}
			_, next, code := s.scanName(i)
			return next, open, objects, code
		}
		if c != ']'+byte(objects&1)<<5 { // ']' in an array, '}' in an object
			return i, open, objects, BadArray - Code(objects&1)
		}
		i++
		open--
		objects >>= 1
	}
	return i, open, objects, 0
}

// skipSpace skips white space.
func skipSpace(doc []byte, i int) int {
	for ; i < len(doc) && doc[i] <= ' '; i++ {
		if c := doc[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
	}
	return i
}

// skipOpener skips the brace or bracket at i and white space, and the closing
// one too when there is nothing between them.
func skipOpener(doc []byte, i int) (next int, empty bool) {
	closer := doc[i] + ('}' - '{') // the same distance as for brackets
	if i = skipSpace(doc, i+1); i < len(doc) && doc[i] == closer {
		return i + 1, true
	}
	return i, false
}

// skipComma goes from the end of a value to the next one, or behind the closer.
func skipComma(doc []byte, i int, closer byte) (next int, more bool, code Code) {
	if i = skipSpace(doc, i); i == len(doc) {
		return i, false, BadEnd
	}
	switch {
	case doc[i] == ',':
		return i + 1, true, 0
	case doc[i] == closer:
		return i + 1, false, 0
	case closer == '}':
		return i, false, BadObject
	}
	return i, false, BadArray
}

// skipName skips a member's name and the colon.
func (s *scan) skipName(i int) (int, Code) {
	if i < len(s.doc) && s.doc[i] == '"' { // only for speed
		end := s.stop(i + 1)
		if uint(end+1) < uint(len(s.doc)) && s.doc[end] == '"' && s.doc[end+1] == ':' {
			return end + 2, 0
		}
	}
	_, i, code := s.scanName(i)
	return i, code
}

// A name is a member's name as it stands in the document, without quotes.
type name struct {
	text    []byte
	escaped bool
}

// scanName reads a member's name, with white space around, and the colon.
func (s *scan) scanName(i int) (n name, next int, code Code) {
	doc := s.doc
	if i < len(doc) && doc[i] == '"' { // only for speed
		end := s.stop(i + 1)
		if uint(end+1) < uint(len(doc)) && doc[end] == '"' && doc[end+1] == ':' {
			return name{doc[i+1 : end], false}, end + 2, 0
		}
	}
	if i = skipSpace(doc, i); i == len(doc) {
		return n, i, BadEnd
	}
	if doc[i] != '"' {
		return n, i, BadObject
	}
	end, escaped, code := s.scanString(i)
	if code != 0 {
		return n, end, code
	}
	n = name{doc[i+1 : end-1], escaped}
	if end = skipSpace(doc, end); end == len(doc) {
		return n, end, BadEnd
	}
	if doc[end] != ':' {
		return n, end, BadObject
	}
	return n, end + 1, 0
}

// scanString reads the string whose opening quote is at i.
func (s *scan) scanString(i int) (end int, escaped bool, code Code) {
	for i++; ; {
		i = s.nextStop(i)
		switch {
		case i == len(s.doc):
			return i, escaped, BadEnd
		case s.doc[i] == '"':
			return i + 1, escaped, 0
		case s.doc[i] != '\\':
			return i, escaped, BadString
		}
		escaped = true
		if i, code = skipEscape(s.doc, i); code != 0 {
			return i, escaped, code
		}
	}
}
