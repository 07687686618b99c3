// SPDX-License-Identifier: MIT

// Package engine measures one small answer, given by our engine and by others, of
// tools/rivals/httpd: saturated, at a fixed rate, beside handlers that block, beside
// streams that are held, and with nothing to do. Each round starts every side once, in
// turns and in the other order each second round; of requests a second, CPU a request
// and latencies the best round of each side counts. A side that fails is named, and the
// others go on.
//
// Where the load had no more to give and a server had, servers are compared by the
// requests that a second of their processor answers. At a fixed rate a round does not
// count in which the load itself was late.
package engine
