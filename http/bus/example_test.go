// SPDX-License-Identifier: MIT

package bus_test

import (
	"errors"
	"fmt"

	"m0serve.dev/http/bus"
)

func ExampleLocal() {
	b := bus.Local()
	defer b.Close()

	done := make(chan struct{})
	b.Receive(func(f bus.Frame) {
		fmt.Printf("%s/%s: %s\n", f.Channel, f.Kind, f.Body)
		close(done)
	})

	err := b.Publish(bus.Frame{
		ID: b.NextID(), Channel: "news", Kind: "added", Body: []byte("first"),
	})
	if err != nil {
		fmt.Println(err)
	}
	<-done

	// Names of the server are refused wherever an untrusted one may come in.
	err = b.Publish(bus.Frame{Channel: "\x01/1/"})
	fmt.Println(errors.Is(err, bus.ErrReserved), err)
	// Output:
	// news/added: first
	// true bus: channel name is reserved for the server
}
