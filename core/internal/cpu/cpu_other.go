// SPDX-License-Identifier: MIT

//go:build !amd64 || purego

package cpu

// HasAVX2 is false: there is no assembly here to ask.
const HasAVX2 = false
