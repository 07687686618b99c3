// SPDX-License-Identifier: MIT

// Command tools checks, tests, benches, sabotages and releases the repository.
// Run without a verb it prints the verbs, one line each.
//
//	go run ./tools quick             from the top
//	go run m0serve.dev/tools quick   from any folder of the workspace
//
// A verb says what it does while it does it, with the time each step took, names
// the file, the line and the cure of what it finds, and exits with 0 when all is
// well, 1 when something failed and 2 when it was called wrongly. It changes the
// tree only where its name says so (tidy, release). It imports the standard
// library only; what else is needed runs by "go run …@version".
package main
