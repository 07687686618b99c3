// SPDX-License-Identifier: MIT

package field

// A Document answers many questions about one document, which Parse reads and
// checks once; an answer is then a walk over the members of the objects that lead
// to it. It has one owner while Parse runs; afterwards it may be asked by many. The
// zero Document holds nothing.
type Document struct {
	doc     []byte
	entries []entry // every value, each in front of those it holds
}

// An entry is where a value of a Document is.
type entry struct {
	name     name // as a member of an object
	from, to int  // its bytes
	next     int  // the entry behind it and all it holds
}

// Parse reads doc in place of what d held; the error is a *SyntaxError when it is
// not JSON, and d is then empty. d and its values are good as long as doc stays
// unchanged. Memory that d has is used again: parsing like documents with one
// Document comes to allocate nothing.
func (d *Document) Parse(doc []byte) error {
	s := scan{doc: doc}
	s.begin()
	d.doc, d.entries = doc, d.entries[:0]
	i, code := d.index(&s, 0, 0, name{})
	if code == 0 {
		i, code = skipTrailing(doc, i)
	}
	if code != 0 {
		d.doc, d.entries = nil, d.entries[:0]
		return &SyntaxError{code, i}
	}
	return nil
}

// Get is the function Get for the document that d holds.
func (d *Document) Get(key string) Value {
	if len(d.entries) == 0 || d.doc[d.entries[0].from] == '[' {
		return Value{}
	}
	return d.valueAt(d.child(0, key))
}

// Path is the function GetPath for the document that d holds.
func (d *Document) Path(path ...string) Value {
	at := 0
	for i := 0; i < len(path) && at >= 0 && at < len(d.entries); i++ {
		at = d.child(at, path[i])
	}
	return d.valueAt(at)
}

// valueAt returns the value of an entry; Absent for a number that is none.
func (d *Document) valueAt(at int) Value {
	if at < 0 || at >= len(d.entries) {
		return Value{}
	}
	e := &d.entries[at]
	return Value{d.doc[e.from:e.to:e.to], kindOf(d.doc[e.from])}
}

// child returns the entry in the object or array at that step leads to, -1 when
// there is none.
func (d *Document) child(at int, step string) int {
	e, found := d.entries[at], -1
	switch d.doc[e.from] {
	case '{':
		ascii := isASCII(step)
		for c := at + 1; c < e.next; c = d.entries[c].next {
			n := &d.entries[c].name
			if ascii && !n.escaped && len(n.text) != len(step) {
				continue // only for speed
			}
			if n.is(step, ascii) {
				found = c
			}
		}
	case '[':
		want := parseIndex(step)
		c := at + 1
		for ; c < e.next && want > 0; c = d.entries[c].next {
			want--
		}
		if c < e.next && want == 0 {
			found = c
		}
	}
	return found
}

// index appends the value at i, which is called n, and what it holds.
func (d *Document) index(s *scan, i, depth int, n name) (int, Code) {
	doc := s.doc
	if i = skipSpace(doc, i); i == len(doc) {
		return i, BadEnd
	}
	at, code := len(d.entries), Code(0)
	d.entries = append(d.entries, entry{name: n, from: i})
	switch c := doc[i]; {
	case c != '{' && c != '[':
		i, code = s.skip(i, depth)
	case depth >= MaxDepth:
		code = TooDeep
	default:
		i, code = d.indexMembers(s, i, depth+1)
	}
	e := &d.entries[at]
	e.to, e.next = i, len(d.entries)
	return i, code
}

// indexMembers appends the values in the object or array at i.
func (d *Document) indexMembers(s *scan, i, depth int) (int, Code) {
	opener, code := s.doc[i], Code(0)
	i, empty := skipOpener(s.doc, i)
	for more := !empty; more && code == 0; {
		var n name
		if opener == '{' {
			n, i, code = s.scanName(i)
		}
		if code == 0 {
			i, code = d.index(s, i, depth, n)
		}
		if code == 0 {
			i, more, code = skipComma(s.doc, i, opener+('}'-'{'))
		}
	}
	return i, code
}
