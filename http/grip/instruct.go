// SPDX-License-Identifier: MIT

package grip

import (
	"iter"
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// A Hold says what happens to a connection behind its answer.
type Hold uint8

// The holds.
const (
	NoHold       Hold = iota // nothing, it is an answer like any other
	HoldResponse             // the answer waits for an item or its timeout (long poll)
	HoldStream               // the answer is sent, and what is published follows
)

func (h Hold) String() string {
	switch h {
	case HoldResponse:
		return "response"
	case HoldStream:
		return "stream"
	}
	return "none"
}

// A Channel is one that a connection subscribes to.
type Channel struct {
	Name    string
	PrevID  string  // the last id that the application knows of; "": none
	Filters Filters // at most MaxFilters
}

// A KeepAlive is what is sent when nothing else is. The zero value is none.
type KeepAlive struct {
	Content  []byte
	Timeout  time.Duration // 0: none
	Interval bool          // every Timeout; else only after a Timeout without anything sent
}

// A Link is where the application is asked for more. The zero value is none.
type Link struct {
	URI     string        // may be relative to the request's
	Timeout time.Duration // ask again after this long without anything published; 0: never
}

// An Instruct is what an answer says about its connection.
type Instruct struct {
	Hold      Hold
	Short     bool // spelt M0-Hold or M0-Channel
	JSON      bool // the answer's body is an instruct too: see AddJSON
	Channels  []Channel
	Timeout   time.Duration // of HoldResponse
	KeepAlive KeepAlive
	Meta      Meta
	Next      Link      // rel=next
	Gone      string    // rel=gone, the URI; "": none
	Status    int       // to send instead of the answer's; 0: the answer's
	Reason    string    // goes with Status; "": the usual one
	Expose    []string  // the only fields that a client sees; nil: all
	Response  *Response // to send instead of the answer (AddJSON); nil: the answer
}

// IsField tells whether a field called name is for the server alone, so that it
// reaches no client, and no application when a client sends it.
func IsField[T string | []byte](name T) bool {
	switch {
	case len(name) >= 5 && name[0]|0x20 == 'g':
		return strings.EqualFold(string(name[:5]), "grip-")
	case len(name) >= 3 && name[0]|0x20 == 'm':
		return name[1] == '0' && name[2] == '-'
	}
	return false
}

// A Check says why an untrusted name is no channel, nil when it is one:
// bus.CheckName.
type Check func(name string) error

// ParseInstruct reads what the fields of an answer say. Without any such field
// the result is nil. When JSON is set, AddJSON has to follow.
func ParseInstruct(fields iter.Seq2[string, string], check Check) (*Instruct, error) {
	p := instructParser{check: check}
	for name, value := range fields {
		if err := p.field(name, value); err != nil {
			return nil, err
		}
	}
	if p.in == nil {
		return nil, nil
	}
	if p.in.Hold == NoHold && p.short {
		p.in.Hold = HoldStream
	}
	if p.in.JSON {
		return p.in, nil
	}
	return p.in, p.in.finish()
}

// finish checks what only the whole can tell.
func (in *Instruct) finish() error {
	if in.Timeout == 0 {
		in.Timeout = DefaultTimeout
	}
	if in.Hold == NoHold {
		return nil
	}
	if len(in.Channels) == 0 && in.Next.URI == "" {
		return wrong("Grip-Hold", in.Hold.String(),
			"nothing would ever arrive; name a channel in Grip-Channel")
	}
	for _, c := range in.Channels {
		if c.PrevID != "" && in.Hold == HoldStream && in.Next.URI == "" {
			return wrong("Grip-Channel", c.Name,
				"a prev-id on a stream needs Grip-Link: <uri>; rel=next, to ask for what is missing")
		}
		for _, f := range c.Filters {
			if _, ok := in.Meta.Lookup("id_format"); f == BuildID && !ok {
				return wrong("Grip-Channel", c.Name,
					`build-id needs Grip-Set-Meta: id_format="..."`)
			}
		}
	}
	return nil
}

// addChannel adds c to the channels.
func (in *Instruct) addChannel(field string, c Channel, check Check) error {
	if err := check(c.Name); err != nil {
		return &FieldError{Field: field, Value: clip(c.Name), Err: err}
	}
	if len(c.PrevID) > MaxID || !wire.ValidValue(c.PrevID) {
		return wrong(field, c.PrevID, "want a prev-id of one line and at most %d bytes", MaxID)
	}
	if len(c.Filters) > MaxFilters {
		return wrong(field, c.Name, "%d filters, at most %d", len(c.Filters), MaxFilters)
	}
	if len(in.Channels) == MaxChannels {
		return wrong(field, c.Name, "a connection has at most %d channels", MaxChannels)
	}
	in.Channels = append(in.Channels, c)
	return nil
}
