// SPDX-License-Identifier: MIT

// Package wsgiops holds the smoke tests of operations: what signals, limits, sockets,
// proxies, logs and a service manager do to a real m0serve that runs a Python
// application. ops.py is that application as WSGI, ops_async.py as ASGI. Nothing
// here stands in for a part: processes are ended by real signals, clients hold real
// connections and never retry, and each test looks at what is left behind.
// There is no Go code here but tests.
package wsgiops
