// SPDX-License-Identifier: MIT

package sqlite

// cache keeps the statements of one connection that nobody uses, by their text; the one that was
// used longest ago makes room. It belongs to its connection.
type cache struct {
	max    int
	idle   map[string]*Stmt
	newest *Stmt
	oldest *Stmt
	hits   int64
	misses int64
}

// take removes and returns the statement for sql, or nil.
func (k *cache) take(sql string) *Stmt {
	s := k.idle[sql]
	if s == nil {
		k.misses++
		return nil
	}
	k.hits++
	k.remove(s)
	return s
}

// put adds a statement that is reset and cleared, or finalizes it when an equal one is there.
func (k *cache) put(s *Stmt) {
	if k.idle == nil {
		k.idle = make(map[string]*Stmt, k.max)
	}
	if k.idle[s.sql] != nil {
		s.finalize()
		return
	}
	if len(k.idle) >= k.max {
		old := k.oldest
		k.remove(old)
		old.finalize()
	}
	k.idle[s.sql] = s
	s.older = k.newest
	if s.older != nil {
		s.older.newer = s
	} else {
		k.oldest = s
	}
	k.newest = s
}

func (k *cache) remove(s *Stmt) {
	delete(k.idle, s.sql)
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		k.newest = s.older
	}
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		k.oldest = s.newer
	}
	s.newer, s.older = nil, nil
}
