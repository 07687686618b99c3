// SPDX-License-Identifier: MIT

// Package worker runs one service as several processes: a supervisor, which
// never runs application code, and workers, which are copies of the same
// executable that inherit their descriptors.
//
// A worker is started by exec, since Go cannot fork without it. What it
// inherits (the listener, the shared page, the bus and accept channels, a life
// line) is named in its environment; Adopt checks every descriptor, takes the
// names away and refuses (exit 78) names that no supervisor of ours has set.
//
//	supervisor                          worker
//	  Supervise ── exec, environment ──▶ Adopt
//	     ▲ ◀────── life line: ready ──── Inherited.Ready
//	     └──────── life line: EOF ─────▶ leaves: the supervisor is gone
//
// A supervisor's state belongs to one loop. It respawns a dead worker at the
// same index with the same channels, at once and then with a growing delay;
// it ends the service when workers keep dying before they are ready or refuse
// their configuration; it respawns nothing once told to stop.
//
// # Rolling restart
//
// A worker has an index, 0 … Workers-1, and a place: a line of the shared page
// and the bus and accept channels of the same number. SIGHUP replaces one worker
// after the other: a new process starts at the same index and a spare place; once
// it is ready the old one is told to drain; when that has ended its place is the
// spare, and the next index has its turn. What exists once in a service (worker
// 0's duties) goes over when the old process says that it is done
// (Inherited.DutiesDone) or ends. A new process that does not become ready leaves
// the old ones serving.
//
// The same path replaces a worker that asks for it (Inherited.Replace, see
// Recycler), and all of them when Config.Reload says that files changed. SIGTTIN
// and SIGTTOU make it one worker more or less, within Config.WorkersMax.
//
// A Share evens out accepted connections between the workers: one that holds
// more than its least loaded sibling passes the descriptor over.
//
// Limits: Linux only, everywhere else Supervise refuses and one process serves
// alone; at most config.WorkersMax workers. A request that takes too long is the
// worker's own matter; the supervisor ends workers as a whole that do not beat.
package worker
