// SPDX-License-Identifier: MIT

// Package sys is every system call of module http, and the only importer of
// golang.org/x/sys. Kernel is what the engine asks of the operating system, as
// an interface, so that tests run the real loop over a false one; the functions
// named Bus… and Worker… serve the packages of those names. It decides nothing:
// retries, limits and messages are the callers'. On systems other than Linux
// every function says that it is not available.
package sys
