// SPDX-License-Identifier: MIT

// Package wsgi will hold m0serve, the host for Python applications. Nothing of
// it has landed yet: the module reserves its place in the workspace.
package wsgi
