// SPDX-License-Identifier: MIT

package inflate

// order is that in which the lengths of the codes of lengths come (section 3.2.7).
const order = "\x10\x11\x12\x00\x08\x07\x09\x06\x0a\x05\x0b\x04\x0c\x03\x0d\x02\x0e\x01\x0f"

func (z *Inflater) beginDynamic() bool {
	z.nlit, z.ndist = int(z.take(5))+257, int(z.take(5))+1
	z.norder, z.have = int(z.take(4))+4, 0
	if z.nlit > literalsMax || z.ndist > distancesMax {
		return z.fail(ErrDamaged)
	}
	clear(z.lengths[:])
	z.state = atOrder
	return true
}

// readOrder reads one length of a code of lengths.
func (z *Inflater) readOrder() bool {
	z.lengths[order[z.have]] = uint8(z.take(3))
	if z.have++; z.have < z.norder {
		return true
	}
	// The place of the distances' code is free until they are known.
	if !z.own[1].build(z.lengths[:ordersMax]) {
		return z.fail(ErrDamaged)
	}
	z.have, z.state = 0, atLengths
	return true
}

// readLength reads the length of a code, or of several.
func (z *Inflater) readLength() bool {
	symbol, used := z.own[1].decode(z.bits, z.n)
	if used == 0 {
		return z.missing(z.n)
	}
	extra, times, value := uint(0), 1, uint8(symbol)
	switch symbol {
	case 16:
		if z.have == 0 {
			return z.fail(ErrDamaged)
		}
		extra, times, value = 2, 3, z.lengths[z.have-1]
	case 17:
		extra, times, value = 3, 3, 0
	case 18:
		extra, times, value = 7, 11, 0
	}
	if used+extra > z.n {
		return false
	}
	z.take(used)
	times += int(z.take(extra))
	if z.have+times > z.nlit+z.ndist {
		return z.fail(ErrDamaged)
	}
	for range times {
		z.lengths[z.have] = value
		z.have++
	}
	return z.have < z.nlit+z.ndist || z.beginCodes()
}

func (z *Inflater) beginCodes() bool {
	all := z.lengths[:z.nlit+z.ndist]
	if !z.own[0].build(all[:z.nlit]) || !z.own[1].build(all[z.nlit:]) {
		return z.fail(ErrDamaged)
	}
	z.literals, z.distances = &z.own[0], &z.own[1]
	z.state = inCodes
	return true
}
