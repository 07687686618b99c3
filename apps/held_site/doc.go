// SPDX-License-Identifier: MIT

// Package heldsite holds the black-box suite of answers that m0serve holds: streams
// and long polls that a synchronous application opens with fields of its answer. The
// application is held.py beside it. The tests start it behind the real server and look
// at bytes on the wire. There is no Go code here but tests.
package heldsite
