// SPDX-License-Identifier: MIT

package main

import (
	"strconv"
	"time"
)

// The numbers of a frame are whole: places and radii in ten thousandths of the
// board, velocities in hundred thousandths.
const (
	placeUnits = 1e4
	speedUnits = 1e5
)

// A frame is the whole board at one step, as clients get it.
type frame struct {
	step    uint64
	viewers int
	period  time.Duration // to the next step
	blobs   []blob
}

// append writes the frame as JSON.
func (f *frame) append(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"step":`...), f.step, 10)
	dst = strconv.AppendInt(append(dst, `,"viewers":`...), int64(f.viewers), 10)
	dst = strconv.AppendInt(append(dst, `,"period":`...), f.period.Milliseconds(), 10)
	dst = append(dst, `,"blobs":[`...)
	for i := range f.blobs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.blobs[i].append(dst, f.step)
	}
	return append(dst, "]}"...)
}

// append writes [id, hue, x, y, vx, vy, radius].
func (p *blob) append(dst []byte, step uint64) []byte {
	dst = strconv.AppendUint(append(dst, '['), uint64(p.id), 10)
	for _, n := range [...]int64{
		int64(p.hue), int64(p.x * placeUnits), int64(p.y * placeUnits),
		int64(p.vx * speedUnits), int64(p.vy * speedUnits), int64(p.size(step) * placeUnits),
	} {
		dst = strconv.AppendInt(append(dst, ','), n, 10)
	}
	return append(dst, ']')
}
