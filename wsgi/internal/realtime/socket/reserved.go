// SPDX-License-Identifier: MIT

package socket

import (
	"bytes"
	"path"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/wire"
	"m0serve.dev/wsgi/internal/rootpath"
)

// MessagePath is where messages of sockets go, below the root path. It belongs to the
// server: no request from the wire reaches the application there (contract row B5).
const MessagePath = "/ws/message"

// IsMessagePath reports whether an application below root may take the path of a
// request, as it was sent, for MessagePath: decoded, with dot segments and doubled
// slashes resolved, and with or without a slash at its end.
func IsMessagePath(p []byte, root string) bool {
	if bytes.IndexByte(p, '%') < 0 && !bytes.Contains(p, []byte("message")) {
		return false // most requests
	}
	plain := clean(wire.AppendUnescaped(nil, p))
	return clean(wire.AppendUnescaped(nil, rootpath.Below(p, root))) == MessagePath ||
		string(rootpath.Below([]byte(plain), root)) == MessagePath
}

// IsForged reports whether a request from the wire poses as one that this server makes
// for a WebSocket, which an application that speaks GRIP would believe.
func (s *Sockets) IsForged(r *wire.Request) bool {
	if !s.cfg.Grip || !r.HasBody() && string(r.Method) == "GET" {
		return false
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if wire.EqualFold(f.Name, "content-type") &&
			bytes.Contains(bytes.ToLower(f.Value), []byte(grip.EventsType)) {
			return true
		}
	}
	return false
}

// clean is a decoded path without what routers resolve, or may.
func clean(p []byte) string { return path.Clean("/" + string(p)) }
