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
//
// # Where a request's microseconds and bytes go
//
// Shares of the server's processor time, in percent, with 64 connections, the server
// on one core and the load on another, while other work ran on both; of 13 bytes to a
// request with Host alone, and to one with the header of a browser. By perf record -e
// cpu-clock -g on tools/rivals/httpd, whose engine "floor" is a bare epoll loop that
// looks for the end of the head:
//
//	                                  floor   native     http.Handler
//	                                   Host     Host     Host browser
//	write                                61       48       46      36
//	read                                 15       11       11       8
//	epoll_wait                            7        7        4       3
//	Go's scheduler, sysmon, watchdog     16       23       15      21
//	the loop                              1        8        6       5
//	parse                                 0        2        2       4
//	encode                                0        1        1       1
//	the handler itself                    0        1        3       2
//	http.Request and what it has          0        0        6      11
//	http.ResponseWriter                   0        0        3       3
//	garbage collection                    0        0        3       6
//	processor time of net/http's       0.36     0.43     0.58     0.7
//
// The floor is what nobody answers a request without: of a native handler it is five
// sixths, of an http.Handler three fifths. Go's scheduler and sysmon take their part of
// the floor as well. To yield every millisecond instead of every turn halved what yields
// cost, and changed the sum by less than the runs differed; to leave them out gained no more.
// The verb "bench hello" of the tools measures beside net/http, fasthttp and gnet with the least
// of a parser: on a busy machine a native answer took 0.75 to 0.86 of the processor time of
// fasthttp's, the floor 0.79 to 0.87, and gnet 0.91 to 0.98 of ours in the median and 0.73 to
// 1.19 at best; the kernel has 85 % of ours. What is the loop's own shows where sixteen requests
// come in one read: 0.71 to 0.74 of fasthttp's, when the floor took 0.52, and gnet 0.71 to 0.78
// of ours. There the kernel has 57 % of ours, the parser 13, the handler and what it sets 9, the
// head of the answer 4, and what remains is the guard, timers and counters; gnet looks for the
// end of the head and does nothing of the rest. To check what a handler sets eight bytes at a
// time was no faster. To send the answers of one turn together was 0.9 to 1.08 of the processor
// time with 64 connections and up to 1.13 with 16 (DECISIONS.md).
//
// An http.Handler costs 6 allocations and 1.2 KB, with a browser's header 9 and 2.4 KB:
//
//	Request, URL, context, ResponseWriter, room for values   1   704 or 896 bytes
//	target, Host, address and values, as one string          1   50 or 290
//	Request.Header: a map, more of it beyond 8 names     1 or 4   48 or 790
//	the answer's header: a map, and its first field           2   400
//	what the handler gives Header.Set                         1   16
//
// That is what the types of net/http ask for, since all of it may be kept by a handler
// that has returned: a map must be there to be written to, and is two objects once it is.
// Pools and memory for several requests at once were declined: what one handler keeps
// would change under it, or hold the memory of its neighbours.
//
// All of that, its handler included, takes 650 ns of a request for a hello, with a browser's
// header 1340 (the best hundredth of 3,000 runs of 64 requests inside one handler, on a crowded
// machine); the same with a walk through the header of the answer instead of a look for its
// common fields took 730. Tried, and no faster: an own way to write the peer's address, 21 to
// 53 ns where net/netip takes 23. The verb "bench hello" gives 1.75 times the requests of net/http
// on a quiet machine, for 0.57 of the processor time (1.49 and 0.67 before that).
package server
