// SPDX-License-Identifier: MIT

// Package host runs a Go application as a realtime web service.
//
// The application brings an http.Handler and, if it wants, a Producer; all else
// that a server's main has to get right is here: the listener, one or more
// worker processes, the bus between them, shared accepts, signals and the
// drain.
//
//	func main() { host.Main(host.App{Name: "clock", Handler: newHandler}) }
//
// # Start
//
// The order of the start is one function, service.run: refuse, listen, shared
// page, application page, bus, accept share, spawn; then, in each worker, adopt
// what was inherited, bind the accept share, arm the signals, build the
// handler, build and start the producer (worker 0 alone), serve, stop the
// producer, leave. With M0_WORKERS above 1 the process started is a supervisor
// and serves nothing itself; with one worker it is the service.
//
// # Configuration
//
// Settings come from flags and the environment (package config); --help lists
// them, --doctor says what would be served. One that cannot be honoured ends the
// process with status 78 and a line that names it, before anything is bound; so
// does a handler or producer that cannot be built. Exit status 0 is a clean end, 1
// a failure.
//
// # Limits
//
// Several workers need Linux; elsewhere a larger M0_WORKERS is refused. With TLS
// the same handlers are served by net/http, HTTP/2 included: a held stream costs a
// goroutine there, and nothing bounds handlers that block.
//
// # Where the time goes
//
// The host is in no request and no event: it starts, and then the engine and the hub work. Their
// floor is the kernel: an event that reaches 1,000 streams cost 13.5 µs of the processor a stream
// on a crowded machine, and a loop that only writes 13.0 in the same run.
//
// Bytes, of the sample apps/host_check on Linux (Pss, at rest, 12 MB of executable):
//
//	one worker, one process     8.0 MB
//	supervisor beside two       3.2 MB
//	each of two workers         4.0 MB
//	a held stream, 10,000 of them   0.7 KB live after a collection: connection 300 bytes,
//	                                queue 140, exchange 110, registry 60; the rest is shared
//
// What the system sees of a stream is up to twice that, because a Go heap grows to twice of what
// lives before it is collected. Kernel memory of a socket, 4 to 5 KB, is the larger part and the
// floor.
package host
