// SPDX-License-Identifier: MIT

// Package rootpath is what --root-path does to the path of a request. A proxy may leave
// the root path in front of what it passes on, or take it away; applications see the
// same in both cases (PEP 3333, SCRIPT_NAME).
package rootpath

// Below is path without root in front, if it lies below it; otherwise path as it is.
func Below(path []byte, root string) []byte {
	n := len(root)
	switch {
	case n == 0, len(path) < n, string(path[:n]) != root, len(path) > n && path[n] != '/':
		return path
	}
	return path[n:]
}
