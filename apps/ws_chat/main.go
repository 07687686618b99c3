// SPDX-License-Identifier: MIT

// Command ws_chat is a chat over WebSocket: rooms, who is here, who is typing, and
// a history, on any number of workers over one SQLite file.
package main

import "m0serve.dev/host"

func main() {
	host.Main(host.App{
		Name: "ws_chat", About: "a chat over WebSocket, with rooms and a history",
		Handler: newHandler, Doctor: doctor,
		PageSlots: func(int) int { return countWords },
	})
}
