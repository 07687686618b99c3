// SPDX-License-Identifier: MIT

package field

// get reads the object at i to its end and looks key up among its members; the
// last of that name counts. It is findMember for the whole of most calls.
func (s *scan) get(i int, key string) (v Value, end int, code Code) {
	doc, ascii := s.doc, isASCII(key)
	from, to := 0, 0 // the value found so far
	i, empty := skipOpener(doc, i)
	for more := !empty; more; {
		same := false
		name := unknown
		if i < len(doc) && doc[i] == '"' {
			name = s.stop(i + 1)
		}
		if uint(name+1) < uint(len(doc)) && doc[name] == '"' && doc[name+1] == ':' && ascii {
			same = string(doc[i+1:name]) == key // only for speed
			i = name + 2
		} else if same, i, code = s.scanKey(i, key, ascii); code != 0 {
			return v, i, code
		}
		if i < len(doc) && doc[i] <= ' ' {
			i = skipSpace(doc, i)
		}
		start, text := i, unknown
		if i < len(doc) && doc[i] == '"' {
			text = s.stop(i + 1)
		}
		if uint(text) < uint(len(doc)) && doc[text] == '"' { // only for speed
			i = text + 1
		} else if i, code = s.skipShort(i); code != 0 {
			return v, i, code
		}
		if same {
			from, to = start, i
		}
		if i < len(doc) && doc[i] == ',' { // only for speed
			i++
			continue
		}
		if i, more, code = skipComma(doc, i, '}'); code != 0 {
			return v, i, code
		}
	}
	if to > 0 {
		v = Value{doc[from:to:to], kindOf(doc[from])}
	}
	return v, i, 0
}

// end checks that nothing follows a document that was read up to i.
func (s *scan) end(v Value, i int, code Code) (Value, error) {
	if code == 0 && i < len(s.doc) {
		i, code = skipTrailing(s.doc, i)
	}
	if code != 0 {
		return Value{}, &SyntaxError{code, i}
	}
	return v, nil
}

// skipShort is skip for a value of the document's object, most of which are short.
func (s *scan) skipShort(i int) (int, Code) {
	doc := s.doc
	if i+4 < len(doc) && string(doc[i:i+4]) == "true" {
		return i + 4, 0
	}
	if i < len(doc) && doc[i]-'1' < 9 {
		for i++; i < len(doc); i++ {
			if c := doc[i]; c == ',' || c == '}' {
				return i, 0
			} else if !isDigit(c) {
				return skipFraction(doc, i)
			}
		}
		return i, 0
	}
	return s.skip(i, 1)
}
