// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"strings"
)

// paramsMax bounds the named parts of one pattern, so that a match needs no
// memory of its own.
const paramsMax = 16

// A kind says what one part of a pattern matches.
type kind uint8

const (
	partText  kind = iota // these bytes
	partParam             // one segment, not empty
	partRest              // everything that follows
)

// A part is a run of text or one named hole of a pattern.
type part struct {
	kind kind
	text string // the bytes, or the name
}

// A pattern is a parsed registration string.
type pattern struct {
	source string // as written, without the method
	method string // "" for any
	parts  []part
}

// names lists the named parts in order.
func (p *pattern) names() []string {
	var names []string
	for _, pt := range p.parts {
		if pt.kind != partText {
			names = append(names, pt.text)
		}
	}
	return names
}

// shape is the pattern with its names taken out: two patterns of one shape and
// one method would serve the same requests.
func (p *pattern) shape() string {
	var b strings.Builder
	for _, pt := range p.parts {
		switch pt.kind {
		case partText:
			b.WriteString(pt.text)
		case partParam:
			b.WriteString(":")
		case partRest:
			b.WriteString("*")
		}
	}
	return b.String()
}

// parsePattern reads "[METHOD ]/path". The error is a sentence without prefix.
func parsePattern(s string) (*pattern, error) {
	p := &pattern{source: s}
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		p.method, p.source = s[:i], strings.TrimLeft(s[i:], " \t")
		if !isMethod(p.method) {
			return nil, fmt.Errorf("%q is not a method", p.method)
		}
	}
	if !strings.HasPrefix(p.source, "/") {
		return nil, fmt.Errorf("the path has to start with / (a host is not part of a pattern)")
	}
	if err := p.parsePath(p.source); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, name := range p.names() {
		if seen[name] {
			return nil, fmt.Errorf("the name %q stands twice", name)
		}
		seen[name] = true
	}
	if len(seen) > paramsMax {
		return nil, fmt.Errorf("more than %d names", paramsMax)
	}
	return p, nil
}

func (p *pattern) parsePath(path string) error {
	segments := strings.Split(path[1:], "/")
	text := "/"
	for i, seg := range segments {
		last := i == len(segments)-1
		pt, err := parseSegment(seg, last)
		if err != nil {
			return err
		}
		if pt.kind == partText {
			text += pt.text
		} else {
			p.parts = append(p.parts, part{partText, text}, pt)
			text = ""
		}
		if !last {
			text += "/"
		}
	}
	if text != "" {
		p.parts = append(p.parts, part{partText, text})
	}
	return nil
}

func parseSegment(seg string, last bool) (part, error) {
	pt := part{partText, seg}
	switch {
	case seg == "{$}" && last:
		return part{partText, ""}, nil
	case strings.HasPrefix(seg, ":"):
		pt = part{partParam, seg[1:]}
	case strings.HasPrefix(seg, "*"):
		pt = part{partRest, seg[1:]}
	case strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "...}"):
		pt = part{partRest, seg[1 : len(seg)-len("...}")]}
	case strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "}"):
		pt = part{partParam, seg[1 : len(seg)-1]}
	case strings.ContainsAny(seg, "{}*:"):
		return pt, fmt.Errorf("segment %q: a name takes a whole segment", seg)
	}
	if pt.kind == partText {
		return pt, nil
	}
	if !isName(pt.text) {
		return pt, fmt.Errorf("segment %q: %q is not a name", seg, pt.text)
	}
	if pt.kind == partRest && !last {
		return pt, fmt.Errorf("segment %q has to be the last one", seg)
	}
	return pt, nil
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// isMethod reports whether s is a token (RFC 9110, section 5.6.2).
func isMethod(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte(marks, c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
