// SPDX-License-Identifier: MIT

package route

import (
	"net/http"
	"slices"
	"strings"
)

// An endpoint is what one registration leads to. It never changes once made.
type endpoint struct {
	method  string // "" for any
	pattern string // as http.Request.Pattern reports it
	names   []string
	handler http.Handler
}

// A node is one point of the radix tree over the text of all patterns. A path
// through the tree fixes the number of slashes consumed, so one look-up visits
// a node at most once: matching is linear in the tree, whatever the request.
type node struct {
	text   string  // leads here, from the parent
	heads  string  // first byte of each child's text, same order as kids
	kids   []*node // text children
	param  *node   // after one segment
	rest   *node   // after everything; only endpoints below
	points []*endpoint
}

// insert adds the endpoint under parts; the caller has ruled out doubles.
func (n *node) insert(parts []part, e *endpoint) {
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
	n.points = append(n.points, e)
}

// child finds or makes the node that text leads to, splitting where it must.
func (n *node) child(text string) *node {
	for text != "" {
		i := strings.IndexByte(n.heads, text[0])
		if i < 0 {
			kid := &node{text: text}
			n.heads += text[:1]
			n.kids = append(n.kids, kid)
			return kid
		}
		kid := n.kids[i]
		common := commonPrefix(kid.text, text)
		if common < len(kid.text) {
			lower := *kid
			lower.text = kid.text[common:]
			*kid = node{text: text[:common], heads: lower.text[:1], kids: []*node{&lower}}
		}
		n, text = kid, text[common:]
	}
	return n
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

// A match is one look-up: the request's method in, values and, where the path
// exists only under other methods, those out.
type match struct {
	method string
	values [paramsMax]string
	others []*endpoint // fit the path, not the method
}

// find returns the endpoint that serves path below n, nil when none does.
// depth counts the values taken so far.
func (m *match) find(n *node, path string, depth int) *endpoint {
	if path == "" {
		if e := m.pick(n); e != nil {
			return e
		}
	} else if i := strings.IndexByte(n.heads, path[0]); i >= 0 {
		kid := n.kids[i]
		if strings.HasPrefix(path, kid.text) {
			if e := m.find(kid, path[len(kid.text):], depth); e != nil {
				return e
			}
		}
	}
	if n.param != nil && path != "" && path[0] != '/' {
		end := strings.IndexByte(path, '/')
		if end < 0 {
			end = len(path)
		}
		if e := m.find(n.param, path[end:], depth+1); e != nil {
			m.values[depth] = path[:end]
			return e
		}
	}
	if n.rest != nil {
		if e := m.pick(n.rest); e != nil {
			m.values[depth] = path
			return e
		}
	}
	return nil
}

// pick chooses among the endpoints of one path: the method itself, GET for
// HEAD, then any.
func (m *match) pick(n *node) *endpoint {
	var get, anyMethod *endpoint
	for _, e := range n.points {
		switch e.method {
		case m.method:
			return e
		case http.MethodGet:
			get = e
		case "":
			anyMethod = e
		}
	}
	if get != nil && m.method == http.MethodHead {
		return get
	}
	if anyMethod != nil {
		return anyMethod
	}
	m.others = append(m.others, n.points...)
	return nil
}

// allow lists the methods that the path is served under, for the Allow field.
func (m *match) allow() string {
	methods := []string{http.MethodOptions}
	for _, e := range m.others {
		methods = append(methods, e.method)
		if e.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}
