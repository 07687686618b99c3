// SPDX-License-Identifier: MIT

package host

import (
	"maps"
	"net/http"
	"slices"

	"m0serve.dev/http/route"
)

// Views are an application without a handler type (contract row O8): a table of
// routes and a state value that every view gets.
//
//	var notes = host.Views[*list]{
//		State:  newList,
//		Routes: host.Routes[*list]{"GET /": (*list).page, "POST /notes": (*list).add},
//	}
//
// Handler is an App.Handler; Routes.With mounts the table in a larger application.
type Views[State any] struct {
	// State makes the value, once in every worker. It may be used by many
	// requests at once. nil: the zero value.
	State func(*Context) (State, error)
	// Routes is the table.
	Routes Routes[State]
}

// Routes are views by their pattern, in the words of package route, such as
// "GET /notes/:id". One that cannot be understood or says the same as another is
// a mistake of the program and panics when the handler is made.
type Routes[State any] map[string]View[State]

// A View answers requests. A method of State is one, as the expression (*T).name.
type View[State any] func(State, http.ResponseWriter, *http.Request)

// Handler builds the state and serves the table with it.
func (v Views[State]) Handler(c *Context) (http.Handler, error) {
	var state State
	if v.State != nil {
		var err error
		if state, err = v.State(c); err != nil {
			return nil, err
		}
	}
	return v.Routes.With(state), nil
}

// With serves the table with a state that is there: under any path of a larger
// application (route.Router.Mount), over net/http, or in a test.
func (r Routes[State]) With(state State) http.Handler {
	rt := route.New()
	for _, pattern := range slices.Sorted(maps.Keys(r)) {
		view := r[pattern]
		if view == nil {
			panic("host: the view of " + pattern + " is nil")
		}
		rt.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			view(state, w, req)
		})
	}
	return rt
}
