// SPDX-License-Identifier: MIT

// Package wssite is a WSGI application with WebSockets behind m0serve --realtime,
// seen from outside. ws.py is the application, without a framework.
package wssite
