// SPDX-License-Identifier: MIT

package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"m0serve.dev/http/wire"
)

// acceptGUID is appended to the key before it is hashed (RFC 6455, section 1.3).
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Version is the only protocol version there is; a refusal with status 426 has
// to name it in Sec-WebSocket-Version.
const Version = "13"

// An Error says why a request cannot become a WebSocket.
type Error struct {
	Status int    // to answer with: 400, 403, 405 or 426
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

	Origin   string // the Origin field; empty: the client is no browser
	Host     string
	Protocol string // Sec-WebSocket-Protocol; several are joined with a comma

	Extensions string // Sec-WebSocket-Extensions; the same
}

// OpeningOf reads the opening of a net/http request.
func OpeningOf(r *http.Request) Opening {
	return Opening{
		Method: r.Method, HTTP11: r.ProtoAtLeast(1, 1),
		Upgrade:    strings.Join(r.Header.Values("Upgrade"), ","),
		Connection: strings.Join(r.Header.Values("Connection"), ","),
		Version:    r.Header.Get("Sec-Websocket-Version"),
		Keys:       r.Header.Values("Sec-Websocket-Key"),
		Origin:     r.Header.Get("Origin"),
		Host:       r.Host,
		Protocol:   strings.Join(r.Header.Values("Sec-Websocket-Protocol"), ","),
		Extensions: strings.Join(r.Header.Values("Sec-Websocket-Extensions"), ","),
	}
}

// OpeningOfRequest reads the opening of a request of a native handler.
func OpeningOfRequest(r *wire.Request) Opening {
	o := Opening{Method: string(r.Method), HTTP11: r.Minor >= 1,
		Upgrade: string(r.Upgrade), Host: string(r.Host)}
	for i := range r.Fields {
		name, value := r.Fields[i].Name, r.Fields[i].Value
		switch {
		case wire.EqualFold(name, "connection"):
			o.Connection = joined(o.Connection, value)
		case wire.EqualFold(name, "sec-websocket-version"):
			o.Version = string(value)
		case wire.EqualFold(name, "sec-websocket-key"):
			o.Keys = append(o.Keys, string(value))
		case wire.EqualFold(name, "sec-websocket-protocol"):
			o.Protocol = joined(o.Protocol, value)
		case wire.EqualFold(name, "sec-websocket-extensions"):
			o.Extensions = joined(o.Extensions, value)
		case wire.EqualFold(name, "origin"):
			o.Origin = string(value)
		}
	}
	return o
}

// joined adds a field line to a list (RFC 9110, section 5.3).
func joined(list string, value []byte) string {
	if list == "" {
		return string(value)
	}
	return list + "," + string(value)
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

// CheckOrigin refuses a page of a site that may not connect: browsers let every
// page open a WebSocket to every host, and send its cookies. allowed is as
// Options.Origins has it. The error is an *Error.
func (o Opening) CheckOrigin(allowed []string) error {
	if o.Origin == "" {
		return nil
	}
	if allowed == nil {
		at, err := url.Parse(o.Origin)
		if err == nil && at.Host != "" && strings.EqualFold(at.Host, o.Host) {
			return nil
		}
	}
	for _, origin := range allowed {
		if origin == "*" || strings.EqualFold(origin, o.Origin) {
			return nil
		}
	}
	return &Error{http.StatusForbidden, "pages of this Origin may not connect"}
}

// choose is the first of the subprotocols that the client offers; "" for none.
func (o *Opening) choose(protocols []string) string {
	for _, protocol := range protocols {
		for part := range strings.SplitSeq(o.Protocol, ",") {
			if strings.TrimSpace(part) == protocol { // case matters: RFC 6455, section 11.5
				return protocol
			}
		}
	}
	return ""
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
