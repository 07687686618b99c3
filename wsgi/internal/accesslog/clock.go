// SPDX-License-Identifier: MIT

package accesslog

import "time"

// A clock keeps the texts of a second. It belongs to whoever holds Log.mu.
type clock struct {
	second int64
	millis int64
	local  []byte // [29/Nov/2026:19:30:33 +0100]
	utc    []byte // 2026-11-29T18:30:33
}

// set makes t the time of the next line.
func (c *clock) set(t time.Time) {
	c.millis = int64(t.Nanosecond() / 1e6)
	if s := t.Unix(); s != c.second || c.local == nil {
		c.second = s
		c.local = t.AppendFormat(c.local[:0], "[02/Jan/2006:15:04:05 -0700]")
		c.utc = t.UTC().AppendFormat(c.utc[:0], "2006-01-02T15:04:05")
	}
}

func (c *clock) appendUTC(dst []byte) []byte {
	dst = append(append(dst, c.utc...), '.')
	return append(appendPadded(dst, c.millis, 3), 'Z')
}
