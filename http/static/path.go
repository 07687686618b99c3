// SPDX-License-Identifier: MIT

package static

import "bytes"

// isBelow reports whether path, as sent, is for this directory.
func (f *Files) isBelow(path []byte) bool {
	if len(path) < len(f.route) {
		return f.cfg.Index != "" && string(path) == f.route[:len(f.route)-1]
	}
	return string(path[:len(f.route)]) == f.route
}

// fileName turns the part of a path behind the route into the name of a file or
// directory; dir tells that the path ends with a slash. Anything that a
// filesystem could understand in another way than the client is refused.
func fileName(path []byte) (name string, dir, ok bool) {
	if len(path) == 0 {
		return ".", true, true
	}
	if path[len(path)-1] == '/' {
		dir, path = true, path[:len(path)-1]
	}
	if bytes.IndexByte(path, '%') >= 0 {
		if path, ok = unescape(path); !ok {
			return "", false, false
		}
	}
	for rest, more := path, true; more; {
		var segment []byte
		segment, rest, more = bytes.Cut(rest, []byte{'/'})
		if !servable(segment) {
			return "", false, false
		}
	}
	return string(path), dir, true
}

// servable reports whether a segment of a name may be served: no dot file, and
// so neither "." nor "..".
func servable(segment []byte) bool {
	if len(segment) == 0 || segment[0] == '.' {
		return false
	}
	for _, c := range segment {
		if c < 0x20 || c == 0x7f || c == '/' || c == '\\' {
			return false
		}
	}
	return true
}

// unescape decodes percent triplets, once. A slash that was escaped is not one
// that separates, so it is refused.
func unescape(path []byte) ([]byte, bool) {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) {
				return nil, false
			}
			high, ok := unhex(path[i+1])
			low, ok2 := unhex(path[i+2])
			if c = high<<4 | low; !ok || !ok2 || c == '/' {
				return nil, false
			}
			i += 2
		}
		out = append(out, c)
	}
	return out, true
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
