// SPDX-License-Identifier: MIT

//go:build !amd64 || purego

package field

func markStops(stops *[windowWords]uint64, text []byte) { markStopsPortable(stops, text) }
