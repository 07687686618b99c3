// SPDX-License-Identifier: MIT

package route

import (
	"bytes"
	"net/http"
	"strings"
)

// An endpoint is what one registration leads to. It never changes once made.
type endpoint struct {
	method  string // "" for any
	pattern string // as http.Request.Pattern reports it
	names   []string
	parts   []part
	handler http.Handler
	values  func(http.ResponseWriter, *http.Request, Values) // nil: handler
}

// A tree has what is served under one method: its own endpoints, those of GET if
// it is HEAD, and those for any method.
type tree struct {
	method string // "": only what any method finds
	root   node
}

// add takes e in if it serves the tree's method.
func (t *tree) add(e *endpoint) {
	if t.rank(e) > 0 {
		n := t.root.insert(e.parts)
		if n.point == nil || t.rank(e) > t.rank(n.point) {
			n.point = e
		}
	}
}

// rank says how well e serves the tree's method, 0 when it does not.
func (t *tree) rank(e *endpoint) int {
	switch {
	case e.method == "":
		return 1
	case e.method == t.method:
		return 3
	case e.method == http.MethodGet && t.method == http.MethodHead:
		return 2
	}
	return 0
}

// A node is one point of the radix tree over the text of all patterns. A path
// through the tree fixes the number of slashes consumed, so one look-up visits
// a node at most once: matching is linear in the tree, whatever the request.
type node struct {
	text  string  // leads here, from the parent
	heads []byte  // first byte of each child's text, same order as kids
	kids  []*node // text children, those with the most endpoints first
	param *node   // after one segment
	rest  *node   // after everything; it has an endpoint and nothing below
	point *endpoint
	uses  int // endpoints that were put below
}

// insert finds or makes the node that parts lead to.
func (n *node) insert(parts []part) *node {
	for _, pt := range parts {
		switch pt.kind {
		case partText:
			n = n.child(pt.text)
		case partParam:
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
		case partRest:
			if n.rest == nil {
				n.rest = &node{}
			}
			n = n.rest
		}
	}
	return n
}

// child finds or makes the node that text leads to, splitting where it must.
func (n *node) child(text string) *node {
	for text != "" {
		i := bytes.IndexByte(n.heads, text[0])
		if i < 0 {
			kid := &node{text: text, uses: 1}
			n.heads = append(n.heads, text[0])
			n.kids = append(n.kids, kid)
			return kid
		}
		kid := n.promote(i)
		common := commonPrefix(kid.text, text)
		if common < len(kid.text) {
			lower := *kid
			lower.text = kid.text[common:]
			lower.uses--
			*kid = node{
				text: text[:common], heads: []byte(lower.text[:1]), kids: []*node{&lower},
				uses: kid.uses,
			}
		}
		n, text = kid, text[common:]
	}
	return n
}

// promote counts one more endpoint below the i-th child and keeps the order.
func (n *node) promote(i int) *node {
	kid := n.kids[i]
	kid.uses++
	for ; i > 0 && n.kids[i-1].uses < kid.uses; i-- {
		n.kids[i], n.kids[i-1] = n.kids[i-1], kid
		n.heads[i], n.heads[i-1] = n.heads[i-1], n.heads[i]
	}
	return kid
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// find returns the endpoint below n that serves the path from byte at, nil when
// none does. depth counts the values taken so far. It goes down in a loop and
// calls itself only where there is a second way to try.
func (v *Values) find(n *node, at, depth int) *endpoint {
	for {
		if at == len(v.path) {
			if n.point != nil {
				return n.point
			}
			return v.takeRest(n, at, depth)
		}
		kid := n.kid(v.path[at:])
		if n.param == nil && n.rest == nil {
			if kid == nil {
				return nil
			}
			n, at = kid, at+len(kid.text)
			continue
		}
		if kid != nil {
			if e := v.find(kid, at+len(kid.text), depth); e != nil {
				return e
			}
		}
		if n.param == nil || v.path[at] == '/' {
			return v.takeRest(n, at, depth)
		}
		end := segmentEnd(v.path, at)
		if n.rest == nil {
			v.spans[depth] = span{uint16(at), uint16(end)}
			n, at, depth = n.param, end, depth+1
			continue
		}
		if e := v.find(n.param, end, depth+1); e != nil {
			v.spans[depth] = span{uint16(at), uint16(end)}
			return e
		}
		return v.takeRest(n, at, depth)
	}
}

// takeRest is the endpoint that takes all that follows, nil when there is none.
func (v *Values) takeRest(n *node, at, depth int) *endpoint {
	if n.rest == nil {
		return nil
	}
	v.spans[depth] = span{uint16(at), uint16(len(v.path))}
	return n.rest.point
}

// kid is the text child that path begins with.
func (n *node) kid(path string) *node {
	for i, head := range n.heads {
		if head == path[0] {
			if kid := n.kids[i]; strings.HasPrefix(path, kid.text) {
				return kid
			}
			return nil
		}
	}
	return nil
}

func segmentEnd(path string, at int) int {
	for at < len(path) && path[at] != '/' {
		at++
	}
	return at
}
