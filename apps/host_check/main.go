// SPDX-License-Identifier: MIT

// Command host_check is a handler and a producer and nothing else: what the
// smoke of the host runs.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "host_check", About: "what the smoke of the host runs",
		Handler: newHandler, Producer: newBeats, Config: configure,
	})
}
