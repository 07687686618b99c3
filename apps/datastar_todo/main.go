// SPDX-License-Identifier: MIT

// Command datastar_todo is a todo list that stays in sync in every open tab,
// on any number of workers over one SQLite file, and that loses no event when a
// worker or the whole service is killed.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "datastar_todo", About: "a todo list that is live in every tab",
		Handler: newHandler, Doctor: doctor,
	})
}
