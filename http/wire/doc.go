// SPDX-License-Identifier: MIT

// Package wire turns bytes into HTTP/1.1 messages and messages into bytes
// (RFC 9110, RFC 9112; contract rows H1 and H11). It does no I/O, reads no
// clock and, once its slices have grown, allocates nothing.
//
// A RequestParser or ResponseParser is given all bytes of a head that have
// arrived so far and answers one of three ways: how long the head is, "more"
// (0, nil), or an Error. What was seen before is not scanned again, so a head
// that arrives byte by byte costs linear time. The message is slices into the
// caller's buffer and is valid as long as those bytes are.
//
// A Decoder is given the bytes behind the head and returns the body in pieces
// that are slices of what it was given. The Append functions write the other
// direction and refuse what could end a line, so no value an application
// passes on can forge a field or a message.
//
// The parser is strict: it accepts one spelling of everything that decides
// where a message ends. Refused are bare CR or LF, control bytes, folded lines,
// spaces around a field name, anything but one Host, one Content-Length of
// digits or one "Transfer-Encoding: chunked", and both at once. Lenient are:
// one empty line before a request, a percent sign that encodes nothing in the
// query (browsers send it), and printable bytes outside RFC 3986 in a target.
//
// Everything has a limit (Limits). The package does not decode percent
// encoding or query strings, does not join repeated fields, does not decide
// which methods are served and has no pools. HTTP/2 and HTTP/0.9 are refused.
package wire
