// SPDX-License-Identifier: MIT

// Package forwarded decides what of a request's header is true: it takes out
// what no client may say, and reads what a trusted proxy says of its client.
//
// Taken out of every request, and counted: names with an underscore, which
// environ cannot tell from hyphens, and Grip-* and M0-*, the server's own words.
//
// Forwarded, X-Forwarded, X-Forwarded-* and X-Real-IP are a proxy's. From a peer
// that is not trusted they are taken out and counted. A trusted peer answers for
// what it lets through: its fields stay visible, and those of Config.Believe
// count. Not all proxies clear all of these fields, so only X-Forwarded-For and
// X-Forwarded-Proto are believed unless told otherwise, and the two families,
// X-Forwarded-* and Forwarded (RFC 7239), are never mixed.
//
// X-Forwarded-For and Forwarded are lists, over several lines too. They are read
// from the right, where the nearest proxy writes, to the first address that is
// not trusted: that is the client. An element that is no address ends the walk
// at the one before it. When all are trusted it is the leftmost. The other fields
// have one value: repeated, as a list, or malformed they say nothing, are taken
// out and counted.
//
// A request without any such field costs a look at the first letter of each name
// and allocates nothing.
package forwarded
