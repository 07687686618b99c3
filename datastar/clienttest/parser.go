// SPDX-License-Identifier: MIT

package clienttest

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// An Event is one event as the client hands it to its page.
type Event struct {
	Type        string            // "datastar-patch-elements", "datastar-patch-signals"
	Args        map[string]string // by key; several lines of one key joined with LF
	LastEventID string            // what the next request would carry now
}

// typePrefix begins the types that the client has a use for.
const typePrefix = "datastar"

// lineBytesMax bounds one line of a stream.
const lineBytesMax = 64 << 20

var errLine = errors.New("clienttest: a line of the stream is too long")

// A parser takes the stream of one response apart as the client does, which is
// not how an EventSource does it: an id counts from its own line on.
type parser struct {
	lastID string
	id     func(id string)       // gets each id at its line; "" takes it back
	retry  func(d time.Duration) // gets each reconnection time
	event  func(e Event) error   // gets each event; its error ends the reading
	line   []byte                // the beginning of a line
	cr     bool                  // an LF now belongs to the CR before
	name   string                // of the event under way
	args   map[string][]string   // of the event under way
}

// feed takes the next bytes, cut anywhere.
func (p *parser) feed(b []byte) error {
	for _, c := range b {
		if c == '\n' && p.cr {
			p.cr = false
			continue
		}
		if p.cr = c == '\r'; !p.cr && c != '\n' {
			if len(p.line) == lineBytesMax {
				return errLine
			}
			p.line = append(p.line, c)
			continue
		}
		line := string(p.line)
		p.line = p.line[:0]
		if line != "" {
			p.takeLine(line)
		} else if err := p.dispatch(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) takeLine(line string) {
	field, value, found := strings.Cut(line, ":")
	if !found {
		return // a field needs its colon here
	}
	value = strings.ToValidUTF8(strings.TrimPrefix(value, " "), "\ufffd")
	switch field {
	case "event":
		p.name = value
	case "data":
		p.takeData(value)
	case "id":
		p.lastID = value
		p.id(value)
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			p.retry(time.Duration(ms) * time.Millisecond)
		}
	}
}

// takeData splits at the first space. Without one, JavaScript's index of -1
// cuts the last character off the key and leaves the value whole.
func (p *parser) takeData(value string) {
	key, text, found := strings.Cut(value, " ")
	if !found {
		key, text = value[:max(len(value)-1, 0)], value
	}
	if p.args == nil {
		p.args = make(map[string][]string)
	}
	p.args[key] = append(p.args[key], text)
}

func (p *parser) dispatch() error {
	name, lines := p.name, p.args
	p.name, p.args = "", nil
	if !strings.HasPrefix(name, typePrefix) {
		return nil
	}
	e := Event{Type: name, Args: make(map[string]string, len(lines)), LastEventID: p.lastID}
	for key, l := range lines {
		e.Args[key] = strings.Join(l, "\n")
	}
	return p.event(e)
}
