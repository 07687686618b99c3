// SPDX-License-Identifier: MIT

// Package etag has entity tags (RFC 9110 sections 8.8.3 and 13, contract rows
// H3 and H9): comparing them, making them, answering 304 and 412 by them, and
// giving a client that holds an older version the changes since.
//
// A Tagger is middleware that gives small answers a weak tag of their content
// and answers 304 to who has it already: it saves bytes, not work. A handler
// that knows the version of what it serves sets its own tag and calls Passes
// before it renders, which saves the work, too.
//
// Two kinds of comparison exist. If-None-Match compares weakly: W/"a" is as good
// as "a". If-Match, which guards writes, compares strongly: a weak tag never
// fits, so the tags of a Tagger are of no use for it, on purpose. Content that
// looks the same may have been changed and changed back; a write has to name
// the version it saw. Give resources that are written a strong tag, of a
// counter for instance, one for each representation.
//
// A PatchJournal keeps the last changes of one resource by the tag they led to.
//
// Not here: dates (package static has them for files) and the storage of
// answers (package cache).
package etag
