// SPDX-License-Identifier: MIT

package ws

import "m0serve.dev/http/loop"

// Parked makes a connection that is parked on held.
func Parked(o *Options, h Handler, held loop.Held) *Conn { return ParkedWith(o, h, held, "") }

// ParkedWith is Parked for a client that offered extensions.
func ParkedWith(o *Options, h Handler, held loop.Held, offers string) *Conn {
	c := newConn(o, o.Compression.agree(offers), h)
	_ = c.begin(held, nil) // there is no error to pass on
	return c
}

// Agree is what is answered to offers.
func (z *Compression) Agree(offers string) string { return z.agree(offers).String() }
