// SPDX-License-Identifier: MIT

package escape

import "encoding/binary"

const (
	wordBytes = 8 // bytes looked at, and stored, in one step

	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks (in the top bit of each byte) the bytes of w that cannot be
// copied blindly. A byte above a marked one may be marked wrongly, so only the
// lowest mark counts.
//
// For a byte below 0x80, subtracting 0x20 (or 1 after the exclusive or with the
// byte sought) reaches the top bit exactly when it is below 0x20 (or equal).
func special(w uint64, m mode) uint64 {
	control := w - ones*0x20
	slash := (w ^ ones*'\\') - ones
	if m == plain {
		quote := (w ^ ones*'"') - ones
		return (w | control | quote | slash) & highs
	}
	quoteOrAmp := ((w | ones*('"'^'&')) ^ ones*('"'|'&')) - ones
	angle := ((w | ones*('<'^'>')) ^ ones*('<'|'>')) - ones
	return (w | control | slash | quoteOrAmp | angle) & highs
}

func load(b []byte) uint64     { return binary.LittleEndian.Uint64(b) }
func store(b []byte, w uint64) { binary.LittleEndian.PutUint64(b, w) }
