// SPDX-License-Identifier: MIT

// Package options turns the command line and the environment of m0serve into
// one plain struct (contract rows W6 and P6, table CLI).
//
// A table defines every setting once: its spellings (ours, gunicorn's,
// uvicorn's and granian's), its variables, default, help and check. A value
// given by a flag wins over one of an M0_ variable, that over the variables of
// other servers and platforms (PORT, WEB_CONCURRENCY, UVICORN_HOST,
// GUNICORN_CMD_ARGS), that over the default; Options.Source says which it was.
// Variables come from -e, from the process and from --env-file, in this order.
//
// What cannot be honoured is never dropped in silence: Parse refuses it with
// the reason and the cure, all refusals at once, or names it in
// Options.Warnings when serving without it is right.
//
// Options survives a round trip through JSON, as the supervisor hands it to
// its workers. Relative paths are made absolute against the directory of the
// start, but for the path of an application, which is found after --chdir.
//
// The package reads environment files and asks whether directories exist. It
// does not listen, look for an interpreter or import the application.
package options
