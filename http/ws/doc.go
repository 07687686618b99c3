// SPDX-License-Identifier: MIT

// Package ws speaks WebSocket (RFC 6455). So far it holds the opening handshake:
// an Opening says whether a request may become a WebSocket, and which answer
// makes it one or refuses it. It reads no header itself, so it serves native
// handlers and net/http alike, and it allocates only the accepted key.
//
// Frames, compression and the hub are still to come.
package ws
