// SPDX-License-Identifier: MIT

package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"
)

// acceptGUID is appended to the key before it is hashed (RFC 6455, section 1.3).
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Version is the only protocol version there is; a refusal with status 426 has
// to name it in Sec-WebSocket-Version.
const Version = "13"

// An Error says why a request cannot become a WebSocket.
type Error struct {
	Status int    // to answer with: 400, 405 or 426
	Reason string // for a person
}

// Error implements error.
func (e *Error) Error() string { return "ws: opening: " + e.Reason }

// An Opening is what the opening handshake looks at, as the request has it.
type Opening struct {
	Method     string
	HTTP11     bool     // or above
	Upgrade    string   // the Upgrade field
	Connection string   // the Connection field; several are joined with a comma
	Version    string   // Sec-WebSocket-Version
	Keys       []string // every Sec-WebSocket-Key
}

// OpeningOf reads the opening of a net/http request.
func OpeningOf(r *http.Request) Opening {
	return Opening{
		Method: r.Method, HTTP11: r.ProtoAtLeast(1, 1),
		Upgrade:    strings.Join(r.Header.Values("Upgrade"), ","),
		Connection: strings.Join(r.Header.Values("Connection"), ","),
		Version:    r.Header.Get("Sec-Websocket-Version"),
		Keys:       r.Header.Values("Sec-Websocket-Key"),
	}
}

// Accept gives the value of Sec-WebSocket-Accept for the answer 101, which also
// needs Upgrade: websocket and Connection: Upgrade. The error is an *Error.
func (o Opening) Accept() (accept string, err error) {
	switch {
	case o.Method != http.MethodGet:
		return "", &Error{http.StatusMethodNotAllowed, "the method has to be GET"}
	case !o.HTTP11:
		return "", &Error{http.StatusBadRequest, "it needs HTTP/1.1"}
	case !hasToken(o.Upgrade, "websocket"):
		return "", &Error{http.StatusBadRequest, "Upgrade does not name websocket"}
	case !hasToken(o.Connection, "upgrade"):
		return "", &Error{http.StatusBadRequest, "Connection does not name Upgrade"}
	case o.Version != Version:
		return "", &Error{http.StatusUpgradeRequired, "the version has to be 13"}
	case len(o.Keys) != 1:
		return "", &Error{http.StatusBadRequest, "there has to be one Sec-WebSocket-Key"}
	}
	nonce, err := base64.StdEncoding.Strict().DecodeString(o.Keys[0])
	if err != nil || len(nonce) != 16 {
		return "", &Error{http.StatusBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64"}
	}
	sum := sha1.Sum([]byte(o.Keys[0] + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

// hasToken reports whether a comma-separated list names token, in any case.
func hasToken(list, token string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), token) {
			return true
		}
	}
	return false
}
