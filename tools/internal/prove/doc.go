// SPDX-License-Identifier: MIT

// Package prove holds what the long run counts and reads: how time is divided over
// fuzz targets, what "go test -fuzz" and govulncheck print, what became of changed
// operators, whether a server that is asked for a long time grows, and the report of it
// all. It starts no server and decides nothing about what is run; the verb prove does.
package prove
