// SPDX-License-Identifier: MIT

package lint

import (
	"bytes"
	"html"
	"strings"
)

// An element is a start tag of the page.
type element struct {
	tag   string // small letters
	at    int    // of the "<"
	attrs []attribute
	close bool // an end tag
	empty bool // ends with "/>"
}

// An attribute as it is written.
type attribute struct {
	name  string // as it is written
	value string // with character references resolved
	at    int    // of the name
	valAt int    // of the value, behind its quote
	raw   string // the value as it is written
}

// get is the value of an attribute.
func (e *element) get(name string) (value string, ok bool) {
	for i := range e.attrs {
		if strings.EqualFold(e.attrs[i].name, name) {
			return e.attrs[i].value, true
		}
	}
	return "", false
}

// A scanner finds the tags of a page, with their places, by the rules of HTML's tokenizer (WHATWG
// HTML, section 13.2.5) as far as they concern tags.
type scanner struct {
	page []byte
	pos  int
}

// textOf are elements whose content is text up to their end tag.
var textOf = map[string]bool{
	"script": true, "style": true, "textarea": true, "title": true, "xmp": true, "iframe": true,
	"noembed": true, "noframes": true,
}

// next gives the next tag; text is what stood before it.
func (s *scanner) next() (e *element, text []byte) {
	from := s.pos
	for s.pos < len(s.page) {
		i := bytes.IndexByte(s.page[s.pos:], '<')
		if i < 0 {
			break
		}
		s.pos += i
		rest := s.page[s.pos:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			text = append(text, s.page[from:s.pos]...)
			s.skipComment()
			from = s.pos
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '?'),
			len(rest) > 2 && rest[1] == '/' && !isLetter(rest[2]):
			text = append(text, s.page[from:s.pos]...)
			s.skipTo(">")
			from = s.pos
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/':
			text = append(text, s.page[from:s.pos]...)
			return s.tag(), text
		default:
			s.pos++
		}
	}
	s.pos = len(s.page)
	return nil, append(text, s.page[from:]...)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// skipComment goes behind a comment. "<!-->" and "<!--->" are whole ones.
func (s *scanner) skipComment() {
	s.pos += 4
	for _, short := range [...]string{">", "->"} {
		if bytes.HasPrefix(s.page[s.pos:], []byte(short)) {
			s.pos += len(short)
			return
		}
	}
	s.skipTo("-->")
}

// skipTo goes behind the next end, or to the end of the page.
func (s *scanner) skipTo(end string) {
	if i := bytes.Index(s.page[s.pos:], []byte(end)); i >= 0 {
		s.pos += i + len(end)
		return
	}
	s.pos = len(s.page)
}

// tag reads a tag, and the text of an element that has nothing else.
func (s *scanner) tag() *element {
	e := &element{at: s.pos}
	s.pos++
	if s.page[s.pos] == '/' {
		e.close = true
		s.pos++
	}
	from := s.pos
	for s.pos < len(s.page) && !isBlank(s.page[s.pos]) && strings.IndexByte("/>", s.page[s.pos]) < 0 {
		s.pos++
	}
	e.tag = strings.ToLower(string(s.page[from:s.pos]))
	for s.attribute(e) {
	}
	if !e.close && textOf[e.tag] {
		s.skipText(e.tag)
	}
	return e
}

// attribute reads one more attribute, or the end of the tag.
func (s *scanner) attribute(e *element) bool {
	e.empty = false
	for s.pos < len(s.page) && (isBlank(s.page[s.pos]) || s.page[s.pos] == '/') {
		e.empty = s.page[s.pos] == '/'
		s.pos++
	}
	if s.pos >= len(s.page) {
		return false
	}
	if s.page[s.pos] == '>' {
		s.pos++
		return false
	}
	a := attribute{at: s.pos}
	s.pos++ // whatever it is, also "="
	for s.pos < len(s.page) && !isBlank(s.page[s.pos]) && strings.IndexByte("/>=", s.page[s.pos]) < 0 {
		s.pos++
	}
	a.name = string(s.page[a.at:s.pos])
	s.value(&a)
	e.attrs = append(e.attrs, a)
	return true
}

// value reads what stands behind a name.
func (s *scanner) value(a *attribute) {
	after := s.pos
	s.skipBlanks()
	if s.pos >= len(s.page) || s.page[s.pos] != '=' {
		s.pos, a.valAt = after, after
		return
	}
	s.pos++
	s.skipBlanks()
	a.valAt = s.pos
	if s.pos >= len(s.page) {
		return
	}
	if quote := s.page[s.pos]; quote == '"' || quote == '\'' {
		s.pos++
		a.valAt = s.pos
		s.skipTo(string(quote))
		a.raw = string(bytes.TrimSuffix(s.page[a.valAt:s.pos], []byte{quote}))
	} else {
		for s.pos < len(s.page) && !isBlank(s.page[s.pos]) && s.page[s.pos] != '>' {
			s.pos++
		}
		a.raw = string(s.page[a.valAt:s.pos])
	}
	a.value = html.UnescapeString(a.raw)
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.page) && isBlank(s.page[s.pos]) {
		s.pos++
	}
}

// skipText goes to the end tag of an element.
func (s *scanner) skipText(tag string) {
	for s.pos < len(s.page) {
		i := bytes.Index(s.page[s.pos:], []byte("</"))
		if i < 0 {
			s.pos = len(s.page)
			return
		}
		s.pos += i
		rest := s.page[s.pos+2:]
		if len(rest) >= len(tag) && strings.EqualFold(string(rest[:len(tag)]), tag) &&
			(len(rest) == len(tag) || isBlank(rest[len(tag)]) || rest[len(tag)] == '>' ||
				rest[len(tag)] == '/') {
			return
		}
		s.pos += 2
	}
}
