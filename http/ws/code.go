// SPDX-License-Identifier: MIT

package ws

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// A Code says why a WebSocket was closed (RFC 6455, section 7.4, and the IANA
// registry).
type Code uint16

// The registered codes. Those marked local never travel.
const (
	CodeNormal      Code = 1000
	CodeGoingAway   Code = 1001
	CodeProtocol    Code = 1002
	CodeUnsupported Code = 1003
	CodeNoStatus    Code = 1005 // local: the peer's close had no code
	CodeAbnormal    Code = 1006 // local: there was no close at all
	CodeInvalidData Code = 1007
	CodePolicy      Code = 1008
	CodeTooBig      Code = 1009
	CodeExtension   Code = 1010
	CodeInternal    Code = 1011
	CodeRestart     Code = 1012 // the server stops; come back
	CodeOverload    Code = 1013 // try again later
	CodeBadGateway  Code = 1014
	CodeTLS         Code = 1015 // local
)

// String is the number.
func (c Code) String() string { return strconv.Itoa(int(c)) }

// Travels reports whether c may stand in a close frame: a registered code that is
// not local, or one of those left to libraries and applications (3000 to 4999).
func (c Code) Travels() bool {
	switch {
	case c >= 3000:
		return c <= 4999
	case c == 1004, c == CodeNoStatus, c == CodeAbnormal:
		return false
	}
	return c >= CodeNormal && c <= CodeBadGateway
}

// closeReasonMax is what a close frame has room for behind its code.
const closeReasonMax = controlMax - 2

// ParseClose reads the payload of a close frame. An empty one is CodeNoStatus.
// reason is a part of payload.
func ParseClose(payload []byte) (code Code, reason []byte, err error) {
	switch len(payload) {
	case 0:
		return CodeNoStatus, nil, nil
	case 1:
		return 0, nil, ErrCloseLength
	}
	code, reason = Code(binary.BigEndian.Uint16(payload)), payload[2:]
	switch {
	case !code.Travels():
		return 0, nil, ErrCloseCode
	case !utf8.Valid(reason):
		return 0, nil, ErrText
	}
	return code, reason, nil
}

// AppendClose appends a close frame of a server. CodeNoStatus makes one without
// a payload. It refuses a code that does not travel and a reason that is longer
// than 123 bytes or not UTF-8; dst is then returned as it was.
func AppendClose(dst []byte, code Code, reason string) ([]byte, error) {
	switch {
	case code == CodeNoStatus && reason == "":
		return AppendFrame(dst, OpClose, true, nil), nil
	case !code.Travels():
		return dst, ErrCloseCode
	case len(reason) > closeReasonMax:
		return dst, ErrCloseLength
	case !utf8.ValidString(reason):
		return dst, ErrText
	}
	dst = append(dst, finalBit|byte(OpClose), byte(2+len(reason)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(code))
	return append(dst, reason...), nil
}

// A Violation is what is wrong with what a peer has sent. As an error it costs no
// allocation.
type Violation uint8

// The violations.
const (
	ErrReserved    Violation = iota + 1 // a reserved bit or opcode (section 5.2)
	ErrMask                             // a client did not mask, or a server did (5.1)
	ErrControl                          // a control frame that is long or a fragment (5.5)
	ErrLength                           // a length in more bytes than it needs (5.2)
	ErrSequence                         // a continuation of nothing, or a message in another (5.4)
	ErrText                             // text that is not UTF-8 (8.1)
	ErrFrameSize                        // a frame longer than Parser.MaxFrame
	ErrMessageSize                      // a message longer than Parser.MaxMessage
	ErrCloseLength                      // a close payload of one byte, or too long (5.5.1)
	ErrCloseCode                        // a close code that does not travel (7.4)
	ErrDeflate                          // compressed data that is damaged (RFC 7692)
)

// Error implements error.
func (v Violation) Error() string { return "ws: " + v.reason() }

func (v Violation) reason() string {
	switch v {
	case ErrReserved:
		return "reserved bit or opcode"
	case ErrMask:
		return "wrong masking"
	case ErrControl:
		return "control frame is too long or a fragment"
	case ErrLength:
		return "length is not minimal"
	case ErrSequence:
		return "fragments out of order"
	case ErrText:
		return "text is not UTF-8"
	case ErrFrameSize:
		return "frame is too big"
	case ErrMessageSize:
		return "message is too big"
	case ErrCloseLength:
		return "close payload has a wrong length"
	case ErrCloseCode:
		return "close code is reserved"
	case ErrDeflate:
		return "compressed data is damaged"
	}
	return "violation"
}

// Code is what a connection is closed with for v.
func (v Violation) Code() Code {
	switch v {
	case ErrText, ErrDeflate:
		return CodeInvalidData
	case ErrFrameSize, ErrMessageSize:
		return CodeTooBig
	}
	return CodeProtocol
}
