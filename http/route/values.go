// SPDX-License-Identifier: MIT

package route

import (
	"math"
	"net/url"
)

// Values are the named parts of the path that fit a pattern. They are valid for
// as long as they are kept.
type Values struct {
	endpoint *endpoint
	path     string // of the request
	escaped  bool   // path is as it was sent
	spans    [paramsMax]span
}

// A span is where one value stands in the path.
type span struct{ from, to uint16 }

// pathMax is the longest path that spans reach into.
const pathMax = math.MaxUint16

// Get is the value of a name, "" when the pattern does not have it.
func (v *Values) Get(name string) string {
	if v.endpoint != nil {
		for i, have := range v.endpoint.names {
			if have == name {
				return v.at(i)
			}
		}
	}
	return ""
}

// at is the i-th value, without its escapes.
func (v *Values) at(i int) string {
	value := v.path[v.spans[i].from:v.spans[i].to]
	if v.escaped {
		value, _ = url.PathUnescape(value) // valid was asked
	}
	return value
}

// valid reports whether the first n values are escaped rightly; the server refuses
// a request where they are not before it gets here.
func (v *Values) valid(n int) bool {
	for i := range n {
		if _, err := url.PathUnescape(v.path[v.spans[i].from:v.spans[i].to]); err != nil {
			return false
		}
	}
	return true
}
