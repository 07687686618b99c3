// SPDX-License-Identifier: MIT

// Package fanout measures streams of events that a server holds: m0serve on a
// Django application beside other hubs and libraries, all with the same crowd of
// streams (tools/rivals/crowd, one thread) in one run. The sides of a workload take
// turns, each started anew, and the best round of each counts, measure by measure.
// A side that is not installed, does not start or breaks off is named with the
// reason, and the rest goes on; nothing is installed.
//
// Memory is what a stream adds to Pss of all processes of a side, so kernel memory
// is not in it, nor what stands behind it: Pushpin's application, the Redis of daphne.
// A latency is that of the last stream to get an event, from before the
// publish is sent. Where the server has one core and the crowd the other is said by
// the workload.
//
// It does not judge: bench.Figure does.
package fanout
