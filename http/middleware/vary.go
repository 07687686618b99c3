// SPDX-License-Identifier: MIT

package middleware

import (
	"net/http"
	"strings"
)

// AddVary says in h that the answer depends on those fields of the request. A
// name that is there already is not added again, "*" covers all. The values are
// replaced and never written into, so that h may share them with others.
func AddVary(h http.Header, names ...string) {
	for _, name := range names {
		addVary(h, name)
	}
}

func addVary(h http.Header, name string) {
	old := h["Vary"]
	for _, list := range old {
		for list != "" {
			var have string
			have, list, _ = strings.Cut(list, ",")
			if have = strings.Trim(have, " \t"); have == "*" || strings.EqualFold(have, name) {
				return
			}
		}
	}
	if name != "*" && len(old) > 0 {
		name = strings.Join(old, ", ") + ", " + name
	}
	h["Vary"] = []string{name}
}
