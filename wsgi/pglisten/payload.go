// SPDX-License-Identifier: MIT

package pglisten

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"m0serve.dev/http/bus"
)

// A cause is why a notification was refused. The zero cause refuses nothing.
type cause uint8

const (
	accepted    cause = iota
	malformed         // no JSON object of the three fields
	notText           // a field that is no string
	reserved          // a channel of the server's own (B4)
	badName           // a channel or an event that cannot be one
	unpublished       // Config.Publish refused it
)

// A refusal says in the operator's words what is wrong and what helps.
type refusal struct {
	cause  cause
	reason string
	cure   string
}

// A message is a payload that is fit to be published.
type message struct {
	channel, event, data string
}

const (
	cureForm = `notify with {"channel":"…","event":"…","data":"…"}, as m0pub.notify_sql or ` +
		`json_build_object do; event and data may be left out`
	cureText = `make it a string: 'data', row_to_json(NEW)::text; what is NULL has to be ` +
		`left out (json_strip_nulls) or be ''`
	cureName = `a channel has 1 to 512 bytes and an event at most 255, both without control bytes`
)

// fields of a payload, in no order.
const (
	hasChannel = 1 << iota
	hasEvent
	hasData
)

// decode reads a payload. Unlike encoding/json with a struct it takes no name in
// another case, no name twice, none that it does not know, and no null.
func decode(payload string) (m message, why refusal) {
	if !utf8.ValidString(payload) || !json.Valid([]byte(payload)) {
		return m, refusal{malformed, "the payload is not JSON", cureForm}
	}
	d := json.NewDecoder(strings.NewReader(payload))
	if t, _ := d.Token(); t != json.Delim('{') {
		return m, refusal{malformed, "the payload is no JSON object", cureForm}
	}
	seen := 0
	for d.More() {
		name, _ := d.Token()
		field, bit := m.field(name.(string))
		if field == nil {
			return m, refusal{malformed, fmt.Sprintf("there is no field %.32q", name), cureForm}
		}
		if seen&bit != 0 {
			return m, refusal{malformed, fmt.Sprintf("%s is there twice", name), cureForm}
		}
		seen |= bit
		value, _ := d.Token()
		text, isText := value.(string)
		if !isText {
			return m, refusal{notText, fmt.Sprintf("%s is %s", name, kindOf(value)), cureText}
		}
		*field = text
	}
	if seen&hasChannel == 0 {
		return m, refusal{malformed, "there is no channel", cureForm}
	}
	return m, m.check()
}

func (m *message) field(name string) (*string, int) {
	switch name {
	case "channel":
		return &m.channel, hasChannel
	case "event":
		return &m.event, hasEvent
	case "data":
		return &m.data, hasData
	}
	return nil, 0
}

// kindOf names what stands where a string should.
func kindOf(value json.Token) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Delim:
		if v == '[' {
			return "an array"
		}
		return "an object"
	}
	return "a number"
}

func (m *message) check() refusal {
	err := bus.CheckName(m.channel)
	if errors.Is(err, bus.ErrReserved) {
		return refusal{reserved, "the channel is reserved for the server",
			`choose a name that does not open with \u0001`}
	}
	if err == nil {
		err = bus.CheckKind(m.event)
	}
	if err != nil {
		return refusal{badName, err.Error(), cureName}
	}
	return refusal{}
}
