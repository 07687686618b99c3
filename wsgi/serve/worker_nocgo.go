// SPDX-License-Identifier: MIT

//go:build !cgo || !linux

package serve

// canEmbed says whether this build can load an interpreter.
const canEmbed = false

// letGoOfStart does nothing here: pages of a file that are not needed stay until the
// kernel wants them.
func letGoOfStart() {}

// embedded is never reached: the supervisor has refused.
func embedded() int { return exitFailure }
