// SPDX-License-Identifier: MIT

package grip

import (
	"slices"
	"strings"
	"time"
)

// A ControlType is what a control message wants.
type ControlType uint8

// The control messages. Their names are those of the constants in lower case,
// with a dash: set-meta.
const (
	Subscribe    ControlType = iota // Channel, Filters
	Unsubscribe                     // Channel
	Detach                          // the application is done with the socket, channels are not
	Session                         // Name is the session's id
	SetMeta                         // Name, Value; no Value removes it
	SetKeepAlive                    // Message, Timeout, Interval; Timeout 0 ends it
	SendDelayed                     // Message after Timeout, instead of one that waits
	FlushDelayed                    // send what waits now
)

var controlNames = [...]string{
	Subscribe: "subscribe", Unsubscribe: "unsubscribe", Detach: "detach", Session: "session",
	SetMeta: "set-meta", SetKeepAlive: "keep-alive", SendDelayed: "send-delayed",
	FlushDelayed: "flush-delayed",
}

func (t ControlType) String() string {
	if int(t) < len(controlNames) {
		return controlNames[t]
	}
	return "unknown"
}

// A Control is a control message of an application about its WebSocket.
type Control struct {
	Type        ControlType
	Channel     string
	Filters     Filters
	Name, Value string
	Message     Message
	Timeout     time.Duration
	Interval    bool // as in KeepAlive
}

// defaultDelay is that of SendDelayed.
const defaultDelay = time.Second

// ParseControl reads the JSON of a control message, what stands behind "c:".
func ParseControl(content []byte, check Check) (Control, error) {
	d := decoder{}
	o := d.document(content)
	name := o.text("type")
	i := slices.Index(controlNames[:], name)
	if i < 0 {
		d.fail("type", name, "the types are %s", strings.Join(controlNames[:], ", "))
		return Control{}, d.err
	}
	c := Control{Type: ControlType(i)}
	switch c.Type {
	case Subscribe, Unsubscribe:
		c.Channel = o.text("channel")
		if err := check(c.Channel); err != nil {
			d.fail("channel", c.Channel, "%w", err)
		}
		c.Filters = o.filters("filters")
	case Session:
		c.Name = o.text("id")
	case SetMeta:
		if c.Name, c.Value = o.text("name"), o.text("value"); c.Name == "" {
			d.fail("name", "", "want a name")
		}
	case SetKeepAlive:
		o.controlMessage(&c, minKeepAlive, defaultKeepAlive)
	case SendDelayed:
		if !o.hasContent() {
			d.fail("content", "", "want content or content-bin")
		}
		o.controlMessage(&c, 0, defaultDelay)
	}
	if d.err != nil {
		return Control{}, d.err
	}
	return c, nil
}

func (o *object) hasContent() bool { return o.has("content") || o.has("content-bin") }

// controlMessage reads a message and its time; without content there is none.
func (o *object) controlMessage(c *Control, least, other time.Duration) {
	if !o.hasContent() {
		return
	}
	o.typedContent(&c.Message, "message-type")
	c.Timeout = o.seconds("timeout", least, other)
	if o.d.err == nil {
		c.Interval, o.d.err = parseMode("mode", o.text("mode"))
	}
}
