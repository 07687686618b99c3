// SPDX-License-Identifier: MIT

// Command blobs is a board of drifting blobs that everybody who looks at it
// shares: people drop blobs, a producer moves them, and nobody moves them while
// nobody watches.
package main

import "m0serve.dev/host"

func main() {
	var rate rate
	host.Main(host.App{
		Name: "blobs", About: "a board of drifting blobs that everybody shares",
		Handler: rate.newHandler, Producer: rate.newProducer, PageSlots: boardWords,
		Settings: rate.settings(),
	})
}
