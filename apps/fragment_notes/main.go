// SPDX-License-Identifier: MIT

// Command fragment_notes is a list of notes that is changed by fragments of HTML: a
// table of views and a state, and no handler type.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "fragment_notes", About: "a list of notes, changed by fragments of HTML",
		MaxWorkers: 1, // the notes are in this process's memory
		Handler:    host.Views[*notes]{State: newNotes, Routes: routes}.Handler,
	})
}
