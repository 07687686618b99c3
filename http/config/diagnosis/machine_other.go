// SPDX-License-Identifier: MIT

//go:build !unix

package diagnosis

func isTaken(error) bool { return false }

func isAbsent(error) bool { return false }

func fileLimit() (uint64, bool) { return 0, false }
