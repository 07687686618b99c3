// SPDX-License-Identifier: MIT

// Command client_check is a service that asks itself: both ends of the wire are
// ours, and it says what came of it.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "client_check", About: "a service that asks itself; see GET /check",
		Handler: newHandler,
	})
}
