// SPDX-License-Identifier: MIT

package realtime

import (
	"errors"
	"io"
	"iter"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
)

// ErrBody refuses a body that is too long to be a beginning.
var ErrBody = errors.New("realtime: the body of an answer that is to be held is longer than " +
	"100,000 bytes; send less, and publish the rest")

// A Field is one header field.
type Field = grip.Pair

// An Answer is one that an application wants to be held, until it is whole. It
// belongs to one goroutine.
type Answer struct {
	Status   int
	Reason   string
	Fields   []Field // for the client
	Body     []byte
	instruct []Field // for us
	problem  error   // found while it was made
}

// isInstruction reports whether a field of an answer speaks to the server.
func isInstruction(name, value string) bool {
	return grip.IsField(name) || strings.EqualFold(name, "Content-Type") &&
		len(value) >= len(instructType) && strings.EqualFold(value[:len(instructType)], instructType)
}

// instructType is the media type of a body that speaks to the server.
const instructType = "application/grip-instruct"

// Begin takes the head of an answer apart, like Gather; nil when nothing in it speaks
// to the server.
func Begin(status int, reason string, fields iter.Seq2[string, string]) *Answer {
	for name, value := range fields {
		if isInstruction(name, value) {
			return Gather(status, reason, fields)
		}
	}
	return nil
}

// Gather takes the head of any answer apart. The fields are copied.
func Gather(status int, reason string, fields iter.Seq2[string, string]) *Answer {
	a := &Answer{Status: status, Reason: strings.Clone(reason)}
	for name, value := range fields {
		f := Field{Name: strings.Clone(name), Value: strings.Clone(value)}
		switch {
		case isInstruction(name, value):
			a.instruct = append(a.instruct, f)
		case !strings.EqualFold(name, "Content-Length"): // of a beginning, it says nothing
			a.Fields = append(a.Fields, f)
		}
	}
	return a
}

// Write adds to the body, which is copied. After ErrBody the answer cannot be held.
func (a *Answer) Write(p []byte) error {
	if len(a.Body)+len(p) > grip.MaxInstructBytes {
		a.problem = ErrBody
		return ErrBody
	}
	a.Body = append(a.Body, p...)
	return nil
}

// ReadFile is Write for the rest of a file.
func (a *Answer) ReadFile(file io.ReaderAt, at int64) error {
	buf := make([]byte, grip.MaxInstructBytes+1)
	for {
		n, err := file.ReadAt(buf, at)
		if err := a.Write(buf[:n]); err != nil {
			return err
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		at += int64(n)
	}
}

// Problem is why the answer cannot be held, as far as its body shows.
func (a *Answer) Problem() error { return a.problem }

// read is what the answer says to the server. What it says of the answer itself is
// done: its fields, status and body are those for the client then.
func (a *Answer) read() (*grip.Instruct, error) {
	if a.problem != nil {
		return nil, a.problem
	}
	in, err := grip.ParseInstruct(grip.All(a.instruct), bus.CheckName)
	a.instruct = nil // a poll keeps the rest
	if err == nil && in != nil && in.JSON {
		err = in.AddJSON(a.Status, a.Body, bus.CheckName)
	}
	switch {
	case err != nil:
		return nil, err
	case in == nil: // fields that say nothing yet
		return &grip.Instruct{}, nil
	}
	if r := in.Response; r != nil {
		a.Status, a.Reason, a.Fields, a.Body = r.Code, r.Reason, r.Fields, r.Body
	}
	if in.Status != 0 {
		a.Status, a.Reason = in.Status, in.Reason
	}
	kept := a.Fields[:0]
	for _, f := range a.Fields {
		if in.Exposes(f.Name) {
			kept = append(kept, f)
		}
	}
	a.Fields = kept
	return in, nil
}

// field is the first value of a field for the client, "" when there is none.
func (a *Answer) field(name string) string {
	for _, f := range a.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// set replaces a field for the client.
func (a *Answer) set(name, value string) {
	kept := a.Fields[:0]
	for _, f := range a.Fields {
		if !strings.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	a.Fields = append(kept, Field{Name: name, Value: value})
}

// isEvents reports whether the body is an event stream.
func (a *Answer) isEvents() bool {
	return strings.HasPrefix(strings.ToLower(a.field("Content-Type")), eventsType)
}

// eventsType is the media type of an event stream.
const eventsType = "text/event-stream"

// events makes the fields those of an event stream: nothing between us and the client
// keeps an event to itself.
func (a *Answer) events() {
	if a.field("Cache-Control") == "" {
		a.set("Cache-Control", "no-cache")
	}
	if a.field("X-Accel-Buffering") == "" {
		a.set("X-Accel-Buffering", "no")
	}
	if len(a.Body) == 0 {
		a.Body = []byte(":\n\n") // the first bytes open the stream for its client
	}
}

// Said is what a field that speaks to the server says; lines of one name are joined
// with a comma.
func (a *Answer) Said(name string) (value string, said bool) {
	for _, f := range a.instruct {
		switch {
		case !strings.EqualFold(f.Name, name):
		case said:
			value += ", " + f.Value
		default:
			value, said = f.Value, true
		}
	}
	return value, said
}

// Field is the first value of a field for the client, "" when there is none.
func (a *Answer) Field(name string) string { return a.field(name) }
