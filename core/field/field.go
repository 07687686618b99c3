// SPDX-License-Identifier: MIT

package field

// Get returns the value of the field called key of the object doc. It is
// Absent when there is none, or when doc is another kind of value; the error is
// a *SyntaxError when doc is not JSON.
func Get(doc []byte, key string) (Value, error) {
	if i := skipSpace(doc, 0); i < len(doc) && doc[i] == '[' {
		_, err := GetPath(doc) // an array has elements, no fields
		return Value{}, err
	}
	return GetPath(doc, key)
}

// GetPath follows path from the value doc: in an object each step is a field's
// name, in an array an element's index in decimal digits. Without steps the
// value is the whole document. It is Absent when a step leads nowhere.
func GetPath(doc []byte, path ...string) (Value, error) {
	v, end, code := find(doc, 0, 0, path)
	if code == 0 {
		end, code = skipTrailing(doc, end)
	}
	if code != 0 {
		return Value{}, &SyntaxError{code, end}
	}
	return v, nil
}

// Valid tells whether doc is one JSON value, as json.Valid does.
func Valid(doc []byte) bool {
	end, code := skip(doc, 0, 0)
	if code == 0 {
		_, code = skipTrailing(doc, end)
	}
	return code == 0
}

func skipTrailing(doc []byte, i int) (int, Code) {
	if i = skipSpace(doc, i); i < len(doc) {
		return i, Trailing
	}
	return i, 0
}

// find reads the value at i, which lies depth levels deep, to its end, and
// follows path in it.
func find(doc []byte, i, depth int, path []string) (v Value, end int, code Code) {
	if i = skipSpace(doc, i); i == len(doc) {
		return v, i, BadEnd
	}
	switch c := doc[i]; {
	case len(path) == 0:
		if end, code = skip(doc, i, depth); code == 0 {
			v = Value{doc[i:end:end], kindOf(c)}
		}
		return v, end, code
	case c != '{' && c != '[':
		end, code = skip(doc, i, depth)
		return v, end, code
	case depth >= MaxDepth:
		return v, i, TooDeep
	case c == '{':
		return findMember(doc, i, depth, path)
	}
	return findElement(doc, i, depth, path)
}

// findMember reads the object at i and follows path in it. A later member of
// the same name replaces all of an earlier one.
func findMember(doc []byte, i, depth int, path []string) (v Value, end int, code Code) {
	ascii := isASCII(path[0])
	i, empty := skipOpener(doc, i)
	for more := !empty; more; {
		var n name
		if n, i, code = scanName(doc, i); code != 0 {
			break
		}
		if n.is(path[0], ascii) {
			v, i, code = find(doc, i, depth+1, path[1:])
		} else if i < len(doc) && doc[i] == '"' { // only for speed
			i, _, code = scanString(doc, i)
		} else {
			i, code = skip(doc, i, depth+1)
		}
		if code != 0 {
			break
		}
		i, more, code = skipComma(doc, i, '}')
	}
	return v, i, code
}

// findElement reads the array at i and follows path in it.
func findElement(doc []byte, i, depth int, path []string) (v Value, end int, code Code) {
	want := parseIndex(path[0])
	i, empty := skipOpener(doc, i)
	at := 0
	for more := !empty; more; at++ {
		if at == want {
			v, i, code = find(doc, i, depth+1, path[1:])
		} else {
			i, code = skip(doc, i, depth+1)
		}
		if code != 0 {
			break
		}
		i, more, code = skipComma(doc, i, ']')
	}
	return v, i, code
}

// parseIndex reads an array index as one writes it; -1 when it is none.
func parseIndex(s string) int {
	const digitsMax = 9 // no array of a document in memory has more elements
	if len(s) == 0 || len(s) > digitsMax || s[0] == '0' && len(s) > 1 {
		return -1
	}
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}
