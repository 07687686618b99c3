// SPDX-License-Identifier: MIT

package sqlite

import (
	"fmt"
	"time"
)

// SQLite has no time type, and a time that is stored in one way and compared in another is a
// silent bug. So a time.Time is refused, and these types say the form.

// UnixMilli is a time stored as INTEGER: milliseconds since 1970. Finer parts are cut off. It reads
// back in UTC.
type UnixMilli struct{ time.Time }

// RFC3339 is a time stored as TEXT in UTC, always with nine digits of the second, so that text
// order is time order and SQLite's date functions understand it. It reads back in UTC.
type RFC3339 struct{ time.Time }

// rfc3339Fixed is the form of RFC3339; years 0 to 9999 only.
const rfc3339Fixed = "2006-01-02T15:04:05.000000000Z"

func (t UnixMilli) bind(s *Stmt, i int) {
	ms := t.Time.UnixMilli()
	if time.UnixMilli(ms).UTC().Year() != t.Time.UTC().Year() {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: %v in milliseconds: %w", i, t.Time, ErrRange))
		return
	}
	s.BindInt64(i, ms)
}

func (t RFC3339) bind(s *Stmt, i int) {
	utc := t.Time.UTC()
	if y := utc.Year(); y < 0 || y > 9999 {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: year %d in RFC 3339: %w", i, y, ErrRange))
		return
	}
	s.BindText(i, utc.Format(rfc3339Fixed))
}

// ScanColumn reads the form that UnixMilli binds.
func (t *UnixMilli) ScanColumn(s *Stmt, i int) error {
	if k := s.Kind(i); k != Integer {
		return s.mismatch(i, "UnixMilli")
	}
	t.Time = time.UnixMilli(s.Int64(i)).UTC()
	return nil
}

// ScanColumn reads the form that RFC3339 binds, and any other RFC 3339 text.
func (t *RFC3339) ScanColumn(s *Stmt, i int) error {
	if k := s.Kind(i); k != Text {
		return s.mismatch(i, "RFC3339")
	}
	v, err := time.Parse(time.RFC3339Nano, s.Text(i))
	if err != nil {
		return fmt.Errorf("sqlite: scan column %q: %w", s.ColumnName(i), err)
	}
	t.Time = v.UTC()
	return nil
}
