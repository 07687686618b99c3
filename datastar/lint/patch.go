// SPDX-License-Identifier: MIT

package lint

import (
	"bytes"
	"slices"
)

// Patch looks at the elements of a patch without a selector (mode outer or replace): each goes to
// the element of the page with its id, and is dropped where there is none. page is what they are
// meant for; nil: not known, any id will do. The findings of Check are among them.
func Patch(elements, page []byte, o Options) []Finding {
	var there *checker
	if page != nil {
		there = newChecker(page, o)
		for s, e := (scanner{page: page}), (*element)(nil); ; {
			if e, _ = s.next(); e == nil {
				break
			}
			if id, ok := e.get("id"); ok && !e.close {
				there.ids[id] = true
			}
		}
	}
	c := newChecker(elements, o)
	scan, depth := scanner{page: elements}, nesting{}
	for {
		at := scan.pos
		e, text := scan.next()
		if depth.top() && len(bytes.TrimSpace(text)) > 0 {
			c.report(at, "text", string(text), "text outside of the elements is dropped",
				"put it into an element")
		}
		if e == nil {
			break
		}
		if depth.enter(e) {
			c.target(e, there)
		}
		if !e.close {
			c.element(e)
		}
	}
	c.signalsUsed()
	return c.sorted()
}

// target looks at an element that is not inside another.
func (c *checker) target(e *element, there *checker) {
	if e.tag == "html" || e.tag == "head" || e.tag == "body" {
		return // the client finds them without ids
	}
	id, _ := e.get("id")
	switch {
	case id == "":
		c.report(e.at, "target", "<"+e.tag+">", "without an id it goes nowhere",
			"give it the id of the element that it replaces, or the patch a selector")
	case there != nil && !there.ids[id]:
		c.report(e.at, "target", "id="+id, "the page has no such element: it goes nowhere",
			"put an element with that id into the page, or give the patch a selector and a mode")
	}
}

// nesting knows how deep a tag is, with the end tags that HTML lets one leave out.
type nesting struct{ open []string }

func (n *nesting) top() bool { return len(n.open) == 0 }

// enter takes the next tag. It reports whether that begins an element that is in no other.
func (n *nesting) enter(e *element) bool {
	if e.close {
		for i := len(n.open) - 1; i >= 0; i-- {
			if n.open[i] == e.tag {
				n.open = n.open[:i]
				break
			}
		}
		return false
	}
	for len(n.open) > 0 && slices.Contains(implied[n.open[len(n.open)-1]], e.tag) {
		n.open = n.open[:len(n.open)-1]
	}
	top := n.top()
	foreign := slices.Contains(n.open, "svg") || slices.Contains(n.open, "math") ||
		e.tag == "svg" || e.tag == "math"
	if !void[e.tag] && (!e.empty || !foreign) {
		n.open = append(n.open, e.tag)
	}
	return top
}

// void elements have no content and no end tag (WHATWG HTML, section 13.1.2).
var void = words("area base br col embed hr img input link meta source track wbr")

// implied are the start tags that end an element whose end tag is left out (section 13.1.2.4).
var implied = map[string][]string{
	"li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"},
	"option": {"option", "optgroup"}, "optgroup": {"optgroup"},
	"td": {"td", "th", "tr", "tbody", "tfoot"}, "th": {"td", "th", "tr", "tbody", "tfoot"},
	"tr": {"tr", "tbody", "tfoot"}, "thead": {"tbody", "tfoot"}, "tbody": {"tbody", "tfoot"},
	"p": {
		"address", "article", "aside", "blockquote", "details", "dialog", "div", "dl", "fieldset",
		"figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
		"hgroup", "hr", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "table", "ul",
	},
}
