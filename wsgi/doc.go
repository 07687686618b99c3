// SPDX-License-Identifier: MIT

// Package wsgi is the place of m0serve, a server for Python applications; it holds
// nothing but this comment. What there is lies below:
//
//	cmd/m0serve            the command, and the same package as a library
//	serve                  the life of supervisor and worker, where all of it meets
//	python                 the Python that travels inside the engine, as text
//	python/wheel           the Python that the wheel installs
//	doctor                 explains what would be served
//	internal/python        CPython by dlsym; the only cgo
//	internal/interpreter   finds the Python to serve with
//	internal/options       flags and environment
//	internal/accesslog     a line for every answer
//	internal/forwarded     what proxies say, from those that are trusted
//	internal/metrics       OpenMetrics of all workers
//
// The model: a supervisor without Python starts workers that are the user's own
// python executables. Each loads the engine of m0serve.dev/http as a shared
// library, and one thread is the event loop and runs the application, without a
// queue between the two; when a view takes long another thread takes the loop over.
// The same code serves with libpython inside the command (W1.embedded).
//
// Linux with glibc and CPython 3.9 or newer are what it is for. Elsewhere, and
// without cgo, the module builds to a command that says what is missing. It does
// not end TLS, speak HTTP/2 or finalize an interpreter.
package wsgi
