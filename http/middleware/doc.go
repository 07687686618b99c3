// SPDX-License-Identifier: MIT

// Package middleware holds handlers that wrap handlers: problem documents,
// health, the access log, request ids, CORS, authentication. Each is one file,
// works with net/http alone, and keeps the ResponseWriter underneath reachable
// through Unwrap, so that http.ResponseController and held responses work through
// any number of them.
package middleware
