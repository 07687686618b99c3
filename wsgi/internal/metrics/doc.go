// SPDX-License-Identifier: MIT

// Package metrics shows what the workers of a service have done, in the formats of
// m0serve.dev/http/metrics, which has the families of the engine and the hub.
//
// A Worker is the figures of one worker, plain values that survive JSON, so that
// a worker can ask its siblings for theirs over any channel. Merge puts them
// together, and every sample carries its worker; sums are the collector's, who
// knows how to add counters that begin anew when a worker does.
//
// Durations is what a request pays: two additions. Everything else is read when
// somebody asks. No label is made of what a peer sent.
package metrics
