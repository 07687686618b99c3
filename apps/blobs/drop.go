// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// A drop is what a person puts into the box: where, how thrown, in which colour
// and how big. It is one word, so that the box needs no lock, and a process that
// is killed leaves a whole drop or none.
type drop struct {
	X    float64 `json:"x"`    // 0 to 1, from the left
	Y    float64 `json:"y"`    // 0 to 1, from the top
	VX   float64 `json:"vx"`   // -1 to 1: board widths in a second, about
	VY   float64 `json:"vy"`   // the same downwards
	Hue  int     `json:"hue"`  // 0 to 359
	Size float64 `json:"size"` // 0 to 1
}

// The fields of a drop's word, from the top: a mark that it is one, then these
// many bits each.
const (
	dropMark  = 1 << 63
	placeBits = 14
	speedBits = 10
	hueBits   = 9
	sizeBits  = 6
)

const hues = 360

// parseDrop reads a drop from JSON; what is left out is anything. The error is for
// the person who sent it.
func parseDrop(doc []byte) (uint64, error) {
	d := drop{X: rand.Float64(), Y: rand.Float64(), Hue: rand.IntN(hues), Size: rand.Float64()}
	if err := json.Unmarshal(doc, &d); err != nil {
		return 0, errors.New(`a drop is JSON such as {"x":0.5,"y":0.5}`)
	}
	for _, f := range []struct {
		name             string
		value, low, high float64
	}{
		{"x", d.X, 0, 1}, {"y", d.Y, 0, 1}, {"vx", d.VX, -1, 1}, {"vy", d.VY, -1, 1},
		{"hue", float64(d.Hue), 0, hues - 1}, {"size", d.Size, 0, 1},
	} {
		if f.value < f.low || f.value > f.high {
			return 0, fmt.Errorf("%s is %v; it can be %v to %v", f.name, f.value, f.low, f.high)
		}
	}
	word := uint64(1)
	for _, f := range []struct {
		share float64
		bits  int
	}{
		{d.X, placeBits}, {d.Y, placeBits}, {(d.VX + 1) / 2, speedBits}, {(d.VY + 1) / 2, speedBits},
		{float64(d.Hue) / (1<<hueBits - 1), hueBits}, {d.Size, sizeBits},
	} {
		word = word<<f.bits | uint64(math.Round(f.share*float64(int(1)<<f.bits-1)))
	}
	return word, nil
}

// unpackDrop is the blob of a drop's word, still without an id and an end.
func unpackDrop(word uint64) (p blob) {
	take := func(bits int) float32 {
		v := word & (1<<bits - 1)
		word >>= bits
		return float32(v) / float32(int(1)<<bits-1)
	}
	p.r = radiusLeast + take(sizeBits)*(radiusMost-radiusLeast)
	p.hue = uint16(math.Round(float64(take(hueBits) * (1<<hueBits - 1))))
	p.vy = (2*take(speedBits) - 1) * speedMost
	p.vx = (2*take(speedBits) - 1) * speedMost
	p.y = take(placeBits)
	p.x = take(placeBits)
	return p
}

// put puts a drop into the box; false: it is full.
func (b *board) put(word uint64) bool {
	for i := range boxWords {
		if b.words[boxAt+i].CompareAndSwap(0, word) {
			return true
		}
	}
	return false
}

// take empties the box.
func (b *board) take() (drops []blob) {
	for i := range boxWords {
		if word := b.words[boxAt+i].Swap(0); word&dropMark != 0 {
			drops = append(drops, unpackDrop(word))
		}
	}
	return drops
}
