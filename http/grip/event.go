// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EventsType is the media type of the bodies in which a WebSocket's events
// travel in requests to the application and in its answers.
const EventsType = "application/websocket-events"

// Limits of one body of events.
const (
	MaxEventsBytes = 1_000_000 // of the whole body
	MaxEvents      = 10_000
)

// An EventType is what happened on a WebSocket, or shall happen.
type EventType uint8

// The events. OPEN and DISCONNECT have no content; that of CLOSE is a code and
// a reason, see Event.CloseCode.
const (
	EventOpen EventType = iota
	EventText
	EventBinary
	EventPing
	EventPong
	EventClose
	EventDisconnect // the client is gone without a CLOSE
)

var eventNames = [...]string{
	EventOpen: "OPEN", EventText: "TEXT", EventBinary: "BINARY", EventPing: "PING",
	EventPong: "PONG", EventClose: "CLOSE", EventDisconnect: "DISCONNECT",
}

func (t EventType) String() string {
	if int(t) < len(eventNames) {
		return eventNames[t]
	}
	return "unknown"
}

// An Event is one event of a WebSocket.
type Event struct {
	Type    EventType
	Content []byte
}

// AppendEvent appends e as it stands in a body of events:
//
//	event = type [ SP hex-length ] CRLF [ content CRLF ]
//
// Messages always have content, other events when there is some.
func AppendEvent(dst []byte, e Event) []byte {
	dst = append(dst, e.Type.String()...)
	if len(e.Content) == 0 && e.Type != EventText && e.Type != EventBinary {
		return append(dst, "\r\n"...)
	}
	dst = strconv.AppendInt(append(dst, ' '), int64(len(e.Content)), 16)
	dst = append(append(dst, "\r\n"...), e.Content...)
	return append(dst, "\r\n"...)
}

// ParseEvents reads a body of events. Contents are parts of body. Texts are
// UTF-8, and control events fit into a frame.
func ParseEvents(body []byte) ([]Event, error) {
	if len(body) > MaxEventsBytes {
		return nil, fmt.Errorf("grip: %d bytes of events, at most %d", len(body), MaxEventsBytes)
	}
	var events []Event
	for len(body) > 0 {
		if len(events) == MaxEvents {
			return nil, fmt.Errorf("grip: more than %d events in one body", MaxEvents)
		}
		e, n, err := parseEvent(body)
		if err != nil {
			return nil, fmt.Errorf("grip: event %d: %w", len(events)+1, err)
		}
		events, body = append(events, e), body[n:]
	}
	return events, nil
}

// parseEvent reads the event at the start of b and returns its length.
func parseEvent(b []byte) (e Event, n int, err error) {
	line := string(b[:min(len(b), lineMax)])
	end := strings.Index(line, "\r\n")
	if end < 0 {
		return e, 0, errors.New("no line with a type, as in TEXT 5")
	}
	n = end + 2
	name, length, hasContent := strings.Cut(line[:end], " ")
	i := slices.Index(eventNames[:], name)
	if i < 0 {
		return e, 0, fmt.Errorf("%q is no type; the types are %s", name,
			strings.Join(eventNames[:], ", "))
	}
	e.Type = EventType(i)
	if hasContent {
		size, err := strconv.ParseUint(length, 16, 31)
		if err != nil {
			return e, 0, fmt.Errorf("the length of %s is %q, want hex digits", name, length)
		}
		if rest := b[n:]; uint64(len(rest)) < size+2 || string(rest[size:size+2]) != "\r\n" {
			return e, 0, fmt.Errorf("the content of %s is not %d bytes with CRLF behind", name, size)
		}
		e.Content = b[n : n+int(size) : n+int(size)]
		n += int(size) + 2
	}
	return e, n, e.check()
}

// lineMax bounds the first line of an event, in bytes.
const lineMax = 32

func (e *Event) check() error {
	switch e.Type {
	case EventText:
		if !utf8.Valid(e.Content) {
			return errors.New("a TEXT has to be UTF-8")
		}
	case EventPing, EventPong, EventClose:
		if len(e.Content) > maxControl {
			return fmt.Errorf("%d bytes in a %s, at most %d", len(e.Content), e.Type, maxControl)
		}
	}
	return nil
}

// CloseEvent makes an EventClose. Code 0 is none; reason is cut to what a frame
// can carry.
func CloseEvent(code int, reason string) Event {
	if code == 0 {
		return Event{Type: EventClose}
	}
	for len(reason) > maxReason {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	content := binary.BigEndian.AppendUint16(nil, uint16(code))
	return Event{EventClose, append(content, reason...)}
}

// CloseCode reads what an EventClose says. Code 0 is none: libraries send it for
// a close without a code.
func (e Event) CloseCode() (code int, reason string, err error) {
	if len(e.Content) == 0 {
		return 0, "", nil
	}
	if len(e.Content) < 2 {
		return 0, "", errors.New("grip: a CLOSE has a code of two bytes, or nothing")
	}
	code, reason = int(binary.BigEndian.Uint16(e.Content)), string(e.Content[2:])
	switch {
	case code != 0 && !validCode(code):
		return 0, "", fmt.Errorf("grip: a CLOSE says %d, a code that does not travel", code)
	case !utf8.ValidString(reason):
		return 0, "", errors.New("grip: the reason of a CLOSE is not UTF-8")
	}
	return code, reason, nil
}

// Limits of WebSocket control frames (RFC 6455 section 5.5).
const (
	maxControl = 125            // bytes of a ping, a pong or a close
	maxReason  = maxControl - 2 // bytes of the reason of a close
)

// validCode tells whether a close frame may carry code (RFC 6455 section 7.4).
func validCode(code int) bool {
	switch {
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}
