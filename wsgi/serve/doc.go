// SPDX-License-Identifier: MIT

// Package serve is m0serve's life: the command that supervises, and the worker
// inside a Python process.
//
//	command   refuse → listen → page, channels → start workers → wait
//	worker    adopt → (Python) import the application → start the server →
//	          sit on threads → drain → (Python) exit handlers → leave
//
// A worker is a process of the user's own python, which loads the engine as a
// shared library; where there is none, it is this command again, which loads
// libpython. Python never runs in the supervisor.
package serve
