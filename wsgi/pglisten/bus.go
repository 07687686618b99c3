// SPDX-License-Identifier: MIT

package pglisten

import (
	"errors"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// ToBus is the Publish of a worker of a service: every worker gets the event, made
// by the encoder of every other door. A worker that does not take it costs its own
// streams that event, of which the bus tells them; only when nobody takes it, it is
// not published.
func ToBus(b *bus.Bus) func(channel string, e sse.Event) error {
	return func(channel string, e sse.Event) error {
		_, err := sse.PublishEvent(b, channel, e)
		var dropped *bus.RefusedError
		if errors.As(err, &dropped) && len(dropped.Channels) < b.Channels() {
			return nil
		}
		return err
	}
}
