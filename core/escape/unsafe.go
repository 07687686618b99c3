// SPDX-License-Identifier: MIT

package escape

import "unsafe"

// bytesOf returns the bytes of s without a copy. It assumes that they are only
// read, and only while s is alive: every caller passes them to appendQuoted,
// which keeps nothing.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
