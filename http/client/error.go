// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"io"
	"os"

	"m0serve.dev/http/wire"
)

// A Kind says in which way a request failed.
type Kind uint8

// The kinds of failure. Up to Dial the request has certainly not been sent.
const (
	Refused   Kind = iota + 1 // the request cannot be sent as it is
	Busy                      // too many requests wait for a connection
	Closed                    // the Client was closed
	Dial                      // no connection: name, network or TLS
	Body                      // the caller's own Stream failed
	Lost                      // the connection ended before a byte of an answer
	Protocol                  // the answer is malformed
	Truncated                 // the connection ended inside the answer
	TooLarge                  // the answer is above a limit
	Timeout                   // a deadline passed
	Canceled                  // the context ended
)

// kindText is the kinds in words; never written.
var kindText = [...]string{
	Refused: "refused", Busy: "too many requests wait", Closed: "the client is closed",
	Dial: "no connection", Body: "request body", Lost: "connection lost",
	Protocol: "malformed answer", Truncated: "answer cut short", TooLarge: "answer too large",
	Timeout: "timed out", Canceled: "canceled",
}

// String is the kind in a few words.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindText) {
		return "unknown"
	}
	return kindText[k]
}

// An Error says why a request has no whole answer.
type Error struct {
	Kind Kind
	Host string // host and port as in the URL; may be empty
	Err  error  // the cause, or nil; never io.EOF
}

// Error is the kind, the host and the cause.
func (e *Error) Error() string {
	text := "client: "
	if e.Host != "" {
		text += e.Host + ": "
	}
	text += e.Kind.String()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause: a wire.Error, the cause of a context's end, the
// error of the network or of the caller's Stream.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a deadline passed, the context's included.
func (e *Error) Timeout() bool { return e.Kind == Timeout }

// Is makes every answer cut short an io.ErrUnexpectedEOF.
func (e *Error) Is(target error) bool {
	return target == io.ErrUnexpectedEOF && (e.Kind == Truncated || e.Kind == Lost)
}

// ended is the Error for a context that ended.
func ended(ctx context.Context, host string) *Error {
	kind := Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = Timeout
	}
	return &Error{kind, host, context.Cause(ctx)}
}

// kindOf sorts an error of the connection or the parser. heard tells that bytes
// of an answer came before it.
func kindOf(err error, heard bool) Kind {
	var code wire.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case !errors.As(err, &code):
	case code == wire.ErrTruncated:
	case isLimit(code):
		return TooLarge
	default:
		return Protocol
	}
	if heard {
		return Truncated
	}
	return Lost
}

func isLimit(code wire.Error) bool {
	status := code.Status()
	return status == 413 || status == 414 || status == 431
}
