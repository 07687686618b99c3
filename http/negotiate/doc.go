// SPDX-License-Identifier: MIT

// Package negotiate chooses which representation of a resource a client gets
// (RFC 9110 section 12, contract row H3). It is plain functions over the field
// values of net/http: nothing is kept, and choosing allocates nothing.
//
//	var kinds = negotiate.NewTypes("application/json", "text/html")
//
//	kind, ok := kinds.Choose(w, r) // adds Vary: Accept
//	if !ok {
//		return // answered 406, as a problem document
//	}
//
// The model: each offer is worth the weight of the most specific range that
// fits it. The offer worth most wins; between equals the one that was named
// more exactly, and then the order of the offers, with one exception: who takes
// anything (*/*, or no Accept at all) gets JSON where there is JSON. A weight
// that cannot be read is 0, since what is not understood is not sent; a range
// that cannot be read is passed over, and a field that says nothing that can
// be read is as good as missing.
//
// A range with parameters fits an offer that has all of them. "charset=utf-8"
// counts as no parameter on either side: everything here is UTF-8, and clients
// do ask for "application/json; charset=utf-8".
//
// It does not transform anything, and it knows no source quality ("qs").
package negotiate
