// SPDX-License-Identifier: MIT

// Package accesslog writes a line for every answer: JSON, the common or combined
// log format, or a format of gunicorn's %-atoms.
//
// A format is compiled once into a list of atoms. Log.Answered, which is what
// loop.Config.Answered wants, appends a line to a buffer under a mutex: it
// allocates nothing, makes no system call and never waits for the file. One
// goroutine writes the buffer out, a tenth of a second after its first line or
// when it is half full. A full buffer drops lines, and what is dropped is counted
// and said in the server's log; a process that is killed loses a tenth of a second.
//
// What a peer sends is cut at 2048 bytes a value and escaped: in JSON as JSON
// is, elsewhere quotes, backslashes and every byte that is not printable ASCII as
// \xHH, so that no request can write a line of its own. JSON has the path without
// its query, which may hold secrets.
//
// Several workers append to one file. A pipe gets whole lines in pieces that the
// kernel does not mix (PIPE_BUF).
package accesslog
