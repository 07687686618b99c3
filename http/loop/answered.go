// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"iter"
	"net/netip"

	"m0serve.dev/http/wire"
)

// SetPeer makes Peer and RemoteAddr the address that a trusted proxy has named,
// for this request.
func (x *Exchange) SetPeer(client netip.AddrPort) { x.peer = client }

// AnswerField returns the value of the first field of the answer called lower,
// and whether one was set. Date, Content-Length and the fields of the framing
// are the engine's and not among them.
func (x *Exchange) AnswerField(lower string) (value []byte, found bool) {
	for rest := x.fields; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte(wire.LineEnd))
		if len(line) > len(lower) && line[len(lower)] == ':' && wire.EqualFold(line[:len(lower)], lower) {
			return bytes.TrimLeft(line[len(lower)+1:], " "), true
		}
	}
	return nil, false
}

// AnswerFields are all the fields that AnswerField looks at, in order.
func (x *Exchange) AnswerFields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for rest := x.fields; len(rest) > 0; {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte(wire.LineEnd))
			name, value, _ := bytes.Cut(line, []byte(":"))
			if !yield(string(name), string(bytes.TrimLeft(value, " "))) {
				return
			}
		}
	}
}
