// SPDX-License-Identifier: MIT

//go:build !amd64 || purego

package escape

// eachProcessor runs fn once: there is no assembly to choose.
func eachProcessor(fn func(name string)) { fn("portable") }
