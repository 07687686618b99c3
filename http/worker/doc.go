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
// A Supervisor's state belongs to one loop. It respawns a dead worker at the
// same index with the same channels, at once and then with a growing delay;
// it ends the service when workers keep dying before they are ready or refuse
// their configuration; it respawns nothing once told to stop.
//
// A Share evens out accepted connections between the workers: one that holds
// more than its least loaded sibling passes the descriptor over.
//
// Limits: Linux only, everywhere else Supervise refuses and one process serves
// alone; at most config.WorkersMax workers; a rolling restart is not here yet,
// SIGHUP is answered by a line in the log.
package worker
