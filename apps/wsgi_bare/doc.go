// SPDX-License-Identifier: MIT

// Package wsgibare holds the black-box suite of a WSGI server. The application is
// app.py beside it: a callable of no framework, each of whose routes is one promise
// of PEP 3333. The tests start it behind m0serve, or behind a reference server, and
// look at bytes on the wire and at what the application noted. There is no Go code
// here but tests.
package wsgibare
