// SPDX-License-Identifier: MIT

// Command sim_loop is a simulation that makes four steps in a second, in a
// producer or on the server's loop, and draws them in every open tab.
package main

import "m0serve.dev/host"

func main() {
	var arm arm
	host.Main(host.App{
		Name: "sim_loop", About: "hares and foxes in one simulation that every tab draws",
		Handler: arm.newHandler, Producer: arm.newProducer, Config: arm.tick,
		PageSlots: func(int) int { return simWords }, Settings: arm.settings(),
	})
}
