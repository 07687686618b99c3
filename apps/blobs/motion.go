// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"math/rand/v2"
)

// How blobs move, in sides of the board and steps. Taste, all of it.
const (
	radiusLeast = 0.025
	radiusMost  = 0.095
	speedMost   = 0.1    // of a throw
	drag        = 0.93   // of the speed, kept from step to step
	current     = 0.0007 // the pull of the currents
	wallForce   = 0.15   // on who is over the edge, by how far
	wallMargin  = 0.02
	splash      = 0.3 // how far a drop pushes
	company     = 9   // with fewer blobs one rises by itself now and then
	riseEvery   = 15
	lifeSteps   = 900 // and half as much more or less
	fadeSteps   = 20  // the end of a life
)

// shades are the hues of blobs that rise by themselves, those of the page's dock.
var shades = [...]uint16{22, 70, 152, 218, 290, 350}

// step moves the board by one step and returns its number and the blobs. The
// number is taken before the step is published: a process that is killed between
// leaves out a number, and none comes twice.
func (b *board) step() (n uint64, blobs []blob) {
	n = b.words[wordSteps].Load() + 1
	if n == 1 {
		for range company {
			b.rise(n, rand.Float32())
		}
	}
	drops := b.take()
	for i := range drops {
		drops[i].until = uint32(n) + life()
		b.add(&drops[i])
	}
	places, blobs := b.all()
	if len(blobs) < company && n%riseEvery == 0 {
		b.rise(n, 1.1)
	}
	for i := range blobs {
		push(&blobs[i], blobs, drops, n)
	}
	kept := blobs[:0]
	for i, place := range places {
		p := &blobs[i]
		if uint32(n) >= p.until {
			b.remove(place)
			continue
		}
		p.x += p.vx
		p.y += p.vy
		b.store(place, p)
		kept = append(kept, *p)
	}
	b.words[wordSteps].Store(n)
	return n, kept
}

// all are the blobs and the places where they are stored.
func (b *board) all() (places []int, blobs []blob) {
	for place := range blobsMax {
		if p, ok := b.load(place); ok {
			places, blobs = append(places, place), append(blobs, p)
		}
	}
	return places, blobs
}

// add gives a blob an id and a place: on a full board, that of the oldest.
func (b *board) add(p *blob) {
	p.id = uint32(b.words[wordBlobs].Add(1))
	at, oldest := 0, uint32(math.MaxUint32)
	for place := range blobsMax {
		old, ok := b.load(place)
		if !ok {
			at = place
			break
		}
		if old.id < oldest {
			at, oldest = place, old.id
		}
	}
	b.store(at, p)
}

// rise adds a blob that nobody dropped, at height y.
func (b *board) rise(n uint64, y float32) {
	b.add(&blob{
		hue: shades[rand.IntN(len(shades))], x: 0.1 + 0.8*rand.Float32(), y: y, vy: -0.004,
		r:     radiusLeast + rand.Float32()*(radiusMost-radiusLeast),
		until: uint32(n) + life(),
	})
}

func life() uint32 { return lifeSteps/2 + rand.Uint32N(lifeSteps) }

// push changes the velocity of p by the currents, the walls, the others, and what
// was just dropped beside it.
func push(p *blob, others, drops []blob, n uint64) {
	t, own := float64(n)/40, float64(p.id)
	ax := current * float32(math.Sin(5*float64(p.y)+t+own))
	ay := current * float32(math.Cos(4*float64(p.x)-0.7*t+2*own))
	ax += wall(p.x, p.r)
	ay += wall(p.y, p.r)
	for i := range others {
		o := &others[i]
		if o.id != p.id {
			reach := (p.r + o.r) * 1.6
			dx, dy := repel(p, o, reach, 0.0025)
			ax, ay = ax+dx, ay+dy
		}
	}
	for i := range drops {
		if d := &drops[i]; d.id != p.id {
			dx, dy := repel(p, d, splash, 0.02)
			ax, ay = ax+dx, ay+dy
		}
	}
	p.vx = (p.vx + ax) * drag
	p.vy = (p.vy + ay) * drag
}

// wall pushes back who comes too close to an edge.
func wall(at, r float32) float32 {
	if over := r + wallMargin - at; over > 0 {
		return over * wallForce
	}
	if over := at - (1 - r - wallMargin); over > 0 {
		return -over * wallForce
	}
	return 0
}

// repel is the push on p away from o, which ends at reach.
func repel(p, o *blob, reach, force float32) (ax, ay float32) {
	dx, dy := p.x-o.x, p.y-o.y
	d := float32(math.Hypot(float64(dx), float64(dy)))
	if d >= reach || d < 1e-6 {
		return 0, 0
	}
	f := force * (1 - d/reach) / d
	return dx * f, dy * f
}

// size is the radius at step n: a blob whose time is over shrinks.
func (p *blob) size(n uint64) float32 {
	left := float32(p.until) - float32(n)
	return p.r * min(1, max(0, left/fadeSteps))
}
