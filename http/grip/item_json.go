// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"m0serve.dev/http/wire"
)

// The formats by their names.
const (
	formatStream   = "http-stream"
	formatResponse = "http-response"
	formatMessage  = "ws-message"
)

// ParseItems reads the body of a request that publishes: {"items": [...]}. One
// item that is wrong refuses all of them; the error names it.
func ParseItems(body []byte, check Check) ([]Item, error) {
	if len(body) > MaxPublishBytes {
		return nil, wrong("body", "", "%d bytes, at most %d", len(body), MaxPublishBytes)
	}
	d := decoder{}
	top := d.document(body)
	if !top.has("items") {
		d.fail("items", "", `want {"items": [...]}`)
	}
	list := top.list("items")
	if len(list) > MaxItems {
		d.fail("items", "", "%d items, at most %d", len(list), MaxItems)
	}
	if d.err != nil {
		return nil, d.err
	}
	items := make([]Item, len(list))
	for i, raw := range list {
		o := d.object(fmt.Sprintf("items[%d]", i), raw)
		items[i] = o.item(check)
		if d.err != nil {
			return nil, d.err
		}
	}
	return items, nil
}

// item reads one item. Its formats stand in "formats" or beside its channel.
func (o *object) item(check Check) Item {
	it := Item{
		Channel: o.text("channel"),
		ID:      o.id("id"),
		PrevID:  o.id("prev-id"),
		NoSeq:   o.flag("no-seq"),
		Meta:    o.pairs("meta", MaxMeta),
	}
	if o.d.err != nil {
		return it
	}
	if err := check(it.Channel); err != nil {
		o.d.err = &FieldError{Field: o.name("channel"), Value: clip(it.Channel), Err: err}
		return it
	}
	formats, nested := o.inner("formats")
	if !nested {
		formats = *o
	}
	if f, ok := formats.inner(formatStream); ok {
		it.Stream = f.stream()
	}
	if f, ok := formats.inner(formatResponse); ok {
		it.Response = f.response()
	}
	if f, ok := formats.inner(formatMessage); ok {
		it.Message = f.message()
	}
	if it.Stream == nil && it.Response == nil && it.Message == nil {
		o.d.fail(o.path, "", "want one of the formats %s, %s, %s",
			formatStream, formatResponse, formatMessage)
	}
	return it
}

// id reads an id; it will stand in a field (Grip-Last) and in a line of an event.
func (o *object) id(key string) string {
	id := o.text(key)
	if len(id) > MaxID || !wire.ValidValue(id) {
		o.d.fail(o.name(key), id, "want one line of at most %d bytes", MaxID)
	}
	return id
}

func (o *object) action() Action {
	name := o.text("action")
	if name == "" {
		return Send
	}
	i := slices.Index(actionNames[:], name)
	if i < 0 {
		o.d.fail(o.name("action"), name, "want send, hint, close or refresh")
		return Send
	}
	return Action(i)
}

// contentFilters reads the filters that the content is made for.
func (o *object) contentFilters() Filters {
	filters := o.filters("content-filters")
	for _, f := range filters {
		if f.valid() && !f.Content() {
			o.d.fail(o.name("content-filters"), f.String(), "it changes no content")
		}
	}
	return filters
}

func (o *object) stream() *Stream {
	s := &Stream{Action: o.action()}
	if s.Action != Send {
		return s
	}
	var ok bool
	if s.Content, _, ok = o.content("content", "content-bin"); !ok {
		o.d.fail(o.path, "", "want content, content-bin or an action")
	}
	s.Filters = o.contentFilters()
	return s
}

func (o *object) response() *Response {
	r := &Response{Action: o.action()}
	switch {
	case r.Action == Close:
		o.d.fail(o.name("action"), "close", "a response ends by itself")
	case r.Action != Send:
		return r
	case o.has("body-patch"):
		o.d.fail(o.name("body-patch"), "", "not supported; send the whole body")
	}
	r.Code = o.whole("code", 200, 999, 200)
	if r.Reason = o.text("reason"); !wire.ValidValue(r.Reason) {
		o.d.fail(o.name("reason"), r.Reason, "want one line")
	}
	r.Fields = o.headers("headers")
	r.Body, _, _ = o.content("body", "body-bin")
	r.Filters = o.contentFilters()
	return r
}

// headers reads header fields: a list of pairs, or an object.
func (o *object) headers(key string) []Pair {
	raw := o.get(key)
	if raw == nil {
		return nil
	}
	var fields []Pair
	if raw[0] == '{' {
		fields = o.pairs(key, MaxFields)
	} else {
		fields = o.pairList(key)
	}
	for _, f := range fields {
		if !wire.ValidName(f.Name) || !wire.ValidValue(f.Value) {
			o.d.fail(o.name(key), f.Name+": "+f.Value, "this is no header field")
		}
	}
	return fields
}

// pairList reads a list of lists of two strings.
func (o *object) pairList(key string) (pairs []Pair) {
	list := o.list(key)
	if len(list) > MaxFields {
		o.d.fail(o.name(key), "", "%d fields, at most %d", len(list), MaxFields)
		return nil
	}
	for i, raw := range list {
		path := fmt.Sprintf("%s[%d]", o.name(key), i)
		pair := o.d.list(path, raw)
		if len(pair) != 2 {
			o.d.notA("a list of a name and a value", path, raw)
			return nil
		}
		pairs = append(pairs, Pair{string(o.d.text(path, pair[0])), string(o.d.text(path, pair[1]))})
	}
	return pairs
}

func (o *object) message() *Message {
	m := &Message{Action: o.action()}
	switch m.Action {
	case Send:
		o.typedContent(m, "type")
		m.Filters = o.contentFilters()
	case Close:
		m.Code = o.whole("code", 0, 4999, 0)
		if m.Reason = o.text("reason"); len(m.Reason) > maxReason {
			o.d.fail(o.name("reason"), m.Reason, "%d bytes, at most %d", len(m.Reason), maxReason)
		}
		if m.Code != 0 && !validCode(m.Code) {
			o.d.fail(o.name("code"), fmt.Sprint(m.Code), "this code does not travel")
		}
	}
	return m
}

// typedContent reads what a message sends. The value called kind says how, else
// the spelling of the content does.
func (o *object) typedContent(m *Message, kind string) {
	content, isBinary, ok := o.content("content", "content-bin")
	m.Content = content
	if isBinary {
		m.Type = Binary
	}
	if name := o.text(kind); name != "" {
		i := slices.Index(messageTypeNames[:], name)
		if i < 0 {
			o.d.fail(o.name(kind), name, "want text, binary, ping or pong")
			return
		}
		m.Type = MessageType(i)
	}
	switch control := m.Type == Ping || m.Type == Pong; {
	case !ok && !control:
		o.d.fail(o.path, "", "want content, content-bin or an action")
	case control && len(m.Content) > maxControl:
		o.d.fail(o.name("content"), "", "%d bytes in a %s, at most %d",
			len(m.Content), m.Type, maxControl)
	case m.Type == Text && !utf8.Valid(m.Content):
		o.d.fail(o.name("content-bin"), "", "a text has to be UTF-8")
	}
}
