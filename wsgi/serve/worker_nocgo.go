// SPDX-License-Identifier: MIT

//go:build !cgo || !linux

package serve

// canEmbed says whether this build can load an interpreter.
const canEmbed = false

// embedded is never reached: the supervisor has refused.
func embedded() int { return exitFailure }
