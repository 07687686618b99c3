// SPDX-License-Identifier: MIT

// Package loop is the server engine: one goroutine per loop around a
// level-triggered epoll set, and the seam for connections that are held open.
package loop
