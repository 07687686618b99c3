// SPDX-License-Identifier: MIT

// Package field finds a value in a JSON document without building a tree.
//
// Get looks a top-level field up, GetPath follows field names and array
// indexes downwards; both give the value's own bytes in the document as a
// Value, which decodes them when asked. Names are taken as they are, there is
// no path syntax that an untrusted name could abuse.
//
// The whole document is checked in the same single pass (RFC 8259), also the
// part behind the value found: what Get accepts, json.Valid accepts, and the
// other way round. Time grows with the length of the document alone, nesting
// is limited to MaxDepth, and nothing is allocated except the string that Str
// returns, the rare number of over 32 bytes, and an error about a bad document.
//
// Where a name occurs twice in one object, the last one counts, as it does for
// json.Unmarshal into a map. As there, names and strings may hold any bytes,
// and what is not UTF-8, or half a surrogate pair, reads as U+FFFD.
//
// Many look-ups in one large document are what a Document is for: it reads the
// document once and remembers where every value is.
package field
