// SPDX-License-Identifier: MIT

// Package python is the border to CPython, and the only package with cgo.
//
// The interpreter is in the process already (hosted: the user's own python
// executable has loaded us as a shared library), or Embed loads it. Either way
// the functions of the shim are looked up at run time, so one build serves every
// CPython from 3.9 on.
//
// Python code is given a module, _native, whose functions end in a Host. Threads
// that call its sit become Seats, on which the application runs, under the
// interpreter's lock.
package python
