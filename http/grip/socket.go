// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// minInterval is the least time between two empty requests of a WebSocket.
const minInterval = 20 * time.Second

// controlMark opens a control message, defaultPrefix any other one.
const (
	controlMark   = "c:"
	defaultPrefix = "m:"
)

// A SocketAnswer is what the fields of an application's answer to a WebSocket's
// events say.
type SocketAnswer struct {
	Events   bool          // the body is one of events: Content-Type says so
	Grip     bool          // messages are control messages, or have the prefix
	Prefix   string        // of messages for the client, when Grip is set
	Interval time.Duration // make a request this often at least; 0: no; -1: as before
	Accepted int           // bytes of content that were taken; -1: all
	Meta     []Pair        // to be set; a value that is empty removes the name
	Protocol string        // Sec-WebSocket-Protocol
}

// ParseSocketAnswer reads the fields of an answer to a WebSocket's events.
func ParseSocketAnswer(fields iter.Seq2[string, string]) (SocketAnswer, error) {
	a := SocketAnswer{Interval: -1, Accepted: -1}
	for name, value := range fields {
		if err := a.field(strings.ToLower(name), trim(value)); err != nil {
			return SocketAnswer{}, err
		}
	}
	return a, nil
}

func (a *SocketAnswer) field(name, value string) (err error) {
	switch name {
	case "content-type":
		first, _, _ := strings.Cut(value, ";")
		a.Events = strings.EqualFold(trim(first), EventsType)
	case "sec-websocket-extensions":
		return a.extensions(value)
	case "sec-websocket-protocol":
		a.Protocol = value
	case "keep-alive-interval":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return wrong("Keep-Alive-Interval", value, "want whole seconds, 0 for none")
		}
		if a.Interval = 0; n > 0 {
			a.Interval = max(time.Duration(n)*time.Second, minInterval)
		}
	case "content-bytes-accepted":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return wrong("Content-Bytes-Accepted", value, "want a number of bytes")
		}
		a.Accepted = int(n)
	default:
		key, ok := strings.CutPrefix(name, "set-meta-")
		if ok && key != "" {
			if len(a.Meta) == MaxMeta {
				return wrong("Set-Meta-"+key, "", "at most %d names", MaxMeta)
			}
			a.Meta = append(a.Meta, Pair{key, value})
		}
	}
	return nil
}

// extensions looks for the extension grip; others are not for the server.
func (a *SocketAnswer) extensions(value string) error {
	for more := true; more; {
		var e element
		var err error
		if e, value, more, err = cutElement(value, true); err != nil {
			return wrong("Sec-WebSocket-Extensions", e.first, "%w", err)
		}
		if !strings.EqualFold(e.first, "grip") {
			continue
		}
		a.Grip, a.Prefix = true, defaultPrefix
		for _, p := range e.params {
			if p.name == "message-prefix" {
				a.Prefix = p.value
			}
		}
	}
	return nil
}

// A Route says whom an event of an application is for.
type Route uint8

// The routes.
const (
	ToNobody  Route = iota // a message without the prefix
	ToClient               // a frame for the client
	ToControl              // a control message, see ParseControl
)

// Route tells whom e is for, and what of its content.
func (a *SocketAnswer) Route(e Event) (Route, []byte) {
	if !a.Grip || e.Type != EventText && e.Type != EventBinary {
		return ToClient, e.Content
	}
	if control, ok := bytes.CutPrefix(e.Content, []byte(controlMark)); ok && e.Type == EventText {
		return ToControl, control
	}
	if content, ok := bytes.CutPrefix(e.Content, []byte(a.Prefix)); ok {
		return ToClient, content
	}
	return ToNobody, nil
}

// SetMeta returns meta as the answer changes it.
func (a *SocketAnswer) SetMeta(meta Meta) Meta {
	for _, p := range a.Meta {
		if p.Value == "" {
			meta = meta.Without(p.Name)
		} else {
			meta = meta.With(p.Name, p.Value)
		}
	}
	return meta
}

// AppendMetaFields appends a field line Meta-name for every pair of meta that can
// be one.
func AppendMetaFields(dst []byte, meta Meta) []byte {
	for _, p := range meta {
		if line, err := wire.AppendField(dst, "Meta-"+p.Name, p.Value); err == nil {
			dst = line
		}
	}
	return dst
}
