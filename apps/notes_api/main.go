// SPDX-License-Identifier: MIT

// Command notes_api is a small JSON and HTML API over notes in memory: what the
// packages of module http add to net/http, each where it belongs.
package main

import "m0serve.dev/host"

func main() {
	a := newApp()
	host.Main(host.App{
		Name: "notes_api", About: "notes over HTTP, in memory",
		Handler: a.newHandler, Settings: a.settings(),
		MaxWorkers: 1, // another worker would have other notes
	})
}
