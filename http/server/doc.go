// SPDX-License-Identifier: MIT

// Package server is the façade of the engine: a Config, a Server, and the two
// kinds of handler it serves.
//
// A native Handler gets the request as slices into the read buffer and appends
// its answer; nothing is allocated. An http.Handler is what applications write:
// routers and middleware stay ordinary net/http code, and run here as they do
// there. Both run on the loop and may block all the same (package loop).
//
// Server installs no signal handlers: who runs it calls Shutdown, which accepts
// no more, lets requests in flight end, runs the OnDrain hooks, cuts held streams so
// that their clients come back, and is bounded by Config.DrainTimeout.
//
// Where there is no epoll, and with Config.NetHTTP, the same Config is served by
// net/http. So it is with Config.TLS, which brings HTTP/2: the same handlers, each
// on a goroutine of its own, and streams that sse.Hold holds there.
package server
