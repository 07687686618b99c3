// SPDX-License-Identifier: MIT

// Package route is an HTTP router: an ordinary http.Handler that finds the
// handler of a request by method and path (contract row H2).
//
// A pattern is an optional method, a space, and a path:
//
//	GET /todos              this path, GET and HEAD
//	POST /todos/:id/toggle  :id is one segment, never empty: r.PathValue("id")
//	/files/*rest            any method; *rest is all that follows, may be empty
//	GET /todos/{id}         the same in the words of http.ServeMux
//	/files/{rest...}        the same as *rest
//	GET /{$}                exactly "/"; all patterns here are exact, so {$} adds nothing
//
// Where several patterns fit, text wins over :name, and :name over *rest, one
// segment after the other; a pattern whose method does not fit is passed over.
// Unlike ServeMux, a trailing slash is an ordinary character: a subtree is
// asked for with *rest, or mounted.
//
// A path that exists under other methods is answered 405 with Allow, OPTIONS is
// answered from the table, HEAD is served by the GET handler (the server drops
// the body), and everything else is 404; these answers are problem documents.
// HandleValues serves a handler that takes the named parts as an argument, without
// any allocation; the net/http kind costs a map in each request that has some. A
// path is at most 64 KiB long; a longer one is answered 414.
//
// Matching is done on the escaped path, so an encoded slash never splits a
// segment, and values are unescaped. Nothing is cleaned or redirected.
//
// Tables are built at start, by one goroutine; a pattern that cannot be
// understood or that says the same as an earlier one panics there, with both
// patterns in the message. Serving is safe for any number of goroutines.
package route
