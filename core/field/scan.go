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
		if c := doc[i]; c != '{' && c != '[' {
			i, code = skipScalar(doc, i)
		} else if depth+open >= MaxDepth {
			return i, TooDeep
		} else if open == levelsPerFrame {
			i, code = skip(doc, i, depth+open)
		} else if next, empty := skipOpener(doc, i); empty {
			i = next
		} else {
			i = next
			open++
			objects <<= 1
			if c == '{' {
				objects |= 1
				i, code = skipName(doc, i)
			}
			if code != 0 {
				return i, code
			}
			continue
		}
		for more := false; !more; { // a value ended, and with it perhaps others
			if code != 0 || open == 0 {
				return i, code
			}
			if objects&1 != 0 {
				i, more, code = skipMember(doc, i)
			} else {
				i, more, code = skipComma(doc, i, ']')
			}
			if !more {
				open--
				objects >>= 1
			}
		}
	}
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

// skipMember goes from the end of a member's value to the next one's, or behind
// the brace.
func skipMember(doc []byte, i int) (next int, more bool, code Code) {
	if i, more, code = skipComma(doc, i, '}'); more {
		i, code = skipName(doc, i)
	}
	return i, more && code == 0, code
}

// skipName skips a member's name and the colon.
func skipName(doc []byte, i int) (int, Code) {
	_, i, code := scanName(doc, i)
	return i, code
}

// A name is a member's name as it stands in the document, without quotes.
type name struct {
	text  []byte
	plain bool // ASCII without escapes: text is the name itself
}

// scanName reads a member's name, with white space around, and the colon.
func scanName(doc []byte, i int) (n name, next int, code Code) {
	if i = skipSpace(doc, i); i == len(doc) {
		return n, i, BadEnd
	}
	if doc[i] != '"' {
		return n, i, BadObject
	}
	end, plain, code := scanString(doc, i)
	if code != 0 {
		return n, end, code
	}
	n = name{doc[i+1 : end-1], plain}
	if end = skipSpace(doc, end); end == len(doc) {
		return n, end, BadEnd
	}
	if doc[end] != ':' {
		return n, end, BadObject
	}
	return n, end + 1, 0
}
