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
func skip(doc []byte, i, depth int) (int, Code) {
	var objects uint64
	var code Code
	for open := 0; ; {
		if i = skipSpace(doc, i); i == len(doc) {
			return i, BadEnd
		}
		if c := doc[i]; c == '"' {
			i, _, code = scanString(doc, i)
		} else if isDigit(c) || c == '-' {
			i, code = skipNumber(doc, i)
		} else if c != '{' && c != '[' {
			i, code = skipWord(doc, i)
		} else if depth+open >= MaxDepth {
			return i, TooDeep
		} else if open == levelsPerFrame {
			i, code = skip(doc, i, depth+open)
		} else if next, empty := skipOpener(doc, i); empty {
			i = next
		} else {
			i = next
			open++
			objects = objects<<1 | uint64(c>>5&1) // set in a brace only
			if c == '{' {
				i, code = skipName(doc, i)
			}
			if code != 0 {
				return i, code
			}
			continue
		}
		if code == 0 && open > 0 {
			i, open, objects, code = skipClosers(doc, i, open, objects)
		}
		if code != 0 || open == 0 {
			return i, code
		}
	}
}

// skipClosers goes from the end of a value to the next one, over the ends of
// the levels that end with it. It returns the levels that are still open.
func skipClosers(doc []byte, i, open int, objects uint64) (int, int, uint64, Code) {
	for open > 0 {
		if i = skipSpace(doc, i); i == len(doc) {
			return i, open, objects, BadEnd
		}
		if doc[i] == ',' {
			code := Code(0)
			if i++; objects&1 != 0 {
				i, code = skipName(doc, i)
			}
			return i, open, objects, code
		}
		if objects&1 != 0 && doc[i] != '}' {
			return i, open, objects, BadObject
		}
		if objects&1 == 0 && doc[i] != ']' {
			return i, open, objects, BadArray
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
func skipName(doc []byte, i int) (int, Code) {
	if i < len(doc) && doc[i] == '"' { // only for speed
		end, _, code := scanString(doc, i)
		if code == 0 && end < len(doc) && doc[end] == ':' {
			return end + 1, 0
		}
	}
	_, i, code := scanName(doc, i)
	return i, code
}

// A name is a member's name as it stands in the document, without quotes.
type name struct {
	text    []byte
	escaped bool
}

// scanName reads a member's name, with white space around, and the colon.
func scanName(doc []byte, i int) (n name, next int, code Code) {
	if i = skipSpace(doc, i); i == len(doc) {
		return n, i, BadEnd
	}
	if doc[i] != '"' {
		return n, i, BadObject
	}
	end, escaped, code := scanString(doc, i)
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
