// SPDX-License-Identifier: MIT

// Package publishhttp holds the black-box suite of m0serve's HTTP door,
// --publish-http: raw sockets, the clients of GRIP as they come, and views that
// publish to themselves. There is no Go code here but the tests.
package publishhttp
