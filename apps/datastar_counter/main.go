// SPDX-License-Identifier: MIT

// Command datastar_counter is a count that every open tab shares: a word of
// memory that all workers see, and one signal that tells every tab.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "datastar_counter", About: "one number in every open tab",
		Handler: newHandler, Doctor: doctor,
		PageSlots: func(int) int { return 1 }, // the count
	})
}
