// SPDX-License-Identifier: MIT

// Package contest measures m0serve beside other servers of Python applications,
// all in one interpreter. A workload is one application under one kind of load; a
// side is one server in one way to run it. The sides of a workload take turns, each
// started anew, its answer checked before it is loaded, and the best round of each
// counts. A side that cannot be built, started or answers wrongly is named with the
// reason, and the rest goes on.
//
// The ceiling is the application called in a loop without any server, so that the
// share of the server is visible. Where the load had no more to give, two servers
// are compared by what a second of CPU answers, and it is said.
//
// It does not judge: bench.Figure does.
package contest
