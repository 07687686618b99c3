// SPDX-License-Identifier: MIT

// Package static serves the files of a directory below a route, natively on the
// loop (Files.Serve) and over net/http (Files.ServeHTTP), from one core.
//
// It knows GET and HEAD, preconditions (RFC 9110 section 13), ranges, single and
// several (section 14), entity tags of size and modification time, siblings that
// were compressed before (.zst, .br, .gz) and a content type by extension that
// does not depend on the machine.
//
// Names are read from the target as it was sent: decoded once, refused when a
// segment is empty, opens with a dot, or has a slash, backslash or control byte
// in it. Files are opened through an os.Root, so that neither a name nor a
// symbolic link leads out of the directory. What is no regular file does not
// exist; there are no directory listings.
//
// A file up to 64 KiB is read where the handler runs; a longer one leaves the
// loop and is sent in pieces of 64 KiB, at most two of them in memory, as the peer
// takes them. A download occupies a place of Config.BlockingMax of its server
// while it lasts. Nothing is cached: the page cache of the system is the cache.
package static
