// SPDX-License-Identifier: MIT

package loop

// What the engine keeps of answers whose clients do not take them is bounded over all
// connections (Config.KeptMax). Only what does not fit into a socket is counted, so
// clients that read cost nothing.

// countKept counts what c has to send and nobody else holds.
func (l *Loop) countKept(c *conn, n int) {
	if n != c.kept {
		l.g.kept.Add(int64(n - c.kept))
		c.kept = n
	}
}

// Keep reserves room for n bytes of an answer that the handler keeps for Leave.
// false: as much is kept as Config.KeptMax allows, and the handler has to Write,
// which waits for its client. The bytes are given back by Release.
func (x *Exchange) Keep(n int) bool {
	if x.l == nil {
		return true
	}
	g := x.l.g
	if most := g.cfg.KeptMax; g.kept.Add(int64(n)) > most && most >= 0 {
		g.kept.Add(-int64(n))
		if n > wholeMax { // else WriteWhole has counted it
			g.keptFull.Add(1)
		}
		return false
	}
	return true
}

// Release gives back what Keep reserved.
func (x *Exchange) Release(n int) {
	if x.l != nil {
		x.l.g.kept.Add(-int64(n))
	}
}

// hasRoom reports whether n more bytes may be kept. Short answers always may: what they
// take is bounded by the number of connections.
func (x *Exchange) hasRoom(n int) bool {
	if n <= answerMax || x.l == nil {
		return true
	}
	g := x.l.g
	if most := g.cfg.KeptMax; most < 0 || g.kept.Load()+int64(n) <= most {
		return true
	}
	g.keptFull.Add(1)
	return false
}
