// SPDX-License-Identifier: MIT

package field

// Get returns the value of the field called key of the object doc. It is
// Absent when there is none, or when doc is another kind of value; the error is
// a *SyntaxError when doc is not JSON.
func Get(doc []byte, key string) (Value, error) {
	s := scan{doc: doc}
	s.begin()
	i := skipSpace(doc, 0)
	if i < len(doc) && doc[i] == '{' {
		return s.end(s.get(i, key))
	}
	i, code := s.skip(i, 0)
	return s.end(Value{}, i, code)
}

// GetPath follows path from the value doc: in an object each step is a field's
// name, in an array an element's index in decimal digits. Without steps the
// value is the whole document. It is Absent when a step leads nowhere.
func GetPath(doc []byte, path ...string) (Value, error) {
	s := scan{doc: doc}
	s.begin()
	return s.end(s.find(0, 0, path))
}

// Valid tells whether doc is one JSON value, as json.Valid does.
func Valid(doc []byte) bool {
	s := scan{doc: doc}
	s.begin()
	end, code := s.skip(0, 0)
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
func (s *scan) find(i, depth int, path []string) (v Value, end int, code Code) {
	doc := s.doc
	if i = skipSpace(doc, i); i == len(doc) {
		return v, i, BadEnd
	}
	switch c := doc[i]; {
	case len(path) == 0:
		if end, code = s.skip(i, depth); code == 0 {
			v = Value{doc[i:end:end], kindOf(c)}
		}
		return v, end, code
	case c != '{' && c != '[':
		end, code = s.skip(i, depth)
		return v, end, code
	case depth >= MaxDepth:
		return v, i, TooDeep
	case c == '{':
		return s.findMember(i, depth, path)
	}
	return s.findElement(i, depth, path)
}

// findMember reads the object at i and follows path in it. A later member of
// the same name replaces all of an earlier one.
func (s *scan) findMember(i, depth int, path []string) (v Value, end int, code Code) {
	doc, key, ascii := s.doc, path[0], isASCII(path[0])
	i, empty := skipOpener(doc, i)
	for more := !empty; more; {
		var same bool
		if same, i, code = s.scanKey(i, key, ascii); code != 0 {
			break
		}
		if same {
			v, i, code = s.find(i, depth+1, path[1:])
		} else {
			i, code = s.skip(i, depth+1)
		}
		if code != 0 {
			break
		}
		if i < len(doc) && doc[i] == ',' { // only for speed
			i++
			continue
		}
		i, more, code = skipComma(doc, i, '}')
	}
	return v, i, code
}

// scanKey reads a member's name and the colon, and tells whether it is key.
func (s *scan) scanKey(i int, key string, ascii bool) (same bool, next int, code Code) {
	if doc := s.doc; ascii && i < len(doc) && doc[i] == '"' { // only for speed
		end := s.stop(i + 1)
		if uint(end+1) < uint(len(doc)) && doc[end] == '"' && doc[end+1] == ':' {
			return string(doc[i+1:end]) == key, end + 2, 0
		}
	}
	n, next, code := s.scanName(i)
	return code == 0 && n.is(key, ascii), next, code
}

// findElement reads the array at i and follows path in it.
func (s *scan) findElement(i, depth int, path []string) (v Value, end int, code Code) {
	doc, want := s.doc, parseIndex(path[0])
	i, empty := skipOpener(doc, i)
	at := 0
	for more := !empty; more; at++ {
		if at == want {
			v, i, code = s.find(i, depth+1, path[1:])
		} else {
			i, code = s.skip(i, depth+1)
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
