// SPDX-License-Identifier: MIT

package systemd_test

import (
	"fmt"
	"net"

	"m0serve.dev/http/worker/systemd"
)

// A service with a manager around it and one without are the same code: here there is
// none, so nothing was handed over and nobody is told.
func Example() {
	sockets, err := systemd.AdoptSockets() // before anything opens a descriptor
	if err != nil {
		panic(err)
	}
	manager, err := systemd.AdoptNotifier()
	if err != nil {
		panic(err)
	}
	var ln net.Listener
	if len(sockets) > 0 {
		ln = sockets[0].Listener
	} else if ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		panic(err)
	}
	defer ln.Close()
	fmt.Println(len(sockets), manager.Ready("serving"), manager.Stopping())
	// Output: 0 <nil> <nil>
}
