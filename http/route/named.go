// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"net/url"
	"strings"
)

// A Route is one registration, to be named.
type Route struct {
	router  *Router
	pattern *pattern
}

// Name gives the route a name for URL. It panics when the name is taken.
func (ro *Route) Name(name string) *Route {
	if earlier, ok := ro.router.names[name]; ok {
		panic(fmt.Sprintf("route: name %q is taken by %q", name, earlier.source))
	}
	ro.router.names[name] = ro.pattern
	return ro
}

// URL builds the path of a named route. values are the named parts in order,
// escaped as they are put in; a *rest keeps its slashes. An unknown name, a
// wrong number of values or an empty segment is an error.
func (rt *Router) URL(name string, values ...string) (string, error) {
	p, ok := rt.names[name]
	if !ok {
		return "", fmt.Errorf("route: no route is named %q", name)
	}
	if want := p.names(); len(values) != len(want) {
		return "", fmt.Errorf("route: %q takes %d values %q, got %d",
			name, len(want), want, len(values))
	}
	var b strings.Builder
	for _, pt := range p.parts {
		if pt.kind == partText {
			b.WriteString(pt.text)
			continue
		}
		v := values[0]
		values = values[1:]
		if v == "" && pt.kind == partParam {
			return "", fmt.Errorf("route: %q: the value of %q is empty", name, pt.text)
		}
		b.WriteString(escapeValue(pt.kind, v))
	}
	return b.String(), nil
}

func escapeValue(k kind, v string) string {
	if k == partParam {
		return url.PathEscape(v)
	}
	segments := strings.Split(v, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}
