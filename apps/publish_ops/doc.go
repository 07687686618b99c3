// SPDX-License-Identifier: MIT

// Package publishops holds the smoke tests of publishing and subscribing on a real
// m0serve: m0pub from everywhere an application runs code, and what an ASGI
// application has in scope["state"]["m0"]. shop is a Django project, bare.py an ASGI
// application without a framework. Subscribers are HTTP clients that hold streams of
// every worker. There is no Go code here but tests.
package publishops
