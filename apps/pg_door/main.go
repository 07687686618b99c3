// SPDX-License-Identifier: MIT

// Command pg_door is a service whose streams are fed by PostgreSQL: what the smoke
// of wsgi/pglisten runs, and how a Go service uses it.
package main

import "m0serve.dev/host"

func main() {
	var d door
	host.Main(host.App{
		Name: "pg_door", About: "streams of what PostgreSQL notifies of",
		Handler: d.newHandler, Producer: d.newListener, Settings: d.settings(),
	})
}
